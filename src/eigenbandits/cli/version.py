"""`eigenbandits --version`: what a bug report should name, whichever extras are installed."""

import platform

import eigenbandits


def versions() -> str:
    """Return the version of the library, and of Python."""
    return f"eigenbandits {eigenbandits.__version__}, Python {platform.python_version()}"
