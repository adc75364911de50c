"""Make the benchmarks' own environment and run them in it: `python benchmarks/run.py --help`."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
VENV = HERE / ".venv"
PYTHON = VENV / "bin" / "python"
# What became of each peer, for the report: {"coba": "8.1.0", "river": "not installed: ..."}.
RECORD = VENV / "peers.json"
TOOLS = ["matplotlib>=3.8", "threadpoolctl>=3.5", "py-spy>=0.4"]


def main() -> int:
    """Install what is missing, then hand over to `benchmarks.bench`."""
    if not PYTHON.exists():
        print("Making benchmarks/.venv ...", flush=True)
        venv.create(VENV, with_pip=True)
    peers = _peers()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = project["dependencies"] + project["optional-dependencies"]["fast"]
    mark = hashlib.sha256(repr((peers, TOOLS, needed)).encode()).hexdigest()
    stamp = VENV / "installed"
    if not stamp.exists() or stamp.read_text() != mark:
        print("Installing eigenbandits from the tree and the peers ...", flush=True)
        _pip("--editable", f"{ROOT}[fast]", *TOOLS).check_returncode()
        RECORD.write_text(json.dumps({name: _install(name, version) for name, version in peers.items()}, indent=1))
        stamp.write_text(mark)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    return subprocess.call([str(PYTHON), "-m", "benchmarks.bench", *sys.argv[1:]], cwd=ROOT, env=environment)


def _peers() -> dict[str, str]:
    lines = (line.strip() for line in (HERE / "peers.txt").read_text().splitlines())
    pairs = (line.partition("==") for line in lines if line and not line.startswith("#"))
    return {name: version for name, _, version in pairs}


def _install(name: str, version: str) -> str:
    """Install one peer at its version, or else at any that works on this Python; say which, or why none."""
    for wanted in (f"{name}=={version}", name):
        done = _pip(wanted)
        if done.returncode == 0:
            shown = subprocess.run([PYTHON, "-m", "pip", "show", name], capture_output=True, text=True, check=True)
            installed = next(line.split()[1] for line in shown.stdout.splitlines() if line.startswith("Version:"))
            print(f"  {name} {installed}", flush=True)
            return installed
    reasons = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no reason given"]
    print(f"  {name} could not be installed: {reasons[-1]}", flush=True)
    return f"not installed: {reasons[-1]}"


def _pip(*what: str) -> subprocess.CompletedProcess[str]:
    # A peer that would pull PyTorch with its gigabytes counts as one that cannot be installed.
    constraints = VENV / "constraints.txt"
    constraints.write_text("torch<0\n")
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    environment = os.environ | {"PIP_CONSTRAINT": str(constraints)}
    return subprocess.run([*command, *what], env=environment, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main())
