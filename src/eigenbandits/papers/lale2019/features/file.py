"""The features of a dataset in one file: the outputs of its network for every image, and the layer on top of them."""

import json
import zipfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike, NDArray

from eigenbandits.features import Product
from eigenbandits.files import open_whole
from eigenbandits.inputs import Array, as_actions, whole

Numbers = NDArray[Any]

FORMAT, VERSION = "eigenbandits-features", 1
# Numbers of segments that are formed at once, 16 MB of float32.
_BLOCK_NUMBERS = 1 << 22
_ORDER_SEED = 0


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


class Features:
    """The outputs of a network for all images of a dataset, and the layer that turns them into decision sets.

    Parameters
    ----------
    layer : Dense or Product
        From hidden features to segments.
    theta : array of shape (d,)
        θ*: the logit of class k is segment k times this vector.
    hidden : array of shape (n, h)
        The inputs of the layer, for each image.
    rows : array of shape (n,)
        The class that the network itself ranks first, which earns 1.
    facts : mapping
        Facts about network and data, as JSON values: their names, accuracies, and ``action_bound``.

    Attributes
    ----------
    examples, classes, dim : int
        n, K and d.
    """

    def __init__(
        self, layer: Layer, theta: NDArray[Any], hidden: NDArray[Any], rows: NDArray[Any], facts: Mapping[str, Any]
    ) -> None:
        self.layer, self.hidden, self.facts = layer, hidden, dict(facts)
        self.theta: Array = np.asarray(theta, dtype=np.float64)
        self.rows = np.asarray(rows, dtype=np.int64)
        self.examples, self.classes, self.dim = len(hidden), layer.classes, layer.dim
        if hidden.shape != (len(rows), layer.inputs) or self.theta.shape != (layer.dim,):
            raise ValueError(
                f"hidden has shape {hidden.shape}, rows {self.rows.shape} and theta {self.theta.shape}; expected "
                f"(n, {layer.inputs}), (n,) and ({layer.dim},)."
            )

    @property
    def block(self) -> int:
        """The number of images that are processed at once."""
        return max(1, _BLOCK_NUMBERS // (self.classes * self.dim))

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """All images in a fixed random order, for evaluations on some of them."""
        return np.random.default_rng(_ORDER_SEED).permutation(self.examples)

    def segments(self, images: ArrayLike) -> Array:
        """Return the decision sets (n, K, d) of images, which are given by their numbers."""
        chosen = np.asarray(self.hidden[np.asarray(images)], dtype=np.float32)
        return np.asarray(self.layer.segments(chosen), dtype=np.float64)

    def accuracy(self, thetas: ArrayLike, images: int | None = None) -> Array:
        """Return for each model the share of images on which it ranks the network's own first choice first.

        Parameters
        ----------
        thetas : array of shape (p, d) or (d,)
            The models. All together take hardly longer than one if the layer ends in a ReLU.
        images : int, optional
            Use only this many images, the same each time; by default all.

        Returns
        -------
        ndarray of shape (p,)
            Shares from 0 to 1.
        """
        models = as_actions(np.atleast_2d(np.asarray(thetas)), None, what="thetas")
        if models.shape[1] != self.dim:
            raise ValueError(f"thetas has models of length {models.shape[1]}; expected {self.dim}.")
        models = models.astype(np.float32)
        right = np.zeros(len(models), dtype=np.int64)
        count = 0
        for hidden, rows in self._blocks(images):
            right += (self.layer.logits(hidden, models).argmax(axis=1) == rows[:, None]).sum(axis=0)
            count += len(rows)
        return np.asarray(right / count, dtype=np.float64)

    def _blocks(self, images: int | None) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
        chosen = None if images is None else np.sort(self.order[: whole(images, "images")])
        for start in range(0, self.examples if chosen is None else len(chosen), self.block):
            part = slice(start, start + self.block) if chosen is None else chosen[start : start + self.block]
            yield np.asarray(self.hidden[part], dtype=np.float32), self.rows[part]


def save_features(path: str | PathLike[str], features: Features) -> None:
    """Write features to a file, whole or not at all."""
    layer = features.layer
    arrays: dict[str, NDArray[Any]] = {"theta": features.theta, "rows": features.rows, "hidden": features.hidden}
    shape: dict[str, Any] = {}
    if isinstance(layer, Dense):
        arrays |= {"weight": layer.weight, "bias": layer.bias}
        shape = {"classes": layer.classes, "relu": layer.relu}
    elif isinstance(layer, Product):
        arrays |= {"items": layer.items, "groups": layer.groups}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "layer": type(layer).__name__,
        "shape": shape,
        "facts": features.facts,
    }
    text = np.frombuffer(json.dumps(header, sort_keys=True).encode(), dtype=np.uint8)
    save_arrays(path, {"header": text} | arrays)


def save_arrays(path: str | PathLike[str], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to an .npz file, whole or not at all; creates its folder."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open_whole(path) as file:
        np.savez(file, allow_pickle=False, **arrays)


def open_features(path: str | PathLike[str]) -> Features:
    """Return the features in a file; those of the images are mapped from disk and shared between processes.

    Raises
    ------
    ValueError
        If the file holds no features, or is truncated or damaged.
    FileNotFoundError
        If there is no such file.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file of features {file}; make it with: eigenbandits features make")
    header = read_header(file)
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files if name not in ("header", "hidden")}
        layer: Layer
        if header["layer"] == "Dense":
            layer = Dense(arrays["weight"], arrays["bias"], **header["shape"])
        else:
            layer = Product.grouped(arrays["items"], arrays["groups"])
        return Features(layer, arrays["theta"], _mapped(file, "hidden"), arrays["rows"], header["facts"])
    except Exception as error:  # damage makes the readers of zip files and of arrays raise nearly anything
        raise ValueError(_damaged(file)) from error


def read_header(path: Path) -> dict[str, Any]:
    """Return the header of a file of features, without reading the features."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            header: dict[str, Any] = json.loads(archive["header"].tobytes())
        if header["format"] != FORMAT:
            raise KeyError(header["format"])
        version = int(header["version"])
    except FileNotFoundError:
        raise
    except Exception as error:  # see above
        raise ValueError(_damaged(path)) from error
    if version > VERSION:
        raise ValueError(f"{path} has format version {version}; this eigenbandits reads up to {VERSION}. Upgrade it.")
    return header


def _damaged(path: Path) -> str:
    return f"{path} is not a file of features, or is truncated or damaged; delete it and make it again."


def _mapped(path: Path, name: str) -> NDArray[Any]:
    """Map one array of an uncompressed .npz file from disk."""
    with zipfile.ZipFile(path) as archive:
        entry = archive.getinfo(f"{name}.npy")
        if entry.compress_type != zipfile.ZIP_STORED:
            raise ValueError("compressed")
        with archive.open(entry) as inside:
            version = npy.read_magic(inside)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, kind = read(inside)
            skipped = inside.tell()
    with path.open("rb") as file:
        # The header in front of the content repeats the name, and may be longer than the one in the directory.
        file.seek(entry.header_offset + 26)
        lengths = np.frombuffer(file.read(4), dtype="<u2").astype(int)
    start = entry.header_offset + 30 + int(lengths.sum()) + skipped
    return np.memmap(path, kind, "r", start, shape, "F" if fortran else "C")
