"""Environments that change only the rounds of another one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from eigenbandits.environments import Round


class WrappedEnvironment(ABC):
    """A family of problems made of another one, `model`: everything but the rounds is that of the model.

    Subclasses are frozen dataclasses that define `model` and `rounds_of`.
    """

    @property
    def name(self) -> str:
        """The class and its settings."""
        return repr(self)

    @property
    @abstractmethod
    def model(self) -> Any:
        """The other environment."""

    @abstractmethod
    def rounds_of(self, model: Any, seed: int) -> Iterator[Round]:
        """Start the stream of rounds, given the model's instance and its seed."""

    def instance(self, seed: int) -> WrappedInstance:
        """Draw the problem that belongs to a seed."""
        model = self.model.instance(seed)
        return WrappedInstance(model, rounds=lambda: self.rounds_of(model, seed))


class WrappedInstance:
    """One drawn problem with all attributes of another, except those in `changes` or that a subclass redefines."""

    def __init__(self, model: Any, **changes: Any) -> None:
        self.model = model
        vars(self).update(changes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)
