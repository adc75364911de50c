"""From a trained representation layer to features: one scale, the network's own choices, and facts about them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.features import Product
from eigenbandits.inputs import Array
from eigenbandits.papers.lale2019.features.file import Dense, Features, Layer

# Images whose segments make up the second moment.
_MOMENT_IMAGES = 2000
# A bound must also hold for segments that are formed in blocks of a different size.
_ABOVE_ROUNDING = 1.0 + 1e-6


def summarize(
    layer: Dense | Product,
    theta: NDArray[Any],
    hidden: NDArray[np.float32],
    labels: NDArray[np.int64] | None,
    training: int,
    facts: Mapping[str, Any],
) -> Features:
    """Return features with segments of root mean square norm 1, and unchanged logits.

    The first `training` images are those that the network was trained on; `labels` is None if it has other classes.
    """
    models = np.asarray(theta, dtype=np.float32)[None]
    rough = Features(layer, theta, hidden, np.zeros(len(hidden), dtype=np.int64), {})
    squares, largest = 0.0, 0.0
    rows = np.empty(len(hidden), dtype=np.int64)
    for start in range(0, len(hidden), rough.block):
        part = slice(start, start + rough.block)
        segments = layer.segments(hidden[part])
        norms = np.einsum("nkd,nkd->nk", segments, segments)
        squares += float(norms.sum(dtype=np.float64))
        largest = max(largest, float(norms.max()))
        rows[part] = layer.logits(hidden[part], models)[:, :, 0].argmax(axis=1)
    size = float(np.sqrt(squares / (len(hidden) * layer.classes)))
    known = dict(facts) | {
        "action_bound": float(np.sqrt(largest)) / size * _ABOVE_ROUNDING,
        "train_accuracy": _share(rows[:training], None if labels is None else labels[:training]),
        "test_accuracy": _share(rows[training:], None if labels is None else labels[training:]),
        "training_images": training,
        "scale": size,
    }
    made = Features(_divided(layer, size), np.asarray(theta, dtype=np.float64) * size, hidden, rows, known)
    made.facts.update(_cosines(made))
    return made


def _share(rows: NDArray[np.int64], labels: NDArray[np.int64] | None) -> float | None:
    return None if labels is None or len(labels) == 0 else float((rows == labels).mean())


def _divided(layer: Dense | Product, size: float) -> Layer:
    """Return the layer with segments divided by a positive number, which a ReLU allows."""
    factor = np.float32(1.0 / size)
    if isinstance(layer, Product):
        return Product.grouped(layer.items * factor, layer.groups)
    return Dense(layer.weight * factor, layer.bias * factor, layer.classes, layer.relu)


def _cosines(features: Features) -> dict[str, float]:
    """Return the cosine of θ* with the top eigenvector of the actions' second moment, raw and centered by set."""
    images = np.sort(features.order[:_MOMENT_IMAGES])
    raw = np.zeros((features.dim, features.dim))
    centered = np.zeros_like(raw)
    for start in range(0, len(images), features.block):
        segments = features.layer.segments(np.asarray(features.hidden[images[start : start + features.block]]))
        by_set = segments - segments.mean(axis=1, keepdims=True)
        for moment, actions in ((raw, segments), (centered, by_set)):
            rows = actions.reshape(-1, features.dim)
            moment += rows.T @ rows
    return {"cosine_raw": _cosine(raw, features.theta), "cosine_centred": _cosine(centered, features.theta)}


def _cosine(moment: Array, theta: Array) -> float:
    return abs(float(np.linalg.eigh(moment)[1][:, -1] @ theta)) / float(np.linalg.norm(theta))
