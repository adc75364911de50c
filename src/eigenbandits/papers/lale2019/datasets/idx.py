"""IDX, the format of MNIST: four bytes of header, the sizes, and then the numbers; plain or gzipped."""

import gzip
import math
import zlib
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenbandits.lab.errors import DataError
from eigenbandits.lab.folders import data_folder
from eigenbandits.papers.lale2019.datasets.images import LabeledImages

IMAGES, LABELS = "images-idx3-ubyte", "labels-idx1-ubyte"
_FETCH = "fetch it with: eigenbandits data fetch mnist"
_BYTES = 0x08


def read_idx(path: str | PathLike[str]) -> NDArray[np.uint8]:
    """Return the array of unsigned bytes in an IDX file, plain or .gz; raises `DataError` if it is anything else."""
    file = Path(path)
    content = _content(file)
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != _BYTES or content[3] == 0:
        raise DataError(f"{file} is not an IDX file of unsigned bytes; {_FETCH}.")
    axes = content[3]
    start = 4 + 4 * axes
    shape = np.frombuffer(content[4:start], dtype=">u4").astype(int).tolist() if len(content) >= start else []
    if not shape or len(content) != start + math.prod(shape):
        expected = (
            f"its sizes {tuple(shape)} ask for {start + math.prod(shape):,} bytes" if shape else "it has no sizes"
        )
        raise DataError(f"{file} holds {len(content):,} bytes, but {expected}: it is truncated or damaged; {_FETCH}.")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def mnist(folder: str | PathLike[str] | None = None) -> LabeledImages:
    """Return MNIST from a folder: 60,000 images for training, then 10,000 for testing.

    The folder, by default that of the data, holds the four files, or ``mnist`` with the files in it.
    """
    place = mnist_folder(folder)
    pixels, labels = [], []
    for part in ("train", "t10k"):
        pixels.append(_read(place, f"{part}-{IMAGES}", axes=3))
        labels.append(_read(place, f"{part}-{LABELS}", axes=1))
        if len(pixels[-1]) != len(labels[-1]):
            raise DataError(
                f"{place} has {len(pixels[-1]):,} images and {len(labels[-1]):,} labels of the part {part}; {_FETCH}."
            )
    return LabeledImages(
        np.concatenate(pixels)[:, None],
        np.concatenate(labels).astype(np.int64),
        len(labels[0]),
        tuple(map(str, range(10))),
    )


def mnist_folder(folder: str | PathLike[str] | None = None) -> Path:
    """Return the folder of the four files of MNIST."""
    root = data_folder(folder)
    for place in (root / "mnist", root / "MNIST" / "raw", root):
        if find_idx(place, f"train-{IMAGES}") is not None:
            return place
    raise FileNotFoundError(f"there is no MNIST in {root} (no file train-{IMAGES} or .gz); {_FETCH} --to {root}")


def find_idx(folder: Path, name: str) -> Path | None:
    """Return the file of that name, plain or gzipped, or None."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _read(folder: Path, name: str, axes: int) -> NDArray[np.uint8]:
    path = find_idx(folder, name)
    if path is None:
        raise FileNotFoundError(f"there is no {name} or {name}.gz in {folder}; {_FETCH}")
    found = read_idx(path)
    if found.ndim != axes:
        raise DataError(f"{path} has {found.ndim} axes; expected {axes}; {_FETCH}.")
    return found


def _content(path: Path) -> bytes:
    if path.suffix != ".gz":
        return path.read_bytes()
    try:
        with gzip.open(path) as file:
            return file.read()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path} cannot be unpacked: it is truncated or damaged; {_FETCH}.") from error
