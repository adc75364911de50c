"""Playing a policy on small worlds, by the names that tests use."""

from eigenbandits.testing.play import Spy, assert_same, decision_sets, look, play, reward, truth

__all__ = ["Spy", "assert_same", "decision_sets", "look", "play", "reward", "truth"]
