"""The folders of data and of cached results: given, named by an environment variable, or in the user's cache."""

import os
from os import PathLike
from pathlib import Path

DATA_VARIABLE = "EIGENBANDITS_DATA"
CACHE_VARIABLE = "EIGENBANDITS_CACHE"


def data_folder(given: str | PathLike[str] | None = None) -> Path:
    """Return the folder of the raw data: the given one, that of EIGENBANDITS_DATA, or ``data`` in the cache folder.

    Examples
    --------
    >>> data_folder("images").name
    'images'
    """
    return _chosen(given, DATA_VARIABLE) or cache_folder() / "data"


def cache_folder(given: str | PathLike[str] | None = None) -> Path:
    """Return the folder of what was computed: the given one, that of EIGENBANDITS_CACHE, or one in the user's cache."""
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return _chosen(given, CACHE_VARIABLE) or user / "eigenbandits"


def _chosen(given: str | PathLike[str] | None, variable: str) -> Path | None:
    named = given if given is not None else os.environ.get(variable)
    return Path(named).expanduser() if named else None
