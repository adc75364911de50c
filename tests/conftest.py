"""Settings that all tests share."""

from hypothesis import settings

# The same examples on every machine, and no failures because one of them is slow.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")
