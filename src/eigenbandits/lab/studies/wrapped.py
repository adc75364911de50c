"""An instance around another one, for environments that change only the rounds of a model."""

from __future__ import annotations

from typing import Any


class WrappedInstance:
    """One drawn problem with all attributes of another, except those that a subclass redefines.

    Parameters
    ----------
    model : Instance
        The other one.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)
