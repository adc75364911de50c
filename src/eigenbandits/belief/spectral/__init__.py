"""A posterior under a prior that follows the spectrum and is learned from the rewards (docs/flagship.md)."""
