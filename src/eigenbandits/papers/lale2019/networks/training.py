"""Train with cross entropy, and evaluate networks in blocks of images."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

Echo = Callable[[str], object]
# Images in a batch when nothing is trained.
_EVALUATED = 250


@dataclass(frozen=True)
class TrainingPlan:
    """How a network is trained: AdamW, with a rate that rises over the first tenth of the steps and then falls to 0.

    The seed is that of the initial weights and of the order of the images.
    """

    epochs: int
    batch: int = 128
    rate: float = 2e-3
    decay: float = 1e-4
    seed: int = 0


def device() -> torch.device:
    """Return the GPU if torch can use one, else the processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def scaled(pixels: NDArray[np.uint8], network: Any) -> Tensor:
    """Return images as a network expects them: from 0 to 1, less the mean, by the deviation of each channel."""
    images = torch.from_numpy(np.ascontiguousarray(pixels)).to(device()).float() / 255.0
    mean, deviation = (torch.tensor(values)[:, None, None] for values in (network.mean, network.deviation))
    return ((images - mean.to(images.device)) / deviation.to(images.device)).contiguous(
        memory_format=torch.channels_last
    )


def train(
    network: Callable[[Tensor], Tensor],
    parameters: list[nn.Parameter],
    inputs: Callable[[NDArray[np.int64]], Tensor],
    targets: NDArray[Any],
    plan: TrainingPlan,
    echo: Echo,
) -> None:
    """Train parameters on the cross entropy of a network's logits.

    `inputs` returns the inputs of examples, given by their numbers; `targets` are the classes (n,), or the
    probabilities of all classes (n, K). `echo` gets a line after each epoch.
    """
    rng = np.random.default_rng(plan.seed)
    optimizer = torch.optim.AdamW(parameters, lr=plan.rate, weight_decay=plan.decay)
    steps = plan.epochs * math.ceil(len(targets) / plan.batch)
    rates = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step / steps))
    wanted = torch.from_numpy(targets).to(device())
    started = monotonic()
    for epoch in range(1, plan.epochs + 1):
        total = 0.0
        for rows in _batches(rng.permutation(len(targets)), plan.batch):
            loss = functional.cross_entropy(network(inputs(rows)), wanted[torch.from_numpy(rows).to(wanted.device)])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rates.step()
            total += float(loss.detach()) * len(rows)
        mean = total / len(targets)
        if not math.isfinite(mean):
            raise ValueError(f"the loss became {mean} in epoch {epoch}; train with a smaller rate.")
        echo(f"epoch {epoch} of {plan.epochs}: mean loss {mean:.4f}, {monotonic() - started:.0f} s")


def evaluate(
    network: Callable[[Tensor], Tensor], inputs: Callable[[NDArray[np.int64]], Tensor], count: int
) -> NDArray[Any]:
    """Return the outputs of a network for examples 0 to count − 1, which need not all be in memory."""
    found: NDArray[Any] | None = None
    with torch.inference_mode():
        for rows in _batches(np.arange(count), _EVALUATED):
            part = network(inputs(rows)).cpu().numpy()
            if found is None:
                found = np.empty((count, *part.shape[1:]), dtype=part.dtype)
            found[rows] = part
    assert found is not None  # there is at least one image
    return found


def _batches(rows: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _rate(share: float) -> float:
    """Return the learning rate as a share of the highest: up for a tenth of the steps, then down a half cosine."""
    rise = 0.1
    return share / rise if share < rise else 0.5 * (1.0 + math.cos(math.pi * (share - rise) / (1.0 - rise)))
