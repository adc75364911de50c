"""A confidence set that is proved for all rounds at once (docs/certified.md)."""
