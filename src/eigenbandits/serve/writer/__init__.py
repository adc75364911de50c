"""The single writer: batches of commands, group commit, and recovery."""
