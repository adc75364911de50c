"""Images in class folders: every folder is a class, every image file in it an example."""

import hashlib
from collections.abc import Iterator
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenbandits.extras import need
from eigenbandits.inputs import whole
from eigenbandits.lab.errors import DataError

SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
# As networks trained on ImageNet expect: the shorter side is resized to 256/224 of the size, and the center is cropped.
_MARGIN = 256 / 224


class ClassFolders:
    """The images in the folders of a folder, one folder for each class, read a block at a time.

    Classes are numbered in the order of their names. The shorter side of an image is resized to 8/7 of `size` and the
    center is cropped; images that already have this size are used as they are.
    """

    def __init__(self, folder: str | PathLike[str], size: int = 224) -> None:
        root = Path(folder)
        self.size = whole(size, "size")
        if not root.is_dir():
            raise FileNotFoundError(f"there is no folder {root}; expected one that holds a folder for each class.")
        places = sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))
        found = [[file for file in sorted(place.iterdir()) if file.suffix.lower() in SUFFIXES] for place in places]
        if not any(found):
            raise DataError(f"{root} has no images in folders; expected one folder for each class, with images in it.")
        empty = [place.name for place, files in zip(places, found, strict=True) if not files]
        if empty:
            raise DataError(f"the class folder {root / empty[0]} holds no images; add some or remove it.")
        self.classes = tuple(place.name for place in places)
        self.files = tuple(file for files in found for file in files)
        self.labels = np.repeat(np.arange(len(places)), [len(files) for files in found])

    def __len__(self) -> int:
        return len(self.files)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content of all files, in hexadecimal."""
        digest = hashlib.sha256(f"{self.size} {len(self)} {len(self.classes)}".encode())
        for label, file in zip(self.labels, self.files, strict=True):
            digest.update(f" {label} {hashlib.sha256(file.read_bytes()).hexdigest()}".encode())
        return digest.hexdigest()

    def blocks(self, images: int = 64) -> Iterator[NDArray[np.uint8]]:
        """Yield the pixels (n, 3, size, size) of all images, `images` of them at a time."""
        for start in range(0, len(self), images):
            yield np.stack([self.read(file) for file in self.files[start : start + images]])

    def read(self, file: Path) -> NDArray[np.uint8]:
        """Return the pixels (3, size, size) of one image file."""
        need("images", "PIL", what="Reading image files")
        from PIL import Image

        try:
            with Image.open(file) as opened:
                image = opened.convert("RGB")
        except FileNotFoundError:
            raise FileNotFoundError(f"the image {file} no longer exists.") from None
        except (OSError, SyntaxError, ValueError) as error:
            raise DataError(f"{file} cannot be read as an image: it is damaged or truncated; remove it.") from error
        if image.size != (self.size, self.size):
            scale = self.size * _MARGIN / min(image.size)
            image = image.resize(
                [max(self.size, round(side * scale)) for side in image.size], Image.Resampling.BILINEAR
            )
            left, top = ((side - self.size) // 2 for side in image.size)
            image = image.crop((left, top, left + self.size, top + self.size))
        return np.asarray(image).transpose(2, 0, 1)
