"""What every reader of images returns, and what it raises when a file cannot be read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


class DataError(ValueError):
    """A data file is missing, cut short or not what it should be; the text says in one sentence what to do."""


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Images and what they show, those for training first.

    Attributes
    ----------
    pixels : ndarray of uint8, shape (n, channels, height, width)
        The images.
    labels : ndarray of int64, shape (n,)
        The class of each, from 0 on.
    training : int
        How many of them, at the beginning, are for training; the others are for testing.
    classes : tuple of str
        The names of the classes.
    """

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]
    training: int
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all pixels and labels, in hexadecimal."""
        digest = hashlib.sha256(f"{self.pixels.shape}, {self.training} ".encode())
        digest.update(np.ascontiguousarray(self.pixels).data)
        digest.update(np.ascontiguousarray(self.labels, dtype="<i8").data)
        return digest.hexdigest()
