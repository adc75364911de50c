"""Processor time of one decision over a whole catalogue: `python -m benchmarks.serve.large_k`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import eigenbandits as eb
from eigenbandits.lab.reporting.tables import aligned
from eigenbandits.policy import files
from eigenbandits.serve.storage.schema import CatalogueRow
from eigenbandits.serve.writer.catalogue import Catalogue


def milliseconds(action: Callable[[], object], least: float = 1.0) -> float:
    """Return the processor time of something, the median over at least three times and a second."""
    action()
    taken: list[float] = []
    while len(taken) < 3 or sum(taken) < least:
        start = time.process_time()
        action()
        taken.append(time.process_time() - start)
    return 1000.0 * float(np.median(taken))


def main() -> None:
    """Measure what a decider does for a query and all items: form the set, and choose."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--dim", type=int, default=384)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    body = []
    for count in args.items:
        vectors = rng.standard_normal((count, args.dim)).astype(np.float32)
        mean = np.zeros(args.dim, dtype=np.float32)
        catalogue = Catalogue.of(CatalogueRow(1, "items", args.dim, "both", mean.tobytes(), "", 1, 0.0))
        catalogue.put([str(i) for i in range(count)], vectors, 1)
        slots = catalogue.slots_at(1)
        query = rng.standard_normal(args.dim).astype(np.float32)
        policy = eb.EigenUCB(dtype="float32", seed=0)
        for i in range(600):
            some = catalogue.actions(query, slots[rng.choice(count, 100, replace=False)])
            decision = policy.choose(some, observe=i < 100)
            policy.learn(decision, float(rng.random() < 0.5))
        policy.belief.follow(policy.subspace.frame())
        published = files.from_bytes(files.to_bytes(policy))
        actions, weights = catalogue.actions(query, slots), rng.standard_normal(args.dim).astype(np.float32)
        cells = [
            milliseconds(lambda actions=actions, weights=weights: actions @ weights),
            milliseconds(lambda catalogue=catalogue, query=query, slots=slots: catalogue.actions(query, slots)),
            milliseconds(lambda published=published, actions=actions: published.propose(actions, rng)),
        ]
        body.append([f"{count:,}", *(f"{cell:,.2f}" for cell in cells), f"{(cells[1] + cells[2]) / cells[0]:.0f}"])
    head = ["K", "one pass\nactions @ θ", "query ⊙ items", "choice", "decision,\nin passes"]
    print(f"Milliseconds of processor time, d = {args.dim}, single precision, one thread\n")
    print(aligned(head, body))


if __name__ == "__main__":
    main()
