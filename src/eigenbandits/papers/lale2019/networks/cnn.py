"""The network for MNIST, and the layer of segments that ends every network of the paper."""

import torch
from torch import Tensor, nn

HIDDEN = 128


class CNN(nn.Module):
    """What comes before the representation layer: 128 numbers for an image of 28 × 28 pixels.

    The paper says "a simple 5-layer CNN" and no more; sizes are chosen here.
    """

    outputs = HIDDEN
    mean, deviation = (0.1307,), (0.3081,)

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(16, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(32 * 7 * 7, HIDDEN), nn.ReLU()),
        )

    def forward(self, images: Tensor) -> Tensor:
        """Return what the representation layer reads, (n, 128)."""
        found: Tensor = self.layers(images)
        return found


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
