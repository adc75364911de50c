"""What every policy must pass, for other people's policies too."""

# Each of these modules registers its checks.
from eigenbandits.testing import allowed, arrays, bad_input, learning, lists, many_sets, one_way, repeatable, shapes  # noqa: F401
from eigenbandits.testing.check import BrokenPromisesError, Check, check_policy, checks

__all__ = ["BrokenPromisesError", "Check", "check_policy", "checks"]
