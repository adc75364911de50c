"""ImageNet, or any folder of images: an unchanged pre-trained ResNet-50 with a representation layer on top."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from eigenbandits.features import Product, centered, group_of
from eigenbandits.lab.errors import DataError
from eigenbandits.lab.folders import cache_folder, data_folder
from eigenbandits.papers.lale2019.datasets.folders import ClassFolders
from eigenbandits.papers.lale2019.features.cache import key_of
from eigenbandits.papers.lale2019.features.file import save_arrays
from eigenbandits.papers.lale2019.networks.cnn import Segments
from eigenbandits.papers.lale2019.networks.resnet import ResNet
from eigenbandits.papers.lale2019.networks.trainer import Trained, Trainer, as_inputs
from eigenbandits.papers.lale2019.networks.training import Echo, TrainingPlan, device, evaluate, scaled, train
from eigenbandits.papers.lale2019.networks.weights import fingerprint, load_weights, read_weights

Place = str | PathLike[str]
FILE = "resnet50-val-5000.npz"
# One of this many images of each class is never trained on.
_HELD_OUT = 5


class PooledTrainer(Trainer):
    """A representation layer, after a linear bottleneck, on the outputs of a fixed ResNet-50.

    The paper trains the changed network itself. With about four images of a class the labels alone teach little; if the
    classes are those of the network's last layer, its probabilities are the targets instead. The bottleneck keeps the
    K·d outputs of 1,000 classes affordable: a matrix of 128 × 100,000 instead of 2,048 × 100,000.

    `arrays` holds ``features`` (n, h), ``labels`` (n,), and the last layer's ``weight`` (h, K) and ``bias`` (K,).
    """

    network = "resnet50"
    layers = ("linear", "relu", "product")
    dims = (100,)
    bottleneck = 128

    def __init__(self, data: str, arrays: Mapping[str, NDArray[Any]], source: str) -> None:
        missing = [name for name in ("features", "labels", "weight", "bias") if name not in arrays]
        if missing:
            raise DataError(f"{source} has no array {missing[0]!r}; expected features, labels, weight and bias.")
        self.data = data
        labels = np.asarray(arrays["labels"], dtype=np.int64)
        order, self.training = training_first(labels)
        self.features = np.asarray(arrays["features"], dtype=np.float32)[order]
        self.labels = labels[order]
        self.weight = np.asarray(arrays["weight"], dtype=np.float32)
        self.bias = np.asarray(arrays["bias"], dtype=np.float32)
        self.classes = int(labels.max()) + 1
        self.plan = TrainingPlan(epochs=12, batch=50, rate=1e-3, decay=1e-3)
        self.fingerprint = fingerprint({name: arrays[name] for name in ("features", "labels", "weight", "bias")})

    def settings(self) -> dict[str, Any]:
        """Add the bottleneck."""
        return super().settings() | {"bottleneck": self.bottleneck, "targets": "probabilities"}

    def train(self, dim: int, relu: bool, echo: Echo) -> Trained:
        """Train bottleneck, representation layer and θ*; the first starts from the last layer's main directions."""
        torch.manual_seed(self.plan.seed)
        width = min(self.bottleneck, *self.weight.shape)
        head = Segments(self.features.shape[1], self.classes, dim, relu, width).to(device())
        main = np.linalg.svd(self.weight, full_matrices=False)[0][:, :width]
        with torch.no_grad():
            head.bottleneck.weight.copy_(as_inputs(main.T))

        def inputs(rows: NDArray[np.int64]) -> torch.Tensor:
            return as_inputs(self.features[rows])

        train(head, list(head.parameters()), inputs, self._targets(), self.plan, echo)
        return Trained(head, head, evaluate(head.bottleneck, inputs, len(self.labels)))

    def _targets(self) -> NDArray[Any]:
        """Return the targets: the network's own probabilities if the classes are its own, else the labels."""
        if self.classes != self.weight.shape[1]:
            return self.labels[: self.training]
        logits = self.features[: self.training] @ self.weight + self.bias
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def product(self, dim: int) -> tuple[Product, NDArray[np.float32]]:
        """Return the unchanged network as query ⊙ item, and its queries, centered by the classes' mean."""
        items = np.vstack([self.weight, self.bias]).T.astype(np.float64)
        queries = np.column_stack([self.features, np.ones(len(self.features), dtype=np.float32)])
        layer = Product.grouped(centered(items, True).astype(np.float32), group_of(items.shape[1], dim, seed=0))
        return layer, queries


def training_first(labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return an order of the images with those for training first, and how many these are: four of five in each class.

    Examples
    --------
    >>> training_first(np.array([0, 0, 0, 0, 0, 1]))
    (array([0, 1, 2, 3, 5, 4]), 5)
    """
    by_class = np.argsort(labels, kind="stable")
    _, first, counts = np.unique(labels[by_class], return_index=True, return_counts=True)
    place = np.arange(len(labels)) - np.repeat(first, counts)
    held = np.zeros(len(labels), dtype=bool)
    held[by_class] = place % _HELD_OUT == _HELD_OUT - 1
    return np.argsort(held, kind="stable"), int((~held).sum())


def imagenet(folder: Place | None = None) -> PooledTrainer:
    """Return the trainer for the 5,000 validation images whose features are in the folder of the data."""
    path = data_folder(folder) / "imagenet" / FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {path}; for images of your own: "
            "eigenbandits features make NAME --images FOLDER --weights resnet50.npz"
        )
    return PooledTrainer("imagenet", read_weights(path), str(path))


def from_folder(name: str, images: Place, weights: Place, cache: Place | None, echo: Echo) -> PooledTrainer:
    """Return the trainer for images in class folders; the outputs of the ResNet-50 are computed once and kept.

    The weights are those of a ResNet-50 by torchvision's names, its last layer ``fc`` among them.
    """
    found, given = ClassFolders(images), read_weights(weights)
    trunk = ResNet(50)
    load_weights(trunk, given, str(weights), ignored=("fc.",))
    if "fc.weight" not in given or "fc.bias" not in given:
        raise DataError(f"{weights} has no 'fc.weight' or 'fc.bias'; expected all weights of a ResNet-50.")
    path = cache_folder(cache) / "pooled" / f"{name}.npz"
    key = key_of({"images": found.fingerprint, "weights": fingerprint(given)})
    kept = _kept(path, key)
    if kept is None:
        echo(f"evaluating {len(found):,} images of {len(found.classes):,} classes")
        trunk = trunk.to(device(), memory_format=torch.channels_last).eval()
        kept = {
            "features": np.concatenate([_pooled(trunk, pixels) for pixels in found.blocks()]),
            "labels": found.labels,
            "weight": given["fc.weight"].T,
            "bias": given["fc.bias"],
        }
        save_arrays(path, kept | {"key": np.array(key)})
    return PooledTrainer(name, kept, str(path))


def _pooled(trunk: ResNet, pixels: NDArray[np.uint8]) -> NDArray[np.float16]:
    """Return the outputs of a network for images, in half precision: those of the full ImageNet take 5 GB."""
    return np.asarray(evaluate(trunk, lambda rows: scaled(pixels[rows], trunk), len(pixels)), dtype=np.float16)


def _kept(path: Path, key: str) -> dict[str, NDArray[Any]] | None:
    try:
        found = read_weights(path)
    except (OSError, DataError):
        return None
    return found if str(found.pop("key", "")) == key else None
