"""A posterior whose prior follows the spectrum of the actions and is learned from the rewards (docs/flagship.md)."""
