"""How fast `eigenbandits.fit` reads a log, and how much memory it takes: `python -m benchmarks.fit --folder DIR`.

Writes a log of vectors in single precision, a Parquet file for each million rows, and fits a policy to its first rows,
more and more of them, each time in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROWS_PER_FILE, ROWS_PER_GROUP = 1_000_000, 1 << 16
RANK, NOISE = 16, 0.5


def main() -> None:
    """Write what is missing of the log, and print a line for each length."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where the log is written, or lies already")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--policies", nargs="+", default=["EigenUCB"], help="names of policies")
    parser.add_argument("--engine", default="serial", choices=("serial", "dask"))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        json.dump(_measure(asked.folder, asked.rows[0], asked.dim, asked.policies[0], asked.engine), sys.stdout)
        return
    for number in range(-(-max(asked.rows) // ROWS_PER_FILE)):
        _write(asked.folder, number, asked.dim)
    print("policy     rows         dim  engine  seconds  rows/s   peak MB  after import MB  error of θ")
    for policy in asked.policies:
        for rows in asked.rows:
            command = [sys.executable, "-m", "benchmarks.fit", "--child", "--folder", str(asked.folder)]
            command += ["--rows", str(rows), "--dim", str(asked.dim), "--policies", policy, "--engine", asked.engine]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found = json.loads(done.stdout)
            seconds, peak, imported, error = (found[name] for name in ("seconds", "peak", "imported", "error"))
            shown = f"{policy:10} {rows:<12,} {asked.dim:<4} {asked.engine:7} {seconds:<8.1f} {rows / seconds:<8,.0f} "
            print(shown + f"{peak:<8.0f} {imported:<16.0f} {error:.2e}", flush=True)


def _theta(dim: int) -> Any:
    return np.random.default_rng(dim).standard_normal(dim) / np.sqrt(dim)


def _path(folder: Path, number: int, dim: int) -> Path:
    return folder / f"log-{dim}-{number:03}.parquet"


def _write(folder: Path, number: int, dim: int) -> None:
    """Write one file, whole or not at all: vectors around a few directions, a common mean, and their rewards."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = _path(folder, number, dim)
    if path.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([("vector", pa.list_(pa.float32(), dim)), ("reward", pa.float64())])
    axes = np.random.default_rng(0).standard_normal((RANK, dim)).astype(np.float32)
    rng = np.random.default_rng([number, dim])
    temporary = path.with_suffix(".part")
    with pq.ParquetWriter(temporary, schema, compression="none") as writer:
        for start in range(0, ROWS_PER_FILE, ROWS_PER_GROUP):
            count = min(ROWS_PER_GROUP, ROWS_PER_FILE - start)
            vectors = rng.standard_normal((count, RANK), dtype=np.float32) @ axes
            vectors += 0.5 * rng.standard_normal((count, dim), dtype=np.float32) + np.float32(1.0)
            rewards = vectors @ _theta(dim) + NOISE * rng.standard_normal(count)
            column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dim)
            writer.write_batch(pa.record_batch([column, pa.array(rewards)], schema=schema))
    temporary.rename(path)


def _measure(folder: Path, rows: int, dim: int, name: str, engine: str) -> dict[str, float]:
    """Fit one policy in this process."""
    import pyarrow.dataset as ds

    import eigenbandits as eb

    imported = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    paths = [str(_path(folder, number, dim)) for number in range(-(-rows // ROWS_PER_FILE))]
    kind = getattr(eb, name)
    policy = kind(noise=NOISE, seed=0) if name not in ("EigenUCB", "EigenTS", "Greedy", "LinUCB") else kind(seed=0)
    start = time.perf_counter()
    eb.fit(policy, ds.dataset(paths, format="parquet"), engine=engine)
    seconds = time.perf_counter() - start
    learned = policy.diagnostics().rewards_learned
    if learned != rows:
        raise SystemExit(f"learned {learned} rewards of {rows}; expected lengths in millions.")
    center = getattr(policy.belief, "center", None)
    error = float("nan") if center is None else float(np.linalg.norm(center[:dim] - _theta(dim)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "peak": peak, "imported": imported, "error": error}


if __name__ == "__main__":
    main()
