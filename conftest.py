"""What the tests leave out where an optional package is not installed."""

from importlib.util import find_spec

# Modules that cannot even be imported without a package; their tests say so where they are skipped.
_NEEDS = {
    "src/eigenbandits/papers/lale2019/networks": "torch",
    "src/eigenbandits/adapters/gym.py": "gymnasium",
    "src/eigenbandits/adapters/mcp.py": "mcp",
}
collect_ignore = [path for path, package in _NEEDS.items() if find_spec(package) is None]
