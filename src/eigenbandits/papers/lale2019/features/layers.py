"""The representation layer in NumPy: from hidden features to segments, and to logits."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]


class Layer(Protocol):
    """A map from hidden features (n, h) to decision sets (n, K, d)."""

    classes: int
    dim: int
    inputs: int

    def segments(self, hidden: Numbers, /) -> Numbers:
        """Return the decision sets (n, K, d)."""

    def logits(self, hidden: Numbers, thetas: Numbers, /) -> Numbers:
        """Return segment times θ, (n, K, p), for models (p, d)."""


class Dense:
    """A matrix (h, K·d) and a bias (K·d,), with or without a ReLU."""

    def __init__(self, weight: Numbers, bias: Numbers, classes: int, relu: bool) -> None:
        self.weight, self.bias, self.classes, self.relu = weight, bias, classes, relu
        self.inputs = len(weight)
        self.dim = len(bias) // classes

    def segments(self, hidden: Numbers, /) -> Numbers:
        """Return the decision sets (n, K, d)."""
        outputs = hidden @ self.weight
        outputs += self.bias
        if self.relu:
            np.maximum(outputs, 0.0, out=outputs)
        return outputs.reshape(len(hidden), self.classes, self.dim)

    def logits(self, hidden: Numbers, thetas: Numbers, /) -> Numbers:
        """Return segment times θ, (n, K, p), for models (p, d); without a ReLU no segment is formed."""
        if self.relu:
            return np.asarray(self.segments(hidden) @ thetas.T)
        count = len(thetas)
        weight = (self.weight.reshape(-1, self.dim) @ thetas.T).reshape(self.inputs, self.classes * count)
        bias = (self.bias.reshape(self.classes, self.dim) @ thetas.T).ravel()
        return np.asarray((hidden @ weight + bias).reshape(len(hidden), self.classes, count))
