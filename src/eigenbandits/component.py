"""Component: what every part of a policy has, which is parameters, a state that can be restored, and copies."""

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
        """Register the class by its name, so that files can name it and nothing else."""
        super().__init_subclass__(**kwargs)
        Component._registry[cls.full_name()] = cls

    @classmethod
    def full_name(cls) -> str:
        """Return what files call the class: ``module:Class``."""
        return f"{cls.__module__}:{cls.__qualname__}"

    @staticmethod
    def named(name: str) -> type[Component]:
        """Return a class by its full name; nothing is imported for it.

        A class of this library is found in whatever module it is now.
        """
        if name in Component._registry:
            return Component._registry[name]
        module, _, own = name.rpartition(":")
        if module.startswith("eigenbandits."):
            ours = [kind for full, kind in Component._registry.items() if full.startswith("eigenbandits.")]
            found = [kind for kind in ours if kind.__name__ == own]
            if len(found) == 1:
                return found[0]
        raise KeyError(f"unknown class {name}; import the module that defines it first")

    def params(self) -> dict[str, Any]:
        """Return the constructor's arguments, as they were given."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def state(self) -> dict[str, Any]:
        """Return everything that has changed since it was made; arrays are not copied."""
        return {name: _get_state(getattr(self, name)) for name in self._state_names}

    def restore(self, state: dict[str, Any]) -> None:
        """Set what `state` returned; the component then continues exactly as the one that it came from."""
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
        """Return a new component with the same parameters, which has seen nothing."""
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
