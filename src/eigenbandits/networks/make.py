"""From raw files to features in the cache: what is there is left alone, what is missing is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from eigenbandits.datasets.base import DataError
from eigenbandits.datasets.places import cache_folder
from eigenbandits.features.cache import feature_name, features_path, is_made, key_of
from eigenbandits.features.file import VERSION, Features, save_arrays, save_features
from eigenbandits.networks.large_images import Pooled, from_folder, imagenet
from eigenbandits.networks.recipe import Recipe
from eigenbandits.networks.small_images import Cifar10, Cifar10ResNet18, Mnist
from eigenbandits.networks.summary import summarise
from eigenbandits.networks.training import Tell
from eigenbandits.networks.weights import arrays

Place = str | PathLike[str]


@dataclass(frozen=True)
class Wish:
    """What features are wanted.

    Attributes
    ----------
    data : str
        ``"mnist"``, ``"cifar10"``, ``"imagenet"``, or a name for a folder of images.
    network : str, optional
        ``"resnet18"`` for CIFAR-10 as in the paper; the usual one otherwise.
    images, weights : path, optional
        The folder of images, and the file of pre-trained weights.
    folder, cache : path, optional
        The folders of the data and of what is computed.
    epochs : int, optional
        How long to train; what the recipe says unless told.
    """

    data: str
    network: str | None = None
    images: Place | None = None
    weights: Place | None = None
    folder: Place | None = None
    cache: Place | None = None
    epochs: int | None = None

    def recipe(self, tell: Tell) -> Recipe:
        """Return the recipe, its images read."""
        found = self._recipe(tell)
        if self.network not in (None, found.network):
            raise DataError(f"network is {self.network!r}; expected {found.network!r} for {self.data}.")
        found.with_epochs(self.epochs)
        return found

    def _recipe(self, tell: Tell) -> Recipe:
        if self.images is not None:
            if self.weights is None:
                raise DataError("a folder of images needs --weights, the weights of a pre-trained ResNet-50 in .npz.")
            return from_folder(self.data, self.images, self.weights, self.cache, tell)
        if self.data == "mnist":
            return Mnist(self.folder)
        if self.data == "cifar10":
            return (Cifar10ResNet18 if self.network == "resnet18" else Cifar10)(self.folder, self.weights)
        if self.data == "imagenet":
            return imagenet(self.folder)
        raise DataError(f"data is {self.data!r}; expected mnist, cifar10, imagenet, or --images with a folder.")


def make(recipe: Recipe, dim: int, layer: str, cache: Place | None, tell: Tell) -> tuple[Path, bool]:
    """Make one file of features, unless it is there.

    Parameters
    ----------
    recipe
        For which images.
    dim
        d.
    layer
        ``"linear"``, ``"relu"`` or, for a network left as it is, ``"product"``.
    cache
        The cache folder.
    tell
        Is told what is done.

    Returns
    -------
    (Path, bool)
        Where it lies, and whether it was made now.
    """
    if layer not in recipe.layers:
        raise DataError(f"layer is {layer!r}; expected one of {', '.join(recipe.layers)} for {recipe.data}.")
    name = feature_name(recipe.data, recipe.network, dim, layer)
    path = features_path(name, cache)
    key = key_of(recipe.settings() | {"dim": dim, "layer": layer, "format": VERSION})
    if is_made(path, key):
        return path, False
    facts = {"key": key, "data": recipe.data, "network": recipe.network, "dim": dim, "layer": layer}
    save_features(path, _computed(recipe, name, dim, layer, facts, cache, tell))
    return path, True


def make_all(
    recipe: Recipe, dims: Sequence[int] | None, layers: Sequence[str] | None, cache: Place | None, tell: Tell
) -> list[Path]:
    """Make the features of several d and layers, all that the recipe names unless told; say what is done."""
    found = []
    for dim in dims or recipe.dims:
        for layer in layers or recipe.layers:
            name = feature_name(recipe.data, recipe.network, dim, layer)
            path, new = make(recipe, dim, layer, cache, lambda line, name=name: tell(f"{name}: {line}"))  # type: ignore[misc]
            tell(f"{name}: {'made' if new else 'was there'}, {path.stat().st_size / 1e6:.0f} MB")
            found.append(path)
    return found


def _computed(
    recipe: Recipe, name: str, dim: int, layer: str, facts: dict[str, object], cache: Place | None, tell: Tell
) -> Features:
    if layer == "product":
        assert isinstance(recipe, Pooled)  # no other recipe names this layer
        product, queries = recipe.product(dim)
        labels = recipe.labels if recipe.classes == product.classes else None
        return summarise(product, np.ones(dim), queries, labels, 0, facts)
    trained = recipe.train(dim, layer == "relu", tell)
    save_arrays(cache_folder(cache) / "networks" / f"{name}.npz", arrays(trained.network))
    return summarise(trained.layer(), trained.theta(), trained.hidden, recipe.labels, recipe.training, facts)
