"""A small network of the paper's construction: a representation of K segments, and one vector for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from eigenbandits.extras import need
from eigenbandits.inputs import Array

CLASSES, DIM = 10, 100
# The last of the 1,797 images, in a fixed random order, are never trained on.
TEST_IMAGES = 500
_ORDER_SEED = 0
_BRIGHTEST = 16.0


@dataclass(frozen=True, eq=False)
class Network:
    """Two hidden layers with ReLU, a linear bottleneck, and the representation layer of K·d outputs (section 5).

    The outputs, which may end in a ReLU, are read as K segments of d numbers; the logit of class i is segment i times
    `theta`, the same θ* for all. The bottleneck keeps the file small; it limits the rank of the weights, not that of
    the segments. `weights` has the matrices (inputs, outputs) and biases by name.
    """

    weights: Mapping[str, Array]
    relu: bool

    @classmethod
    def shipped(cls, relu: bool) -> Network:
        """Return the network that scripts/train_digits.py trained."""
        name = "relu.npz" if relu else "linear.npz"
        with (
            resources.files("eigenbandits.environments.digits").joinpath(name).open("rb") as file,
            np.load(file, allow_pickle=False) as archive,
        ):
            return cls({key: archive[key].astype(np.float64) for key in archive.files}, relu)

    @property
    def theta(self) -> Array:
        """θ* (d,)."""
        return self.weights["theta"]

    def segments(self, pixels: Array) -> Array:
        """Return the decision sets (n, K, d) of images (n, 64)."""
        hidden = pixels
        for layer in ("1", "2"):
            hidden = np.maximum(hidden @ self.weights[f"w{layer}"] + self.weights[f"b{layer}"], 0.0)
        outputs = (hidden @ self.weights["bottleneck"]) @ self.weights["w3"] + self.weights["b3"]
        if self.relu:
            outputs = np.maximum(outputs, 0.0)
        return np.asarray(outputs.reshape(len(pixels), CLASSES, -1))

    def logits(self, pixels: Array) -> Array:
        """Return the logits (n, K)."""
        return np.asarray(self.segments(pixels) @ self.theta)


def load_images() -> tuple[Array, NDArray[np.int64]]:
    """Return the pixels (1797, 64), from 0 to 1, and the digits; the last `TEST_IMAGES` are never trained on."""
    need("digits", "sklearn", what="Loading the handwritten digits")
    from sklearn.datasets import load_digits

    pixels, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(_ORDER_SEED).permutation(len(digits))
    return np.asarray(pixels[order] / _BRIGHTEST, dtype=np.float64), np.asarray(digits[order], dtype=np.int64)
