"""Weights as plain arrays in .npz files: read into a network, and written whole."""

import hashlib
import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from eigenbandits.lab.errors import DataError
from eigenbandits.papers.lale2019.features.file import save_arrays

Weights = Mapping[str, NDArray[Any]]
# Counts of batches, which no network here uses.
_COUNTS = "num_batches_tracked"


def read_weights(path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of an .npz file by name."""
    try:
        with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file of weights {path}; expected an .npz file of plain arrays.") from None
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} is not an .npz file of plain arrays, or is truncated or damaged.") from error


def convert(source: str | PathLike[str], target: str | PathLike[str]) -> int:
    """Write the weights in a file of `torch.save` as an .npz file, and return how many arrays there are.

    Nothing in the file can run code. If it holds more than weights, its ``state_dict`` is used; the prefix ``module.``
    from training on several GPUs is removed.
    """
    try:
        found = torch.load(source, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {source}; expected weights that torch.save wrote.") from None
    except Exception as error:  # damage makes the readers of zip files and of pickles raise nearly anything
        raise DataError(f"{source} is not a file of weights that torch.save wrote, or is damaged.") from error
    found = found.get("state_dict", found) if isinstance(found, Mapping) else {}
    weights = {str(k).removeprefix("module."): v.numpy() for k, v in found.items() if isinstance(v, torch.Tensor)}
    if not weights:
        raise DataError(f"{source} holds no weights; expected the state_dict of a network.")
    save_arrays(target, weights)
    return len(weights)


def load_weights(module: nn.Module, weights: Weights, source: str, ignored: tuple[str, ...] = ()) -> None:
    """Load weights into a network, refusing any that are missing, superfluous or of another shape.

    `ignored` has prefixes of names that may be superfluous, such as the last layer's, which is replaced.
    """
    wanted = {name: value for name, value in module.state_dict().items() if not name.endswith(_COUNTS)}
    given = {
        name: value
        for name, value in weights.items()
        if not name.endswith(_COUNTS) and not name.startswith(ignored or "\0")
    }
    wrong = sorted(wanted.keys() ^ given.keys())
    if wrong:
        state = "misses" if wrong[0] in wanted else "has"
        raise DataError(f"{source} {state} {wrong[0]!r}; expected the weights of {type(module).__name__}.")
    for name, value in given.items():
        if value.shape != tuple(wanted[name].shape):
            raise DataError(f"{source}: {name} has shape {value.shape}; expected {tuple(wanted[name].shape)}.")
    module.load_state_dict({name: torch.tensor(value) for name, value in given.items()}, strict=False)


def arrays(module: nn.Module) -> dict[str, NDArray[Any]]:
    """Return all weights of a network as arrays by name."""
    found = module.state_dict()
    return {name: value.detach().cpu().numpy() for name, value in found.items() if not name.endswith(_COUNTS)}


def fingerprint(weights: Weights) -> str:
    """Return a hash of names, shapes and numbers, in hexadecimal."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        value = np.ascontiguousarray(weights[name])
        digest.update(f"{name} {value.dtype.str} {value.shape} ".encode())
        digest.update(value.tobytes())
    return digest.hexdigest()
