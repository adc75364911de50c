"""Trainers: the images of a dataset, its settings, and how its networks are trained."""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from eigenbandits.papers.lale2019.features.file import Dense
from eigenbandits.papers.lale2019.networks.cnn import Segments
from eigenbandits.papers.lale2019.networks.training import Echo, TrainingPlan


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network and its last layers, and the inputs (n, h) of its representation layer for every image.

    They are those after the bottleneck, if there is one.
    """

    network: nn.Module
    head: Segments
    hidden: NDArray[np.float32]

    def layer(self) -> Dense:
        """Return the representation layer in NumPy."""
        weight, bias = (tensor.detach().cpu().numpy() for tensor in self.head.representation.parameters())
        return Dense(np.ascontiguousarray(weight.T), bias.copy(), self.head.classes, self.head.relu)

    def theta(self) -> NDArray[np.float32]:
        """Return θ*."""
        return np.asarray(self.head.theta.detach().cpu().numpy())


class Trainer(ABC):
    """From one dataset to trained networks, whose features have the names `data` and `network`.

    The first `training` of the `labels` (n,) are those of the images for training; `fingerprint` is a hash of the
    images and their labels.
    """

    data: str
    network: str
    plan: TrainingPlan
    labels: NDArray[np.int64]
    training: int
    classes: int
    fingerprint: str
    layers: tuple[str, ...] = ("linear", "relu")
    dims: tuple[int, ...] = (100, 500, 1000)

    def with_epochs(self, epochs: int | None) -> None:
        """Set the number of epochs; None changes nothing."""
        self.plan = replace(self.plan, epochs=epochs) if epochs is not None else self.plan

    def settings(self) -> dict[str, Any]:
        """Return everything that the trained networks depend on, except d and the layer."""
        return {
            "data": self.data,
            "images": self.fingerprint,
            "network": self.network,
            "plan": asdict(self.plan),
            "torch": torch.__version__.partition("+")[0].rpartition(".")[0],
        }

    @abstractmethod
    def train(self, dim: int, relu: bool, echo: Echo) -> Trained:
        """Train a network whose segments have `dim` numbers, and evaluate all images."""

    def tuned(self, trunk: nn.Module, head: Segments) -> nn.Module:
        """Return both parts as one module, so that their weights have names."""
        return nn.ModuleDict({"trunk": trunk, "head": head})


def as_inputs(array: NDArray[Any]) -> Tensor:
    """Return an array as a float32 tensor on the device."""
    from eigenbandits.papers.lale2019.networks.training import device

    return torch.from_numpy(np.ascontiguousarray(array)).to(device()).float()
