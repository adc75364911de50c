"""What every part of a policy can do: tell its parameters, hand out its state, take it back, and copy itself."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self

import numpy as np


class Component:
    """Base of subspaces, beliefs, rules and policies.

    A component keeps each constructor argument under the argument's own name and lists in ``_state_names`` the
    attributes that change while it runs. Parameters, state, copies and files all follow from these two conventions.
    """

    _state_names: ClassVar[tuple[str, ...]] = ()
    _registry: ClassVar[dict[str, type[Component]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Register the class under its name, so that files can name it without being able to name anything else."""
        super().__init_subclass__(**kwargs)
        Component._registry[cls.__name__] = cls

    def params(self) -> dict[str, Any]:
        """Return the constructor's arguments, as they were given."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def state(self) -> dict[str, Any]:
        """Return everything that running has changed; arrays are not copied."""
        return {name: _get_state(getattr(self, name)) for name in self._state_names}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` gave; the component goes on exactly as the one that gave it."""
        for name in self._state_names:
            current = getattr(self, name)
            if isinstance(current, Component):
                current.restore(state[name])
            elif isinstance(current, np.random.Generator):
                current.bit_generator.state = state[name]
            else:
                value = state[name]
                setattr(self, name, value.copy(order="K") if isinstance(value, np.ndarray) else value)

    def clone(self) -> Self:
        """Return a fresh component with the same parameters that has seen nothing."""
        params = {
            name: value.clone() if isinstance(value, Component) else value for name, value in self.params().items()
        }
        return type(self)(**params)

    def __repr__(self) -> str:
        """Show the parameters that differ from their defaults."""
        signature = inspect.signature(type(self)).parameters
        shown = [
            f"{name}={value!r}"
            for name, value in self.params().items()
            if signature[name].default is inspect.Parameter.empty or not _same(value, signature[name].default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def _get_state(value: Any) -> Any:
    if isinstance(value, Component):
        return value.state()
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    return value


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(np.all(value == default)))
