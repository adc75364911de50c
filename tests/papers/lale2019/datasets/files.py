"""Small datasets in their canonical formats, written byte by byte."""

import gzip
import struct

import numpy as np


def idx_bytes(array):
    """IDX as its definition says: two zeros, the code of unsigned bytes, the number of axes, big-endian sizes."""
    return b"\0\0\x08" + bytes([array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write_mnist(folder, *, packed=True, training=5, tests=2):
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for part, count in (("train", training), ("t10k", tests)):
        made[f"{part}-images-idx3-ubyte"] = rng.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        made[f"{part}-labels-idx1-ubyte"] = rng.integers(0, 10, count, dtype=np.uint8)
    for name, array in made.items():
        content = idx_bytes(array)
        (folder / (f"{name}.gz" if packed else name)).write_bytes(gzip.compress(content) if packed else content)
    return made


def write_cifar(folder, images=3):
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for name in [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]:
        made[name] = (rng.integers(0, 10, images), rng.integers(0, 256, (images, 3, 32, 32)))
        records = [bytes([label]) + bytes(image.ravel().tolist()) for label, image in zip(*made[name], strict=True)]
        (folder / name).write_bytes(b"".join(records))
    return made


def write_image(path, color, size):
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, color).save(path)
