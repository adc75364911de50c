"""The status of the datasets in the folder of the data: which exist, and whether they are complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path

from eigenbandits.lab.downloads import Source, is_right
from eigenbandits.lab.folders import data_folder
from eigenbandits.papers.lale2019.datasets.cifar import cifar10_folder
from eigenbandits.papers.lale2019.datasets.idx import mnist_folder
from eigenbandits.papers.lale2019.datasets.sources import CIFAR10, MNIST

# Files that no command fetches, used if they exist.
_OTHERS = {
    "ResNet-56 for CIFAR-10": "cifar10/resnet56.npz",
    "ResNet-50 features of ImageNet": "imagenet/resnet50-val-5000.npz",
}


def states(data: str | PathLike[str] | None) -> Iterator[str]:
    """Yield a line about each dataset."""
    root = data_folder(data)
    yield f"Data in {root}:"
    places: tuple[tuple[Source, Callable[[Path], Path]], ...] = ((MNIST, mnist_folder), (CIFAR10, cifar10_folder))
    for source, find in places:
        yield f"  {source.title}: {_state(source, find, root)}"
    for title, name in _OTHERS.items():
        path = root / name
        state = f"{path.stat().st_size / 1e6:.1f} MB in {path}" if path.is_file() else f"missing (no {path})"
        yield f"  {title}: {state}"


def _state(source: Source, find: Callable[[Path], Path], root: Path) -> str:
    try:
        folder = find(root)
    except FileNotFoundError:
        return f"missing; fetch {source.size / 1e6:.0f} MB with: eigenbandits data fetch {source.name} --to {root}"
    wrong = [name for name in source.files if not is_right(folder, name, source)]
    if wrong:
        return f"{', '.join(wrong)} in {folder} missing or damaged; run: eigenbandits data fetch {source.name}"
    return f"complete, in {folder}; all checksums match"
