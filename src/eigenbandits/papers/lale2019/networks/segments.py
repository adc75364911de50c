"""The end of the paper's networks: a representation of K segments of d numbers, and one vector θ* for all of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Segments(nn.Module):
    """The representation layer and the final vector (section 5 of the paper).

    Whether the representation layer ends in a ReLU, the paper does not say. A `bottleneck` is a linear layer with this
    many outputs before the representation layer, which keeps that one small.
    """

    def __init__(self, inputs: int, classes: int, dim: int, relu: bool, bottleneck: int | None = None) -> None:
        super().__init__()
        self.classes, self.dim, self.relu = classes, dim, relu
        self.bottleneck = nn.Linear(inputs, bottleneck, bias=False) if bottleneck else nn.Identity()
        self.representation = nn.Linear(bottleneck or inputs, classes * dim)
        self.theta = nn.Parameter(torch.empty(dim).uniform_(-(dim**-0.5), dim**-0.5))

    def segments(self, hidden: Tensor) -> Tensor:
        """Return the decision sets (n, K, d)."""
        outputs = self.representation(self.bottleneck(hidden))
        return (outputs.relu() if self.relu else outputs).reshape(-1, self.classes, self.dim)

    def forward(self, hidden: Tensor) -> Tensor:
        """Return the logits (n, K): segment times θ*."""
        return self.segments(hidden) @ self.theta
