"""What the constants of `belief/shortlist.py` rest on: `python -m benchmarks.short_lists`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from eigenbandits.lab.reporting.tables import aligned
from eigenbandits.linalg import SymmetricSum, square_norms
from eigenbandits.linalg.compression import Compression, SingleSquares

# Of the rows' energy, what lies outside of the span of their 16 main directions.
_OUTSIDE = 1e-4
_ROWS = 4000


def microseconds(action: Callable[[], object], least: float = 0.3) -> float:
    """Return the processor time of something, the median over at least five times."""
    action()
    taken: list[float] = []
    while len(taken) < 5 or sum(taken) < least:
        start = time.process_time()
        action()
        taken.append(time.process_time() - start)
    return 1e6 * float(np.median(taken))


def measured(dim: int, directions: int) -> list[str]:
    """Return what making and using a compression costs, in rows whose bounds are found in all directions."""
    rng = np.random.default_rng(0)
    axes = rng.standard_normal((16, dim)) / dim**0.5
    rows = (
        rng.standard_normal((_ROWS, 16)) @ axes + (_OUTSIDE * 16 / dim) ** 0.5 * rng.standard_normal((_ROWS, dim)) / 4
    )
    played = rows[rng.choice(_ROWS, 500)]
    inverse = SymmetricSum(sign=-1.0)
    inverse.start(dim, block=32, scale=1.0)
    inverse.reset(np.asfortranarray(np.linalg.inv(np.eye(dim) + played.T @ played)))
    basis = np.asarray(np.linalg.svd(rows, full_matrices=False)[2][:directions].T)
    single, sizes = rows.astype(np.float32), square_norms(rows)
    inverse.compress(basis)
    # One row in all directions, by a matrix in single precision that is there already.
    inverse.most(single, sizes)
    one = microseconds(lambda: inverse.most(single, sizes)) / _ROWS
    exact = microseconds(lambda: inverse.times_rows(rows[:16])) / 16
    ruled = inverse.lengths(single)
    truth = np.sqrt(np.vecdot(rows, inverse.times_rows(rows)))
    return [
        f"{dim}",
        f"{directions}",
        f"{microseconds(lambda: Compression(inverse.half, basis)) / one / directions:.1f}",
        f"{microseconds(lambda: inverse.lengths(single)) / _ROWS / one:.2f}",
        f"{microseconds(lambda: SingleSquares(inverse.half, len(inverse.waiting))) / exact:.0f}",
        f"{100.0 * float(np.mean(ruled >= truth.max())):.1f}",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dims", type=int, nargs="+", default=[384, 1024])
    parser.add_argument("--directions", type=int, nargs="+", default=[8, 16, 32, 64])
    args = parser.parse_args()
    headers = ["d", "k", "making it, rows per direction", "a row", "single precision, exact rows", "rows left, %"]
    print(aligned(headers, [measured(dim, k) for dim in args.dims for k in args.directions]))
    print("\nmaking it: PRICE; a row: its bound from k directions, over that from all of them;")
    print("single precision: FEW_LEFT; rows left: of 4,000 near 16 directions, those whose bound reaches the largest")
    print("width (DIRECTIONS).")


if __name__ == "__main__":
    main()
