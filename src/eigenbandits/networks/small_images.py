"""MNIST and CIFAR-10: a CNN trained from nothing, and residual networks that were trained before."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from eigenbandits.datasets.base import DataError, LabelledImages
from eigenbandits.datasets.cifar import cifar10
from eigenbandits.datasets.idx import mnist
from eigenbandits.datasets.places import data_folder
from eigenbandits.networks.cifar_resnet import CifarResNet
from eigenbandits.networks.cnn import CNN
from eigenbandits.networks.recipe import Recipe, Trained, as_inputs
from eigenbandits.networks.resnet import ResNet
from eigenbandits.networks.segments import Segments
from eigenbandits.networks.training import Plan, Tell, device, look, scaled, train
from eigenbandits.networks.weights import fingerprint, put, read_weights

Place = str | PathLike[str]
# Images are brought to the size that weights trained on ImageNet expect.
_IMAGENET_SIZE = 224
_EDGE = 4


class _SmallImages(Recipe):
    """A dataset that fits into memory."""

    def __init__(self, images: LabelledImages) -> None:
        self.images = images
        self.labels, self.training = images.labels, images.training
        self.classes, self.fingerprint = len(images.classes), images.fingerprint


class Mnist(_SmallImages):
    """MNIST through the 5-layer CNN, trained on all 60,000 images for training."""

    data, network = "mnist", "cnn"

    def __init__(self, folder: Place | None = None) -> None:
        super().__init__(mnist(folder))
        self.plan = Plan(epochs=6)

    def train(self, dim: int, relu: bool, tell: Tell) -> Trained:
        """Train all five layers."""
        torch.manual_seed(self.plan.seed)
        trunk, head = CNN(), Segments(CNN.outputs, self.classes, dim, relu)
        both = nn.Sequential(trunk, head).to(device(), memory_format=torch.channels_last)

        def inputs(rows: NDArray[np.int64]) -> Tensor:
            return scaled(self.images.pixels[rows], trunk)

        train(both, list(both.parameters()), inputs, self.labels[: self.training], self.plan, tell)
        return Trained(self.tuned(trunk, head), head, look(trunk, inputs, len(self.images)))


class Cifar10(_SmallImages):
    """CIFAR-10 through a pre-trained ResNet-56 whose last blocks are tuned with the new representation layer.

    The paper tunes a ResNet-18; see `Cifar10ResNet18`. What the lower blocks give is computed once for all networks.

    Parameters
    ----------
    folder
        The folder of the data.
    weights
        The pre-trained weights; ``cifar10/resnet56.npz`` in the folder of the data unless told.
    blocks
        How many blocks of the last stage are tuned.
    """

    data, network = "cifar10", "resnet56"

    def __init__(self, folder: Place | None = None, weights: Place | None = None, blocks: int = 2) -> None:
        super().__init__(cifar10(folder))
        self.plan = Plan(epochs=4, rate=1e-3)
        self.source = Path(weights) if weights is not None else data_folder(folder) / "cifar10" / "resnet56.npz"
        if not self.source.is_file():
            raise FileNotFoundError(
                f"there are no pre-trained weights {self.source}; docs/howto/images.md says where to get them, and "
                "`eigenbandits features weights` turns them into plain arrays."
            )
        self.weights = read_weights(self.source)
        if not {"linear.weight", "linear.bias"} <= self.weights.keys():
            raise DataError(f"{self.source} misses 'linear.weight' or 'linear.bias'; expected those of a ResNet-56.")
        self.blocks = blocks
        self._below: NDArray[np.float16] | None = None

    def settings(self) -> dict[str, Any]:
        """Add the pre-trained weights, and how much of them is tuned."""
        return super().settings() | {"weights": fingerprint(self.weights), "blocks": self.blocks}

    def pretrained(self) -> CifarResNet:
        """Return the pre-trained network without its last layer."""
        trunk = CifarResNet(9)
        put(trunk, self.weights, str(self.source), beside=("linear.",))
        trunk.to(device(), memory_format=torch.channels_last).eval()
        return trunk

    def train(self, dim: int, relu: bool, tell: Tell) -> Trained:
        """Tune the last blocks, whose batch normalisation keeps its means and deviations, and train the new layers."""
        torch.manual_seed(self.plan.seed)
        trunk = self.pretrained()
        head = Segments(trunk.outputs, self.classes, dim, relu).to(device())
        below = self._looked_below(trunk, tell)

        def inputs(rows: NDArray[np.int64]) -> Tensor:
            return as_inputs(below[rows]).contiguous(memory_format=torch.channels_last)

        def upper(found: Tensor) -> Tensor:
            return trunk.above(found, self.blocks)

        parameters = [*trunk.layer3[-self.blocks :].parameters(), *head.parameters()]
        train(lambda found: head(upper(found)), parameters, inputs, self.labels[: self.training], self.plan, tell)
        return Trained(self.tuned(trunk, head), head, look(upper, inputs, len(self.images)))

    def _looked_below(self, trunk: CifarResNet, tell: Tell) -> NDArray[np.float16]:
        if self._below is None:
            tell(f"looking at {len(self.images):,} images through the lower blocks, which stay as they are")
            pixels = self.images.pixels
            found = look(
                lambda images: trunk.below(images, self.blocks).half(),
                lambda rows: scaled(pixels[rows], trunk),
                len(pixels),
            )
            self._below = found
            tell(f"{self.source.name}: {self._accuracy_before(trunk, found):.2%} right on the test images as it came")
        return self._below

    def _accuracy_before(self, trunk: CifarResNet, below: NDArray[np.float16]) -> float:
        """Return the share of test images on which the pre-trained network, with its own last layer, is right."""
        tests = below[self.training :]
        hidden = look(lambda found: trunk.above(found, self.blocks), lambda rows: as_inputs(tests[rows]), len(tests))
        logits = hidden @ self.weights["linear.weight"].T + self.weights["linear.bias"]
        return float((logits.argmax(axis=1) == self.labels[self.training :]).mean())


class Cifar10ResNet18(_SmallImages):
    """CIFAR-10 through ResNet-18, as in the paper: all of it is trained, which wants a GPU.

    Parameters
    ----------
    folder
        The folder of the data.
    weights
        Pre-trained weights by torchvision's names; images are then brought to 224 × 224 pixels, as those expect. None
        starts from nothing, with a first layer for 32 × 32.
    """

    data, network = "cifar10", "resnet18"

    def __init__(self, folder: Place | None = None, weights: Place | None = None) -> None:
        super().__init__(cifar10(folder))
        self.plan = Plan(epochs=30 if weights is None else 5, rate=1e-3 if weights is None else 2e-4)
        self.source = weights
        self.weights = {} if weights is None else read_weights(weights)

    def settings(self) -> dict[str, Any]:
        """Add the pre-trained weights."""
        return super().settings() | {"weights": fingerprint(self.weights)}

    def train(self, dim: int, relu: bool, tell: Tell) -> Trained:
        """Train everything, on images that are moved by some pixels and mirrored at random."""
        torch.manual_seed(self.plan.seed)
        trunk = ResNet(18, "imagenet" if self.weights else "cifar")
        if self.weights:
            put(trunk, self.weights, str(self.source), beside=("fc.",))
        head = Segments(trunk.outputs, self.classes, dim, relu)
        both = nn.Sequential(trunk, head).to(device(), memory_format=torch.channels_last)
        rng = np.random.default_rng(self.plan.seed)

        def inputs(rows: NDArray[np.int64]) -> Tensor:
            found = scaled(self.images.pixels[rows], trunk)
            return functional.interpolate(found, _IMAGENET_SIZE, mode="bilinear") if self.weights else found

        def varied(rows: NDArray[np.int64]) -> Tensor:
            return mirrored_and_moved(inputs(rows), rng)

        train(both.train(), list(both.parameters()), varied, self.labels[: self.training], self.plan, tell)
        return Trained(self.tuned(trunk, head), head, look(both.eval()[0], inputs, len(self.images)))


def mirrored_and_moved(images: Tensor, rng: np.random.Generator) -> Tensor:
    """Return images moved by up to an eighth of their size, the same for a batch, and every second one mirrored."""
    size = images.shape[-1]
    edge = _EDGE * size // 32
    across, down = rng.integers(0, 2 * edge + 1, 2)
    moved = functional.pad(images, (edge,) * 4)[:, :, down : down + size, across : across + size]
    mirrored = torch.from_numpy(rng.random(len(images)) < 0.5).to(images.device)
    return torch.where(mirrored[:, None, None, None], moved.flip(3), moved)
