"""Readers of IDX, CIFAR-10 and class folders: on small files written byte by byte, and on the real ones."""

import gzip
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from tests.papers.lale2019.datasets.files import idx_bytes, write_cifar, write_image, write_mnist

from eigenbandits.lab.errors import DataError
from eigenbandits.lab.folders import cache_folder, data_folder
from eigenbandits.papers.lale2019.datasets import ClassFolders, cifar10, mnist
from eigenbandits.papers.lale2019.datasets.cifar import read_cifar
from eigenbandits.papers.lale2019.datasets.idx import read_idx

REAL = os.environ.get("EIGENBANDITS_DATA")
real_data = pytest.mark.skipif(
    not REAL, reason="real images are not there; fetch them and set EIGENBANDITS_DATA to their folder"
)


@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 3, 5)])
@pytest.mark.parametrize("packed", [False, True])
def test_idx_gives_back_what_was_written(tmp_path, shape, packed):
    array = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    path = tmp_path / ("file.gz" if packed else "file")
    path.write_bytes(gzip.compress(idx_bytes(array)) if packed else idx_bytes(array))
    np.testing.assert_array_equal(read_idx(path), array)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not an IDX file"),
        (b"\x89PNG\r\n\x1a\n", "is not an IDX file"),
        (b"\0\0\x0d\x01" + struct.pack(">I", 1) + b"\0\0\0\0", "is not an IDX file of unsigned bytes"),
        (b"\0\0\x08\x03\0\0", "it has no sizes"),
        (idx_bytes(np.zeros((4, 5), np.uint8))[:-1], r"holds 31 bytes, but its sizes \(4, 5\) ask for 32"),
        (idx_bytes(np.zeros((4, 5), np.uint8)) + b"\0", r"holds 33 bytes, but its sizes \(4, 5\) ask for 32"),
    ],
)
def test_what_is_not_idx_is_refused_in_a_sentence(tmp_path, content, sentence):
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(content)
    with pytest.raises(DataError, match=sentence) as caught:
        read_idx(path)
    assert "eigenbandits data fetch mnist" in str(caught.value)


@pytest.mark.parametrize("damage", [lambda packed: packed[:-9], lambda packed: b"no gzip", lambda packed: packed[:30]])
def test_a_damaged_gzip_is_refused_in_a_sentence(tmp_path, damage):
    path = tmp_path / "labels.gz"
    path.write_bytes(damage(gzip.compress(idx_bytes(np.arange(200, dtype=np.uint8)))))
    with pytest.raises(DataError, match=r"labels.gz cannot be unpacked: it is truncated or damaged"):
        read_idx(path)


@pytest.mark.parametrize("place", ["", "mnist", "MNIST/raw"])
@pytest.mark.parametrize("packed", [False, True])
def test_mnist_is_found_where_people_keep_it(tmp_path, place, packed):
    made = write_mnist(tmp_path / place, packed=packed)
    found = mnist(tmp_path)
    assert (len(found), found.training, found.pixels.shape) == (7, 5, (7, 1, 28, 28))
    np.testing.assert_array_equal(found.pixels[:5, 0], made["train-images-idx3-ubyte"])
    np.testing.assert_array_equal(found.pixels[5:, 0], made["t10k-images-idx3-ubyte"])
    np.testing.assert_array_equal(
        found.labels, [*made["train-labels-idx1-ubyte"].tolist(), *made["t10k-labels-idx1-ubyte"].tolist()]
    )


def test_mnist_says_what_is_missing_or_does_not_fit(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"there is no MNIST in .*; fetch it with: eigenbandits data fetch mnist"
    ):
        mnist(tmp_path)
    write_mnist(tmp_path)
    labels = tmp_path / "t10k-labels-idx1-ubyte.gz"
    labels.write_bytes(gzip.compress(idx_bytes(np.zeros(3, np.uint8))))
    with pytest.raises(DataError, match="has 2 images and 3 labels of the part t10k"):
        mnist(tmp_path)
    labels.write_bytes(gzip.compress(idx_bytes(np.zeros((2, 2), np.uint8))))
    with pytest.raises(DataError, match="has 2 axes; expected 1"):
        mnist(tmp_path)
    labels.unlink()
    with pytest.raises(FileNotFoundError, match=r"there is no t10k-labels-idx1-ubyte or t10k-labels-idx1-ubyte\.gz"):
        mnist(tmp_path)


@pytest.mark.parametrize("place", ["", "cifar-10-batches-bin", "cifar10", "cifar10/cifar-10-batches-bin"])
def test_cifar_gives_back_what_was_written(tmp_path, place):
    made = write_cifar(tmp_path / place)
    found = cifar10(tmp_path)
    assert (len(found), found.training, found.pixels.shape) == (18, 15, (18, 3, 32, 32))
    for number, (labels, images) in enumerate(made.values()):
        np.testing.assert_array_equal(found.labels[3 * number : 3 * number + 3], labels)
        np.testing.assert_array_equal(found.pixels[3 * number : 3 * number + 3], images)


def test_cifar_says_what_is_missing_or_damaged(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"there is no CIFAR-10 in .*; fetch it with: eigenbandits data fetch cif"
    ):
        cifar10(tmp_path)
    write_cifar(tmp_path)
    path = tmp_path / "data_batch_3.bin"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(DataError, match=r"data_batch_3.bin holds 9,218 bytes; expected a multiple of 3,073"):
        cifar10(tmp_path)
    path.write_bytes(b"")
    with pytest.raises(DataError, match="holds 0 bytes"):
        read_cifar(path)
    path.write_bytes(b"\x0a" + whole[1:])
    with pytest.raises(DataError, match="has a label 10; expected 0 to 9"):
        cifar10(tmp_path)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"there is no data_batch_3\.bin"):
        cifar10(tmp_path)


def test_the_fingerprint_is_of_the_content(tmp_path):
    write_cifar(tmp_path)
    first = cifar10(tmp_path).fingerprint
    assert cifar10(tmp_path).fingerprint == first
    path = tmp_path / "test_batch.bin"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert cifar10(tmp_path).fingerprint != first


@pytest.fixture
def class_folders(tmp_path):
    pytest.importorskip("PIL", reason='Pillow is not installed; run: pip install "eigenbandits[images]"')
    write_image(tmp_path / "zebra" / "one.png", (10, 20, 30), (8, 8))
    write_image(tmp_path / "ant" / "two.PNG", (40, 50, 60), (20, 10))
    write_image(tmp_path / "ant" / "one.bmp", (70, 80, 90), (5, 30))
    (tmp_path / "ant" / "notes.txt").write_text("no image")
    (tmp_path / ".hidden").mkdir()
    return tmp_path


def test_class_folders_are_classes_by_name(class_folders):
    found = ClassFolders(class_folders, size=8)
    assert found.classes == ("ant", "zebra")
    assert [file.name for file in found.files] == ["one.bmp", "two.PNG", "one.png"]
    assert found.labels.tolist() == [0, 0, 1]
    pixels = np.concatenate(list(found.blocks(images=2)))
    # Each image has one color: whatever is scaled or cut, the color of its channels stays.
    assert pixels.shape == (3, 3, 8, 8)
    for image, color in zip(pixels, [(70, 80, 90), (40, 50, 60), (10, 20, 30)], strict=True):
        assert image.min(axis=(1, 2)).tolist() == image.max(axis=(1, 2)).tolist() == list(color)


def test_the_centre_is_cut_out(tmp_path):
    """Scaled to 8/7 of 7 pixels, a 16 × 8 image stays as it is; the centre starts at column 4 and row 0."""
    image_module = pytest.importorskip("PIL.Image")
    columns = np.repeat(np.arange(16, dtype=np.uint8)[None, :], 8, axis=0)
    (tmp_path / "class").mkdir()
    image_module.fromarray(np.stack([columns] * 3, axis=2)).save(tmp_path / "class" / "a.png")
    found = ClassFolders(tmp_path, size=7)
    assert found.read(found.files[0])[0, 0].tolist() == [4, 5, 6, 7, 8, 9, 10]


def test_class_folders_say_what_is_wrong(class_folders, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        ClassFolders(tmp_path / "nowhere")
    with pytest.raises(DataError, match="has no images in folders"):
        ClassFolders(class_folders / "ant")
    (class_folders / "bee").mkdir()
    with pytest.raises(DataError, match=r"the class folder .*bee holds no images"):
        ClassFolders(class_folders)
    whole = (class_folders / "zebra" / "one.png").read_bytes()
    (class_folders / "bee" / "cut.png").write_bytes(whole[: len(whole) // 2])
    found = ClassFolders(class_folders, size=8)
    with pytest.raises(DataError, match=r"cut\.png cannot be read as an image: it is damaged or truncated"):
        list(found.blocks())


def test_the_fingerprint_of_folders_is_of_content_and_classes(class_folders):
    first = ClassFolders(class_folders).fingerprint
    assert ClassFolders(class_folders).fingerprint == first != ClassFolders(class_folders, size=32).fingerprint
    (class_folders / "ant" / "two.PNG").rename(class_folders / "zebra" / "two.PNG")
    assert ClassFolders(class_folders).fingerprint != first


def test_places(monkeypatch, tmp_path):
    for name in ("EIGENBANDITS_DATA", "EIGENBANDITS_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "eigenbandits"
    assert data_folder() == tmp_path / "eigenbandits" / "data"
    monkeypatch.setenv("EIGENBANDITS_CACHE", str(tmp_path / "kept"))
    assert data_folder() == tmp_path / "kept" / "data"
    monkeypatch.setenv("EIGENBANDITS_DATA", "~/images")
    assert data_folder() == Path.home() / "images"
    assert data_folder("here") == Path("here")


@real_data
def test_the_real_mnist_is_whole():
    try:
        found = mnist()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    assert (len(found), found.training, found.pixels.shape[1:]) == (70_000, 60_000, (1, 28, 28))
    # Counts of the digits 0 to 9 among the 60,000, as published with the data.
    counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(found.labels[:60_000]).tolist() == counts
    assert found.pixels[:60_000].mean() / 255.0 == pytest.approx(0.1307, abs=5e-5)


@real_data
def test_the_real_cifar_is_whole():
    try:
        found = cifar10()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    assert (len(found), found.training) == (60_000, 50_000)
    assert np.bincount(found.labels[:50_000]).tolist() == [5000] * 10
    assert np.bincount(found.labels[50_000:]).tolist() == [1000] * 10
    # The mean of each channel that everyone who trains on it uses.
    means = found.pixels[:50_000].mean(axis=(0, 2, 3)) / 255.0
    np.testing.assert_allclose(means, [0.4914, 0.4822, 0.4465], atol=1e-4)


@real_data
def test_a_real_folder_of_images_in_class_folders():
    pytest.importorskip("PIL", reason='Pillow is not installed; run: pip install "eigenbandits[images]"')
    folder = data_folder() / "imagenet" / "val-1000"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}; put images in class folders there")
    found = ClassFolders(folder)
    assert len(found.classes) == 1000
    assert found.labels.tolist() == list(range(1000))
    block = next(found.blocks(images=4))
    assert block.shape == (4, 3, 224, 224)
    # Photographs: neither black nor one color.
    assert (block.reshape(4, -1).std(axis=1) > 10).all()
