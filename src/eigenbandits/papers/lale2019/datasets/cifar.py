"""The binary format of CIFAR-10: records of a label and 3,072 bytes, the red, green and blue of 32 × 32 pixels."""

from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenbandits.lab.errors import DataError
from eigenbandits.lab.folders import data_folder
from eigenbandits.papers.lale2019.datasets.images import LabeledImages

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
FOLDER = "cifar-10-batches-bin"
TRAINING = tuple(f"data_batch_{i}.bin" for i in range(1, 6))
TESTING = ("test_batch.bin",)
_SHAPE = (3, 32, 32)
_RECORD = 1 + 3 * 32 * 32
_FETCH = "fetch it with: eigenbandits data fetch cifar10"


def read_cifar(path: str | PathLike[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the pixels (n, 3, 32, 32) and the labels (n,) of one file; raises `DataError` if it is damaged."""
    file = Path(path)
    content = np.fromfile(file, dtype=np.uint8)
    if len(content) == 0 or len(content) % _RECORD:
        raise DataError(
            f"{file} holds {len(content):,} bytes; expected a multiple of {_RECORD:,}, the size of a record: it is "
            f"truncated or is not CIFAR-10 in its binary format; {_FETCH}."
        )
    records = content.reshape(-1, _RECORD)
    if records[:, 0].max() >= len(CLASSES):
        raise DataError(
            f"{file} has a label {records[:, 0].max()}; expected 0 to {len(CLASSES) - 1}: it is damaged or is not "
            f"CIFAR-10 in its binary format; {_FETCH}."
        )
    return records[:, 1:].reshape(-1, *_SHAPE), records[:, 0].astype(np.int64)


def cifar10(folder: str | PathLike[str] | None = None) -> LabeledImages:
    """Return CIFAR-10 from a folder: 50,000 images for training, then 10,000 for testing.

    The folder, by default that of the data, holds ``cifar-10-batches-bin`` or its six files.
    """
    place = cifar10_folder(folder)
    parts = [read_cifar(place / name) for name in (*TRAINING, *TESTING)]
    training = sum(len(labels) for _, labels in parts[: len(TRAINING)])
    pixels, labels = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return LabeledImages(pixels, labels, training, CLASSES)


def cifar10_folder(folder: str | PathLike[str] | None = None) -> Path:
    """Return the folder of the six files of CIFAR-10."""
    root = data_folder(folder)
    for place in (root / FOLDER, root / "cifar10" / FOLDER, root / "cifar10", root):
        if (place / TRAINING[0]).is_file():
            missing = [name for name in (*TRAINING, *TESTING) if not (place / name).is_file()]
            if missing:
                raise FileNotFoundError(f"there is no {missing[0]} in {place}; {_FETCH}")
            return place
    raise FileNotFoundError(f"there is no CIFAR-10 in {root} (no file {FOLDER}/{TRAINING[0]}); {_FETCH} --to {root}")
