"""MNIST and CIFAR-10: a CNN trained from scratch, and pre-trained residual networks."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from eigenbandits.lab.errors import DataError
from eigenbandits.lab.folders import data_folder
from eigenbandits.papers.lale2019.datasets.cifar import cifar10
from eigenbandits.papers.lale2019.datasets.idx import mnist
from eigenbandits.papers.lale2019.datasets.images import LabeledImages
from eigenbandits.papers.lale2019.networks.cifar_resnet import CifarResNet
from eigenbandits.papers.lale2019.networks.cnn import CNN, Segments
from eigenbandits.papers.lale2019.networks.resnet import ResNet
from eigenbandits.papers.lale2019.networks.trainer import Trained, Trainer, as_inputs
from eigenbandits.papers.lale2019.networks.training import Echo, TrainingPlan, device, evaluate, scaled, train
from eigenbandits.papers.lale2019.networks.weights import fingerprint, load_weights, read_weights

Place = str | PathLike[str]
# Images are resized to what weights trained on ImageNet expect.
_IMAGENET_SIZE = 224
_EDGE = 4


class _SmallImages(Trainer):
    """A dataset that fits into memory."""

    def __init__(self, images: LabeledImages) -> None:
        self.images = images
        self.labels, self.training = images.labels, images.training
        self.classes, self.fingerprint = len(images.classes), images.fingerprint


class Mnist(_SmallImages):
    """MNIST through the 5-layer CNN, trained on all 60,000 images for training."""

    data, network = "mnist", "cnn"

    def __init__(self, folder: Place | None = None) -> None:
        super().__init__(mnist(folder))
        self.plan = TrainingPlan(epochs=6)

    def train(self, dim: int, relu: bool, echo: Echo) -> Trained:
        """Train all five layers."""
        torch.manual_seed(self.plan.seed)
        trunk, head = CNN(), Segments(CNN.outputs, self.classes, dim, relu)
        both = nn.Sequential(trunk, head).to(device(), memory_format=torch.channels_last)

        def inputs(rows: NDArray[np.int64]) -> Tensor:
            return scaled(self.images.pixels[rows], trunk)

        train(both, list(both.parameters()), inputs, self.labels[: self.training], self.plan, echo)
        return Trained(self.tuned(trunk, head), head, evaluate(trunk, inputs, len(self.images)))


class Cifar10(_SmallImages):
    """CIFAR-10 through a pre-trained ResNet-56 whose last blocks are tuned with the new representation layer.

    The paper tunes a ResNet-18; see `Cifar10ResNet18`. The lower blocks are evaluated once for all networks. The
    weights are by default ``cifar10/resnet56.npz`` in the folder of the data.
    """

    data, network = "cifar10", "resnet56"

    def __init__(self, folder: Place | None = None, weights: Place | None = None, blocks: int = 2) -> None:
        super().__init__(cifar10(folder))
        self.plan = TrainingPlan(epochs=4, rate=1e-3)
        self.source = Path(weights) if weights is not None else data_folder(folder) / "cifar10" / "resnet56.npz"
        if not self.source.is_file():
            raise FileNotFoundError(
                f"there are no pre-trained weights {self.source}; docs/howto/images.md says where to get them, and "
                "`eigenbandits features weights` turns them into plain arrays."
            )
        self.weights = read_weights(self.source)
        if not {"linear.weight", "linear.bias"} <= self.weights.keys():
            raise DataError(f"{self.source} lacks 'linear.weight' or 'linear.bias'; expected those of a ResNet-56.")
        self.blocks = blocks
        self._below: NDArray[np.float16] | None = None

    def settings(self) -> dict[str, Any]:
        """Add the pre-trained weights, and how much of them is tuned."""
        return super().settings() | {"weights": fingerprint(self.weights), "blocks": self.blocks}

    def pretrained(self) -> CifarResNet:
        """Return the pre-trained network without its last layer."""
        trunk = CifarResNet(9)
        load_weights(trunk, self.weights, str(self.source), ignored=("linear.",))
        trunk.to(device(), memory_format=torch.channels_last).eval()
        return trunk

    def train(self, dim: int, relu: bool, echo: Echo) -> Trained:
        """Tune the last blocks, with fixed batch normalization, and train the new layers."""
        torch.manual_seed(self.plan.seed)
        trunk = self.pretrained()
        head = Segments(trunk.outputs, self.classes, dim, relu).to(device())
        below = self._lower_outputs(trunk, echo)

        def inputs(rows: NDArray[np.int64]) -> Tensor:
            return as_inputs(below[rows]).contiguous(memory_format=torch.channels_last)

        def upper(found: Tensor) -> Tensor:
            return trunk.above(found, self.blocks)

        parameters = [*trunk.layer3[-self.blocks :].parameters(), *head.parameters()]
        train(lambda found: head(upper(found)), parameters, inputs, self.labels[: self.training], self.plan, echo)
        return Trained(self.tuned(trunk, head), head, evaluate(upper, inputs, len(self.images)))

    def _lower_outputs(self, trunk: CifarResNet, echo: Echo) -> NDArray[np.float16]:
        if self._below is None:
            echo(f"computing the lower blocks, which stay fixed, for {len(self.images):,} images")
            pixels = self.images.pixels
            found = evaluate(
                lambda images: trunk.below(images, self.blocks).half(),
                lambda rows: scaled(pixels[rows], trunk),
                len(pixels),
            )
            self._below = found
            echo(f"{self.source.name}: {self._accuracy_before(trunk, found):.2%} test accuracy before tuning")
        return self._below

    def _accuracy_before(self, trunk: CifarResNet, below: NDArray[np.float16]) -> float:
        """Return the accuracy of the pre-trained network, with its own last layer, on the test images."""
        tests = below[self.training :]
        hidden = evaluate(
            lambda found: trunk.above(found, self.blocks), lambda rows: as_inputs(tests[rows]), len(tests)
        )
        logits = hidden @ self.weights["linear.weight"].T + self.weights["linear.bias"]
        return float((logits.argmax(axis=1) == self.labels[self.training :]).mean())


class Cifar10ResNet18(_SmallImages):
    """CIFAR-10 through ResNet-18, as in the paper: all of it is trained, which needs a GPU.

    With pre-trained weights, by torchvision's names, images are resized to 224 × 224 pixels, as those expect. Without,
    it is trained from scratch, with a first layer for 32 × 32.
    """

    data, network = "cifar10", "resnet18"

    def __init__(self, folder: Place | None = None, weights: Place | None = None) -> None:
        super().__init__(cifar10(folder))
        self.plan = TrainingPlan(epochs=30 if weights is None else 5, rate=1e-3 if weights is None else 2e-4)
        self.source = weights
        self.weights = {} if weights is None else read_weights(weights)

    def settings(self) -> dict[str, Any]:
        """Add the pre-trained weights."""
        return super().settings() | {"weights": fingerprint(self.weights)}

    def train(self, dim: int, relu: bool, echo: Echo) -> Trained:
        """Train everything, on images that are shifted by some pixels and mirrored at random."""
        torch.manual_seed(self.plan.seed)
        trunk = ResNet(18, "imagenet" if self.weights else "cifar")
        if self.weights:
            load_weights(trunk, self.weights, str(self.source), ignored=("fc.",))
        head = Segments(trunk.outputs, self.classes, dim, relu)
        both = nn.Sequential(trunk, head).to(device(), memory_format=torch.channels_last)
        rng = np.random.default_rng(self.plan.seed)

        def inputs(rows: NDArray[np.int64]) -> Tensor:
            found = scaled(self.images.pixels[rows], trunk)
            return functional.interpolate(found, _IMAGENET_SIZE, mode="bilinear") if self.weights else found

        def varied(rows: NDArray[np.int64]) -> Tensor:
            return mirrored_and_moved(inputs(rows), rng)

        train(both.train(), list(both.parameters()), varied, self.labels[: self.training], self.plan, echo)
        return Trained(self.tuned(trunk, head), head, evaluate(both.eval()[0], inputs, len(self.images)))


def mirrored_and_moved(images: Tensor, rng: np.random.Generator) -> Tensor:
    """Return images shifted by up to an eighth of their size, the same for a batch, and a random half mirrored."""
    size = images.shape[-1]
    edge = _EDGE * size // 32
    across, down = rng.integers(0, 2 * edge + 1, 2)
    moved = functional.pad(images, (edge,) * 4)[:, :, down : down + size, across : across + size]
    mirrored = torch.from_numpy(rng.random(len(images)) < 0.5).to(images.device)
    return torch.where(mirrored[:, None, None, None], moved.flip(3), moved)
