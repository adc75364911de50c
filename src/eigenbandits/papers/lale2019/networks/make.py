"""From raw files to features in the cache: existing files are kept, missing ones are made."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from eigenbandits.lab.errors import DataError
from eigenbandits.lab.folders import cache_folder
from eigenbandits.papers.lale2019.features.cache import feature_name, features_path, is_made, key_of
from eigenbandits.papers.lale2019.features.file import VERSION, Features, save_arrays, save_features
from eigenbandits.papers.lale2019.networks.large_images import PooledTrainer, from_folder, imagenet
from eigenbandits.papers.lale2019.networks.small_images import Cifar10, Cifar10ResNet18, Mnist
from eigenbandits.papers.lale2019.networks.summary import summarize
from eigenbandits.papers.lale2019.networks.trainer import Trainer
from eigenbandits.papers.lale2019.networks.training import Echo
from eigenbandits.papers.lale2019.networks.weights import arrays

Place = str | PathLike[str]


@dataclass(frozen=True)
class FeatureRequest:
    """Which features to make; without a network or epochs, with the defaults.

    `data` is ``"mnist"``, ``"cifar10"``, ``"imagenet"``, or a name for a folder of images; `network` is ``"resnet18"``
    for CIFAR-10 as in the paper.
    """

    data: str
    network: str | None = None
    images: Place | None = None
    weights: Place | None = None
    folder: Place | None = None
    cache: Place | None = None
    epochs: int | None = None

    def trainer(self, echo: Echo) -> Trainer:
        """Return the trainer, with its images loaded."""
        found = self._trainer(echo)
        if self.network not in (None, found.network):
            raise DataError(f"network is {self.network!r}; expected {found.network!r} for {self.data}.")
        found.with_epochs(self.epochs)
        return found

    def _trainer(self, echo: Echo) -> Trainer:
        if self.images is not None:
            if self.weights is None:
                raise DataError("a folder of images needs --weights, the weights of a pre-trained ResNet-50 in .npz.")
            return from_folder(self.data, self.images, self.weights, self.cache, echo)
        if self.data == "mnist":
            return Mnist(self.folder)
        if self.data == "cifar10":
            return (Cifar10ResNet18 if self.network == "resnet18" else Cifar10)(self.folder, self.weights)
        if self.data == "imagenet":
            return imagenet(self.folder)
        raise DataError(f"data is {self.data!r}; expected mnist, cifar10, imagenet, or --images with a folder.")


def make(trainer: Trainer, dim: int, layer: str, cache: Place | None, echo: Echo) -> tuple[Path, bool]:
    """Make one file of features, unless it exists, and return its path and whether it was made now."""
    if layer not in trainer.layers:
        raise DataError(f"layer is {layer!r}; expected one of {', '.join(trainer.layers)} for {trainer.data}.")
    name = feature_name(trainer.data, trainer.network, dim, layer)
    path = features_path(name, cache)
    key = key_of(trainer.settings() | {"dim": dim, "layer": layer, "format": VERSION})
    if is_made(path, key):
        return path, False
    facts = {"key": key, "data": trainer.data, "network": trainer.network, "dim": dim, "layer": layer}
    save_features(path, _computed(trainer, name, dim, layer, facts, cache, echo))
    return path, True


def make_all(
    trainer: Trainer, dims: Sequence[int] | None, layers: Sequence[str] | None, cache: Place | None, echo: Echo
) -> list[Path]:
    """Make the features of several d and layers, by default all of the trainer's."""
    found = []
    for dim in dims or trainer.dims:
        for layer in layers or trainer.layers:
            name = feature_name(trainer.data, trainer.network, dim, layer)
            path, new = make(trainer, dim, layer, cache, lambda line, name=name: echo(f"{name}: {line}"))  # type: ignore[misc]
            echo(f"{name}: {'made' if new else 'exists'}, {path.stat().st_size / 1e6:.0f} MB")
            found.append(path)
    return found


def _computed(
    trainer: Trainer, name: str, dim: int, layer: str, facts: dict[str, object], cache: Place | None, echo: Echo
) -> Features:
    if layer == "product":
        assert isinstance(trainer, PooledTrainer)  # no other trainer names this layer
        product, queries = trainer.product(dim)
        labels = trainer.labels if trainer.classes == product.classes else None
        return summarize(product, np.ones(dim), queries, labels, 0, facts)
    trained = trainer.train(dim, layer == "relu", echo)
    save_arrays(cache_folder(cache) / "networks" / f"{name}.npz", arrays(trained.network))
    return summarize(trained.layer(), trained.theta(), trained.hidden, trainer.labels, trainer.training, facts)
