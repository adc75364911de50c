"""Vectors that recur: the same, nearly the same, or shifted with the rest of their decision set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import ClassVar

import numpy as np

from eigenbandits import linalg, merging
from eigenbandits.component import Component
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica

# Vectors that later ones are compared with.
ANCHORS = 128
# Of a decision set no more rows than this, or up to half as many, are compared.
ROWS = 16
# Vectors whose difference has less than this share of their energy are the same, in however few dimensions they lie.
SAME = 1e-6
# Pairs that look alike by chance may move the inflation by about this much.
NOISE = 0.1


class Revisits(Component):
    """Compares vectors with an even sample of those before them, in fixed memory.

    The error of a span is of the size of Σ z ρᵀ, z being a vector's part inside and ρ its part outside. Its squared
    norm is the sum of (z_s·z_t)(ρ_s·ρ_t) over all pairs. A pair of unrelated vectors adds nothing in expectation, one
    of equals as much as a vector with itself. As the span was found from the same vectors, the sum over *all* pairs
    says nothing: it is zero. So the pairs are picked out that are related, those whose ρ point the same way more than
    chance would have it, or that are nearly equal, and count by what they add.

    Vectors are compared after subtracting their set's mean, where that leaves enough to distinguish them, so that items
    are recognized in a decision set that is shifted as a whole; otherwise as they are.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("anchors", "filled", "stood", "sums", "rng")

    def __init__(self) -> None:
        self.anchors: Array = np.zeros((2, 0, 0))
        self.filled = 0
        # How many vectors there had been when a set was last compared.
        self.stood = 0
        # An estimate of the sum over related pairs from different sets, in units of E‖z‖²·E‖ρ‖².
        self.sums = 0.0
        self.rng = np.random.default_rng(0)

    def start(self, dim: int) -> None:
        """Set up the sample; of full size from the start, so that files and memory do not grow."""
        self.anchors = np.zeros((2, ANCHORS, dim))

    def add(self, vectors: Array, added: int, directions: Array, mean: Array | None, room: float, unit: float) -> None:
        """Compare one decision set with the sample, and add some of it.

        Parameters
        ----------
        vectors
            (K, d); not centered.
        added
            How many vectors there have been up to now, those of this set included.
        directions
            The (d, m) basis of the subspace as far as it is known; m = 0 where nothing is.
        mean
            What is subtracted from vectors before they are compared.
        room
            How many dimensions the vectors fill outside the subspace, for what chance would have.
        unit
            E‖z‖²·E‖ρ‖² of one vector; 0 where it is not known.
        """
        rows = vectors[:: -(-len(vectors) // ROWS)]
        both = np.stack([rows, rows - vectors.mean(axis=0)])
        if self.filled:
            chance = self._chance(added, directions.shape[1], room)
            # Of a vector in two sets of K the share 1 − 1/K is left less their means; the cosine is as large.
            left = 1.0 - 1.0 / len(vectors)
            if chance < 0.75 * left:
                alike = _alike(both[1], self.anchors[1, : self.filled], directions, chance, unit * left**4)
            else:
                shift = 0.0 if mean is None else mean
                alike = _alike(both[0] - shift, self.anchors[0, : self.filled] - shift, directions, chance, unit)
            # Of the pairs from different sets, 2·stood·(added − stood) are new since the last comparison.
            self.sums += 2.0 * (added - self.stood) * self.stood * alike
        self._keep(both, added)

    def _chance(self, added: int, rank: int, room: float) -> float:
        """Return the cosine above which ρ_s and ρ_t are taken to be related.

        In q dimensions chance exceeds c with a probability p of about e^(−c²q/2). Their z being unrelated, with a
        cosine of variance 1/m, such pairs add √(p/m) at random; of n² pairs 8n are examined (one vector in 16 with 128
        others), so that n times their mean is off by √(np/8m).
        """
        allowed = 8.0 * max(rank, 1) * NOISE**2 / added
        return math.sqrt(min(1.0, 2.0 * math.log(1.0 / min(allowed, 0.5)) / room))

    def _keep(self, both: Array, added: int) -> None:
        """Let the set take a share of the sample, by the number of vectors since the last comparison."""
        count = both.shape[1]
        fresh = min(count, ANCHORS - self.filled)
        self.anchors[:, self.filled : self.filled + fresh] = both[:, :fresh]
        self.filled += fresh
        share = ANCHORS * (added - self.stood) / added
        self.stood = added
        wanted = min(int(share + self.rng.random()), count - fresh)
        if wanted > 0:
            places = self.rng.choice(ANCHORS, wanted, replace=False)
            self.anchors[:, places] = both[:, fresh + self.rng.choice(count - fresh, wanted, replace=False)]

    def moved(self, factor: float, offset: Array | float) -> Revisits:
        """Return the same for vectors in another unit, and less something else."""
        other = Revisits()
        other.restore(self.state())
        other.anchors *= factor
        other.anchors[0] += offset
        return other

    def merge(
        self,
        replicas: Sequence[Replica[Revisits]],
        added: int,
        directions: Array,
        mean: Array | None,
        room: float,
        unit: float,
    ) -> None:
        """Join the samples of several; vectors of one are compared with those of the others, as in `add`."""
        fresh, base = merging.added(replicas), [one.part for one in replicas if one.weight < 0]
        before = sum(part.stood for part in base)
        shared = {row.tobytes() for part in base for row in part.anchors[0, : part.filled]}
        # What each has beyond the snapshot that all started from.
        own = []
        for one in fresh:
            kept = [row for row in range(one.part.filled) if one.part.anchors[0, row].tobytes() not in shared]
            own.append((one.part.stood - before, one.part.anchors[0, kept]))
        self.sums = float(merging.total(replicas, "sums"))
        chance, shift = self._chance(added, directions.shape[1], room), 0.0 if mean is None else mean
        for (many, rows), (more, others) in combinations(own, 2):
            if len(rows) and len(others):
                self.sums += 2.0 * many * more * _alike(rows - shift, others - shift, directions, chance, unit)
        self.stood = merging.count(replicas, "stood")
        self._pool([one.part for one in fresh])

    def _pool(self, parts: Sequence[Revisits]) -> None:
        """Make one sample of several: rows of each in proportion to its vectors, at even distances."""
        places = ANCHORS / max(sum(part.stood for part in parts), 1)
        if sum(part.filled for part in parts) <= ANCHORS:
            sizes = [part.filled for part in parts]
        else:
            sizes = [min(part.filled, int(part.stood * places)) for part in parts]
        rows = [
            part.anchors[:, np.linspace(0, part.filled - 1, size).round().astype(int)]
            for part, size in zip(parts, sizes, strict=True)
            if size
        ]
        pooled = np.concatenate(rows, axis=1) if rows else self.anchors[:, :0]
        self.filled = pooled.shape[1]
        self.anchors = np.zeros_like(parts[0].anchors)
        self.anchors[:, : self.filled] = pooled

    def inflation(self, added: int) -> float:
        """Return what related pairs from different sets add to the variance, in units of that of independent vectors.

        Vectors since the last comparison are taken to be related to the others as those before them were.
        """
        if not self.stood:
            return 0.0
        return max(0.0, self.sums) / self.stood * (added / self.stood)


def _alike(rows: Array, known: Array, directions: Array, chance: float, unit: float) -> float:
    """Return the mean over pairs of (z_s·z_t)(ρ_s·ρ_t), that of unrelated ones taken for 0, over `unit`."""
    products = rows @ known.T
    sizes, others = linalg.square_norms(rows), linalg.square_norms(known)
    if directions.shape[1]:
        inside, inside_known = rows @ directions, known @ directions
        agree = inside @ inside_known.T
        remain = products - agree
        outside = np.maximum(sizes - linalg.square_norms(inside), 0.0)
        outside_known = np.maximum(others - linalg.square_norms(inside_known), 0.0)
    else:
        # The subspace is not known: compare the whole vector.
        agree = remain = products
        outside, outside_known = sizes, others
        unit = 0.25 * (sizes.mean() + others.mean()) ** 2
    related = remain > np.multiply.outer(chance * np.sqrt(outside), np.sqrt(outside_known))
    related |= products >= (0.5 - 0.25 * SAME) * np.add.outer(sizes, others)
    return float(np.vdot(agree[related], remain[related])) / (unit * related.size) if unit > 0.0 else 0.0
