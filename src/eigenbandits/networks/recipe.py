"""What a dataset's way from images to features must say: which images, which settings, and how to train."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from eigenbandits.features.layers import Dense
from eigenbandits.networks.segments import Segments
from eigenbandits.networks.training import Plan, Tell


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained network, and what its representation layer reads for every image.

    Attributes
    ----------
    network : nn.Module
        All that was trained or used, for its weights.
    head : Segments
        Its end.
    hidden : ndarray of float32, shape (n, h)
        What the representation layer reads, after the bottleneck if there is one.
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


class Recipe(ABC):
    """From one dataset to trained networks.

    Attributes
    ----------
    data, network : str
        The names that features carry.
    plan : Plan
        How networks are trained.
    labels : ndarray of int64, shape (n,)
        What the images show, those for training first.
    training : int
        How many are for training.
    classes : int
        K.
    fingerprint : str
        A hash of the images and their labels.
    """

    data: str
    network: str
    plan: Plan
    labels: NDArray[np.int64]
    training: int
    classes: int
    fingerprint: str
    layers: tuple[str, ...] = ("linear", "relu")
    dims: tuple[int, ...] = (100, 500, 1000)

    def with_epochs(self, epochs: int | None) -> None:
        """Train for so many epochs instead; None changes nothing."""
        self.plan = replace(self.plan, epochs=epochs) if epochs is not None else self.plan

    def settings(self) -> dict[str, Any]:
        """Return all that the trained networks depend on, besides d and the layer."""
        return {
            "data": self.data,
            "images": self.fingerprint,
            "network": self.network,
            "plan": asdict(self.plan),
            "torch": torch.__version__.partition("+")[0].rpartition(".")[0],
        }

    @abstractmethod
    def train(self, dim: int, relu: bool, tell: Tell) -> Trained:
        """Train a network whose segments have `dim` numbers, and look at all images."""

    def tuned(self, trunk: nn.Module, head: Segments) -> nn.Module:
        """Return both parts under one roof, so that their weights have names."""
        return nn.ModuleDict({"trunk": trunk, "head": head})


def as_inputs(array: NDArray[Any]) -> Tensor:
    """Return an array as a float32 tensor where torch computes."""
    from eigenbandits.networks.training import device

    return torch.from_numpy(np.ascontiguousarray(array)).to(device()).float()
