"""Train the two networks of `eigenbandits.environments.Digits` and write their weights into the package.

Cross entropy, Adam, NumPy alone; some seconds each. Run it with: python scripts/train_digits.py
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenbandits.environments.digits.network import CLASSES, DIM, TEST_IMAGES, Network, load_images
from eigenbandits.files import write_whole

Array = NDArray[np.float64]
FOLDER = Path(__file__).parents[1] / "src" / "eigenbandits" / "environments" / "digits"
HIDDEN, BOTTLENECK = 128, 32
EPOCHS, BATCH, RATE, DECAY = 60, 64, 1e-3, 1e-4
FADE, FADE_SQUARES, TINY = 0.9, 0.999, 1e-8


def start(rng: np.random.Generator, pixels: int) -> dict[str, Array]:
    """Return weights as PyTorch starts linear layers: uniform on ±1/√inputs, biases too."""

    def uniform(inputs: int, *shape: int) -> Array:
        return rng.uniform(-(inputs**-0.5), inputs**-0.5, shape)

    return {
        "w1": uniform(pixels, pixels, HIDDEN),
        "b1": uniform(pixels, HIDDEN),
        "w2": uniform(HIDDEN, HIDDEN, HIDDEN),
        "b2": uniform(HIDDEN, HIDDEN),
        "bottleneck": uniform(HIDDEN, HIDDEN, BOTTLENECK),
        "w3": uniform(BOTTLENECK, BOTTLENECK, CLASSES * DIM),
        "b3": uniform(BOTTLENECK, CLASSES * DIM),
        "theta": uniform(DIM, DIM),
    }


def gradients(weights: dict[str, Array], relu: bool, pixels: Array, digits: NDArray[np.int64]) -> dict[str, Array]:
    """Return the gradient of the mean cross entropy, by the chain rule."""
    w = weights
    h1 = np.maximum(pixels @ w["w1"] + w["b1"], 0.0)
    h2 = np.maximum(h1 @ w["w2"] + w["b2"], 0.0)
    narrow = h2 @ w["bottleneck"]
    outputs = narrow @ w["w3"] + w["b3"]
    shown = np.maximum(outputs, 0.0) if relu else outputs
    segments = shown.reshape(len(pixels), CLASSES, DIM)
    logits = segments @ w["theta"]
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    off = (chances - np.eye(CLASSES)[digits]) / len(pixels)
    found = {"theta": np.einsum("nk,nkd->d", off, segments)}
    back = (off[:, :, None] * w["theta"]).reshape(outputs.shape)
    if relu:
        back = back * (outputs > 0.0)
    found |= {"w3": narrow.T @ back, "b3": back.sum(axis=0)}
    back = back @ w["w3"].T
    found["bottleneck"] = h2.T @ back
    back = (back @ w["bottleneck"].T) * (h2 > 0.0)
    found |= {"w2": h1.T @ back, "b2": back.sum(axis=0)}
    back = (back @ w["w2"].T) * (h1 > 0.0)
    return found | {"w1": pixels.T @ back, "b1": back.sum(axis=0)}


def train(relu: bool, seed: int = 0) -> Network:
    """Return a trained network."""
    rng = np.random.default_rng(seed)
    pixels, digits = load_images()
    pixels, digits = pixels[:-TEST_IMAGES], digits[:-TEST_IMAGES]
    weights = start(rng, pixels.shape[1])
    first = {name: np.zeros_like(value) for name, value in weights.items()}
    second = {name: np.zeros_like(value) for name, value in weights.items()}
    step = 0
    for _ in range(EPOCHS):
        order = rng.permutation(len(pixels))
        for begin in range(0, len(order), BATCH):
            rows = order[begin : begin + BATCH]
            step += 1
            for name, slope in gradients(weights, relu, pixels[rows], digits[rows]).items():
                first[name] += (1.0 - FADE) * (slope - first[name])
                second[name] += (1.0 - FADE_SQUARES) * (slope**2 - second[name])
                size = np.sqrt(second[name] / (1.0 - FADE_SQUARES**step)) + TINY
                weights[name] -= RATE * (first[name] / (1.0 - FADE**step) / size + DECAY * weights[name])
    return Network(weights, relu)


def accuracy(network: Network) -> tuple[float, float]:
    """Return the share of right answers on the images trained on and on those that were not."""
    pixels, digits = load_images()
    right = network.logits(pixels).argmax(axis=1) == digits
    return float(right[:-TEST_IMAGES].mean()), float(right[-TEST_IMAGES:].mean())


def main() -> None:
    """Train both and write them."""
    for relu, name in ((False, "linear.npz"), (True, "relu.npz")):
        network = train(relu)
        content = io.BytesIO()
        np.savez_compressed(
            content, allow_pickle=False, **{key: w.astype(np.float16) for key, w in network.weights.items()}
        )
        write_whole(FOLDER / name, content.getvalue())
        trained, held_out = accuracy(Network.shipped(relu))
        print(f"{name}: {trained:.2%} right on the training images, {held_out:.2%} on the other {TEST_IMAGES}")


if __name__ == "__main__":
    main()
