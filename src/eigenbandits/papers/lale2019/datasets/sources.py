"""The public image datasets: where they are fetched from, their checksums, and which of them are there."""

from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path

from eigenbandits.lab.downloads import PackedFile, Source, is_right
from eigenbandits.lab.errors import DataError
from eigenbandits.lab.folders import data_folder
from eigenbandits.papers.lale2019.datasets.cifar import cifar10_folder
from eigenbandits.papers.lale2019.datasets.idx import mnist_folder

MNIST = Source(
    "mnist",
    "MNIST",
    "mnist",
    ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"),
    (
        PackedFile("train-images-idx3-ubyte.gz", 9_912_422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        PackedFile("train-labels-idx1-ubyte.gz", 28_881, "d53e105ee54ea40749a09fcbcd1e9432"),
        PackedFile("t10k-images-idx3-ubyte.gz", 1_648_877, "9fb629c4189551a2d022fa330f9573f3"),
        PackedFile("t10k-labels-idx1-ubyte.gz", 4_542, "ec29112dd5afa0611ce80d1b7f02629c"),
    ),
    {
        "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
        "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
        "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
        "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
    },
)

CIFAR10 = Source(
    "cifar10",
    "CIFAR-10",
    "cifar-10-batches-bin",
    ("https://www.cs.toronto.edu/~kriz/",),
    (PackedFile("cifar-10-binary.tar.gz", 170_052_171, "c32a1d4ab5d03f1284b67883e8d87530"),),
    {
        "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
        "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
        "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
        "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
        "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
        "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
    },
)

SOURCES = {source.name: source for source in (MNIST, CIFAR10)}


def known(name: str, others: Iterable[str] = ()) -> Source:
    """Return a dataset by its name; `others` are further names for the error message."""
    if name not in SOURCES:
        raise DataError(f"there is no dataset {name!r} to fetch; expected one of {', '.join([*SOURCES, *others])}.")
    return SOURCES[name]


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
