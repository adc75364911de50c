"""The network for MNIST: two convolutions and a hidden layer; representation and θ* make it five layers."""

from __future__ import annotations

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
