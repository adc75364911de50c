"""What every policy must pass, for other people's policies too."""

# Each of these modules registers its checks.
from eigenbandits.testing import (  # noqa: F401
    allowed,
    arrays,
    bad_input,
    learning,
    lists,
    many_sets,
    one_way,
    repeatable,
    shapes,
)
from eigenbandits.testing.check import BrokenPromisesError, Check, check_policy, checks

__all__ = ["BrokenPromisesError", "Check", "check_policy", "checks"]
