"""Labeled images, as every reader returns them."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class LabeledImages:
    """Images and their classes, the first `training` of them for training, the others for testing.

    `pixels` has the shape (n, channels, height, width), `labels` (n,); `classes` are the names.
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
