"""The effective number of vectors: how many independent ones would give the same error of a subspace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from eigenbandits import linalg, merging
from eigenbandits.component import Component
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.subspace.batches import Batches, Overdispersion, lump
from eigenbandits.subspace.revisits import Revisits

# Nothing in the vectors distinguishes a common mean from a component that they share for a while. Up to this many
# decision sets it is taken for the latter (`eigenbandits calibrate young`).
YOUNG = 128
# Few vectors fill few dimensions, whatever there are: up to this many they are taken to fill all that there are
# (`eigenbandits calibrate few`).
FEW = 512
# The likeness within a larger set is not examined: it is a catalogue.
LARGEST = 512


class Effective(Component):
    """The variance inflation of Σ z ρᵀ, z and ρ being a vector's parts inside and outside the subspace.

    It is that of vectors with heavy tails, times the larger of what likeness within a set and recurring vectors
    show together, and what batches of consecutive vectors show, which see likeness within sets and between near ones.
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *("scale", "room", "together", "apart", "products", "inside", "outside", "largest", "count"),
        *("batches", "revisits"),
    )

    def __init__(self) -> None:
        # The size of a vector, about, so that no square over- or underflows; 0 before the first.
        self.scale = 0.0
        self.room = 1.0
        self.together = self.apart = 0.0
        self.products = self.inside = self.outside = self.largest = 0.0
        self.count = 0
        self.batches = Batches()
        self.revisits = Revisits()

    @property
    def started(self) -> bool:
        """Whether any vector was seen."""
        return self.scale > 0.0

    def start(self, vectors: Array) -> None:
        """Set up for the dimension and the size of the first vectors; the size is a unit and changes nothing."""
        self.scale = float(np.abs(vectors).max()) * float(np.sqrt(vectors.shape[1])) or 1.0
        self.revisits.start(vectors.shape[1])

    def follow(self, spectrum: Array, rank: int) -> None:
        """Update with a new spectrum: the rest of the space fills (Σℓ)²/Σℓ² dimensions."""
        rest = spectrum[rank:] / spectrum[0] if spectrum[0] > 0.0 else spectrum[:0]
        self.room = max(1.0, float(rest.sum() ** 2 / np.square(rest).sum())) if rest.any() else 1.0

    def add_set(self, vectors: Array, added: int, directions: Array | None, mean: Array | None) -> None:
        """Examine one decision set, of which a sample is enough; `added` counts all vectors so far, including these."""
        vectors = vectors / self.scale
        mean = None if mean is None else mean / self.scale
        known = np.zeros((vectors.shape[1], 0)) if directions is None else directions
        self.revisits.add(vectors, added, known, mean, *self._circumstances(added, known))
        if directions is None or not 1 < len(vectors) <= LARGEST:
            return
        vectors = vectors if mean is None else vectors - mean
        inside = vectors @ directions
        outside = vectors - inside @ directions.T
        self.together += float(np.square(inside.T @ outside).sum())
        self.apart += float(np.square(inside).sum(axis=1) @ linalg.square_norms(outside))

    def merge(
        self, replicas: Sequence[Replica[Effective]], added: int, directions: Array | None, mean: Array | None
    ) -> None:
        """Add up what several have seen, and compare the vectors of each with those of the others.

        Parameters
        ----------
        replicas
            Those to be added up.
        added
            How many vectors there have been in all.
        directions, mean
            The subspace in which replicas are compared, where one is known.
        """
        started = [replica for replica in replicas if replica.part.started]
        if not started:
            return
        # Each in its own unit: the sums are of fourth powers, or of squares.
        scale = started[0].part.scale
        units = [replica.part.scale / scale for replica in started]
        for name, power in (("together", 4), ("apart", 4), ("products", 4), ("inside", 2), ("outside", 2)):
            sums = (
                one.weight * getattr(one.part, name) * unit**power for one, unit in zip(started, units, strict=True)
            )
            setattr(self, name, max(sum(sums), 0.0))
        self.largest = max(one.part.largest * unit**2 for one, unit in zip(started, units, strict=True))
        self.count = merging.count(started, "count")
        self.scale, self.room = scale, max(one.part.room for one in started)
        self.batches.merge([one.inside(one.part.batches) for one in started], units)
        moved = []
        for one, factor in zip(started, units, strict=True):
            offset = 0.0 if one.shift.offset is None else one.shift.offset / scale
            moved.append(one.inside(one.part.revisits.moved(factor, offset)))
        known = np.zeros((moved[0].part.anchors.shape[2], 0)) if directions is None else directions
        mean = None if mean is None else mean / scale
        self.revisits.merge(moved, added, known, mean, *self._circumstances(added, known))

    def _circumstances(self, added: int, known: Array) -> tuple[float, float]:
        """Return how many dimensions the vectors fill outside the subspace, and E‖z‖²·E‖ρ‖² of one of them."""
        room = self.room if added > FEW else max(self.room, float(known.shape[0] - known.shape[1]))
        return room, self.inside * self.outside / self.count**2 if self.count else 0.0

    def add_batch(self, vectors: Array, directions: Array | None, mean: Array | None) -> None:
        """Record consecutive vectors; none may be left out."""
        vectors = vectors if mean is None else vectors - mean
        self.batches.add(vectors, self.scale)
        if directions is None:
            return
        inside = (vectors @ directions) / self.scale
        sizes = np.einsum("ij,ij->i", inside, inside)
        rest = np.maximum(np.einsum("ij,ij->i", vectors, vectors) / self.scale**2 - sizes, 0.0)
        self.products += float(sizes @ rest)
        self.inside += float(sizes.sum())
        self.outside += float(rest.sum())
        self.largest = max(self.largest, float(rest.max()))
        self.count += len(vectors)

    @property
    def likeness(self) -> float:
        """How many vectors of one decision set are worth one independent one (the design effect), at least 1.

        If the vectors of a set are independent, the square of the sum of z ρᵀ is the sum of the squares; if they
        come in pairs of equals it is twice that.
        """
        return max(self.together / self.apart, 1.0) if self.apart > 0.0 else 1.0

    @property
    def tails(self) -> float:
        """E‖z‖²‖ρ‖² over E‖z‖²·E‖ρ‖², at least 1: vectors that are large in both count for more than their share."""
        normal = self.inside * self.outside
        return max(self.products * self.count / normal, 1.0) if normal > 0.0 else 1.0

    def inflation(self, added: int) -> float:
        """Return how many of `added` vectors are worth one independent vector, at least 1."""
        alike = self.likeness + self.revisits.inflation(added)
        return self.tails * max(alike, self.batches.second_moment().inflation)

    def doubt(self, added: int, sets: int, centered: bool) -> tuple[float, float]:
        """Return what an estimate of the error has to allow for.

        Parameters
        ----------
        added, sets
            How many vectors there have been, in how many decision sets.
        centered
            Whether their mean is subtracted.

        Returns
        -------
        inflation
            As `inflation`, with a part that all vectors share for so long counted while there are few sets.
        energy
            The most that one vector, or a part that many share, may have added to an eigenvalue of the second moment.
        """
        if not self.count and added <= LARGEST:
            # The first decision set has nothing to be compared with yet: it may be one vector many times.
            return math.inf, 0.0
        inflation = self.inflation(added)
        dispersion = self.batches.second_moment()
        if sets <= YOUNG:
            dispersion = max(dispersion, self.batches.shared(centered), key=_inflation)
            inflation = max(inflation, self.tails * dispersion.inflation)
        if not self.count:
            return inflation, 0.0
        # What likeness within sets and recurring vectors do not explain is shared by many, and may have drawn a
        # direction of the subspace to itself, so that it is not to be seen outside.
        unexplained = max(0.0, dispersion.inflation - self.likeness - self.revisits.inflation(added))
        shared = (self.inside + self.outside) * lump(Overdispersion(dispersion.length, 1.0 + unexplained))
        largest = max(self.largest, max(shared, self.outside * inflation) / self.count)
        return inflation, largest / added * self.scale**2


def _inflation(dispersion: Overdispersion) -> float:
    return dispersion.inflation
