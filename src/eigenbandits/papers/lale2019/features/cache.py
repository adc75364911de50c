"""Networks and features in the cache folder, each with a hash of everything it depends on."""

import hashlib
import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from eigenbandits.lab.folders import cache_folder
from eigenbandits.papers.lale2019.features.file import read_header

NETWORKS = {"mnist": "cnn", "cifar10": "resnet56", "imagenet": "resnet50"}


def find(
    data: str,
    dim: int,
    layer: str = "linear",
    network: str | None = None,
    cache: str | PathLike[str] | None = None,
) -> Path:
    """Return the file of features that `eigenbandits features make` wrote to the cache.

    Parameters
    ----------
    data : str
        ``"mnist"``, ``"cifar10"``, ``"imagenet"``, or the name of a folder of images.
    dim : int
        d.
    layer : {"linear", "relu", "product"}
        How the representation layer ends, or the unchanged network as `product`.
    network : str, optional
        The network; by default that of `eigenbandits features make`.
    cache : path, optional
        The cache folder; by default that of EIGENBANDITS_CACHE.

    Raises
    ------
    FileNotFoundError
        If it has not been made; the message names the command.
    """
    path = features_path(feature_name(data, network, dim, layer), cache)
    if not path.is_file():
        raise FileNotFoundError(
            f"there are no features {path}; make them with: "
            f"eigenbandits features make {data} --dim {dim} --layer {layer}"
        )
    return path


def feature_name(data: str, network: str | None, dim: int, layer: str) -> str:
    """Return the name of features.

    Examples
    --------
    >>> feature_name("mnist", None, 100, "relu")
    'mnist-cnn-d100-relu'
    """
    return f"{data}-{network or NETWORKS.get(data, 'resnet50')}-d{dim}-{layer}"


def features_path(name: str, cache: str | PathLike[str] | None = None) -> Path:
    """Return the path of features in the cache."""
    return cache_folder(cache) / "features" / f"{name}.npz"


def key_of(depends_on: Mapping[str, Any]) -> str:
    """Return the hash of everything that a file depends on.

    Examples
    --------
    >>> key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1}) != key_of({"a": 1, "b": 3})
    True
    """
    return hashlib.sha256(json.dumps(depends_on, sort_keys=True).encode()).hexdigest()


def is_made(path: Path, key: str) -> bool:
    """Return whether a complete file of features exists that was made from the same inputs."""
    try:
        return bool(read_header(path)["facts"]["key"] == key)
    except (OSError, ValueError, KeyError):
        return False
