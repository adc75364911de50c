"""Where results come from: versions, machine, and the state of the code."""

import hashlib
import importlib
import inspect
import os
import platform
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import eigenbandits
from eigenbandits.backends import get_backend

# These folders display or serve results and do not affect them, except for two modules of the lab.
_EXCLUDED = ("cli", "lab", "serve", "__pycache__")
_INCLUDED = ("lab/experiments/run.py", "lab/experiments/recording.py")
_PACKAGES = ("numpy", "scipy", "numba", "pyarrow", "joblib", "distributed", "threadpoolctl")


def code_fingerprint() -> str:
    """Return a hash of what affects results: the library's files, and the backend that runs them."""
    return _files_fingerprint() + ("" if get_backend() == "numpy" else f"-{get_backend()}")


@cache
def _files_fingerprint() -> str:
    root = Path(str(eigenbandits.__file__)).parent
    found = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        name = path.relative_to(root)
        if name.as_posix() in _INCLUDED or not set(name.parts) & set(_EXCLUDED):
            found.update(name.as_posix().encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:12]


def module_fingerprint(name: str) -> str:
    """Return a hash of the source of a user's module, so that a changed algorithm gives new results."""
    module = importlib.import_module(name)
    try:
        source = inspect.getsource(module)
    except (OSError, TypeError):
        return "no source"
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def versions() -> dict[str, str]:
    """Return the versions of Python, of this library and of the packages that it computes with."""
    found = {"python": platform.python_version(), "eigenbandits": eigenbandits.__version__}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@cache
def machine() -> dict[str, Any]:
    """Return the relevant facts about this machine, and nothing that identifies it or its user."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "blas": sorted({f"{pool['internal_api']} {pool['version']}" for pool in _thread_pools()}),
    }


def _thread_pools() -> list[dict[str, Any]]:
    from threadpoolctl import threadpool_info

    return [pool for pool in threadpool_info() if pool["user_api"] == "blas"]


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
