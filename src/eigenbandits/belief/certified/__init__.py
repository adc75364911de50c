"""A confidence set proven to hold in all rounds simultaneously (docs/certified.md)."""
