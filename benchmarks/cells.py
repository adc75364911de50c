"""The parent's side of a cell: a child process with its BLAS threads set, a time limit, and its result on disk."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.data import CACHE, HERE
from benchmarks.methods import METHODS
from eigenbandits.files import write_whole

ROOT = HERE.parent
fresh = False
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


def ask(module: str, task: dict[str, Any], threads: int, limit: float) -> dict[str, Any]:
    """Run `python -m module` with the task on its standard input and return the JSON that it prints.

    A result that is on disk, from the same task and the same code, is returned at once: an interrupted run continues
    where it stopped. A child that fails or runs out of time gives {"failed": reason}, which is kept too.
    """
    kept = CACHE / "cells" / f"{_key(module, task, threads)}.json"
    if kept.exists() and not fresh:
        known: dict[str, Any] = json.loads(kept.read_text())
        return known
    result = _run(module, task, threads, limit)
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_whole(kept, json.dumps({"task": task, "threads": threads} | result).encode())
    return result


def _run(module: str, task: dict[str, Any], threads: int, limit: float) -> dict[str, Any]:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads)) | {"PYTHONPATH": paths}
    try:
        done = subprocess.run(
            [sys.executable, "-m", module],
            input=json.dumps(task),
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"stopped after {limit:.0f} s"}
    if done.returncode != 0:
        words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"failed": words[-1]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _key(module: str, task: dict[str, Any], threads: int) -> str:
    text = json.dumps([module, task, threads, code_version(task.get("method"))], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def code_version(method: str | None) -> str:
    """Return a fingerprint of the code that a method's times depend on: the harness, and the library if it is ours."""
    files = [HERE / name for name in ("child.py", "data.py", "floor.py")]
    group = "ours" if method is None else METHODS[method].group
    if group == "ours":
        files += sorted((ROOT / "src").rglob("*.py"))
    elif group == "plain":
        files.append(HERE / "plain.py")
    else:
        files.append(HERE / "peers.py")
        files.append(HERE / "peers.txt")
    return fingerprint(files)


def fingerprint(files: Iterable[Path]) -> str:
    """Return a short hash of the files' content."""
    total = hashlib.sha256()
    for file in files:
        total.update(file.read_bytes())
    return total.hexdigest()[:16]
