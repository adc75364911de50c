"""Real decision problems as a study: our policies and the peers' on the same rounds, and which is best where."""
