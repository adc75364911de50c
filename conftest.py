"""What the tests leave out where an optional package is not installed."""

from importlib.util import find_spec

# Their modules cannot even be imported without it; tests/papers/lale2019/networks says so where it is skipped.
collect_ignore = [] if find_spec("torch") else ["src/eigenbandits/papers/lale2019/networks"]
