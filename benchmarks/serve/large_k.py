"""Processor time of one decision over a whole catalogue: `python -m benchmarks.serve.large_k`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

import eigenbandits as eb
from eigenbandits.lab.reporting.tables import aligned
from eigenbandits.policy import Policy, files
from eigenbandits.serve.storage.schema import CatalogueRow
from eigenbandits.serve.writer.catalogue import Catalogue

# Items in so many directions, with a hundredth of their energy in all others; or with the same in all of them.
KINDS = {"near 16 directions": 16, "in all directions": 0}
# Above this many items, choosing without a short list takes longer than anybody would wait.
MOST_EXACT = 10_000


def milliseconds(action: Callable[[], object], least: float = 1.0) -> float:
    """Return the processor time of something, the median over at least three times and a second."""
    action()
    taken: list[float] = []
    while len(taken) < 3 or sum(taken) < least:
        start = time.process_time()
        action()
        taken.append(time.process_time() - start)
    return 1000.0 * float(np.median(taken))


def catalogue_of(count: int, dim: int, directions: int, rng: np.random.Generator) -> Catalogue:
    """Return a catalogue of random items."""
    vectors = rng.standard_normal((count, dim), dtype=np.float32)
    if directions:
        axes = rng.standard_normal((directions, dim), dtype=np.float32) / np.float32(directions**0.5)
        vectors = rng.standard_normal((count, directions), dtype=np.float32) @ axes + np.float32(0.1) * vectors
    mean = np.zeros(dim, dtype=np.float32)
    made = Catalogue.of(CatalogueRow(1, "items", dim, "both", mean.tobytes(), "", 1, 0.0))
    for _ in made.prepare(vectors):
        pass
    made.put([str(i) for i in range(count)], 1)
    return made


def published(catalogue: Catalogue, query: NDArray[np.float32], rng: np.random.Generator) -> Policy:
    """Return a policy that has learned from 600 rewards, as a decider reads it."""
    policy, slots = eb.EigenUCB(dtype="float32", seed=0), catalogue.slots_at(1)
    for i in range(600):
        some = catalogue.actions(query, slots[rng.choice(len(slots), 100, replace=False)])
        decision = policy.choose(some, observe=i < 100)
        policy.learn(decision, float(rng.random() < 0.5 + 0.5 * np.tanh(decision.action.sum())))
    policy.belief.follow(policy.subspace.frame())
    return files.from_bytes(files.to_bytes(policy))


def exactly(policy: Policy, actions: NDArray[np.float32]) -> int:
    """Return the choice by the exact value of every action, in double precision."""
    lifted, _ = policy.lift(actions, None)  # type: ignore[arg-type]
    return int(policy.belief.view(lifted).uppers().argmax())


def main() -> None:
    """Measure what a decider does for a query and all items: form the set, and choose."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--dim", type=int, default=384)
    args = parser.parse_args()
    body = []
    for kind, directions in KINDS.items():
        for count in args.items:
            rng = np.random.default_rng(0)
            catalogue = catalogue_of(count, args.dim, directions, rng)
            query, slots = rng.standard_normal(args.dim).astype(np.float32), catalogue.slots_at(1)
            policy = published(catalogue, query, rng)
            actions, weights = catalogue.actions(query, slots), rng.standard_normal(args.dim).astype(np.float32)
            cells = [
                milliseconds(partial(np.matmul, actions, weights)),
                milliseconds(partial(catalogue.actions, query, slots)),
                milliseconds(partial(policy.propose, actions, np.random.default_rng(0))),
            ]
            exact = "–"
            if count <= MOST_EXACT:
                exact = f"{milliseconds(partial(exactly, policy, actions)):,.1f}"
                assert exactly(policy, actions) == policy.propose(actions, np.random.default_rng(0)).index
            body.append([kind, f"{count:,}", *(f"{cell:,.2f}" for cell in cells), exact])
    head = ["items", "K", "one pass\nactions @ θ", "query ⊙ items", "choice", "all exact\nvalues"]
    print(f"Milliseconds of processor time, d = {args.dim}, EigenUCB in single precision, one thread\n")
    print(aligned(head, body))


if __name__ == "__main__":
    main()
