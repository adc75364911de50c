"""Component: the base of every part of a policy, with parameters, a state that can be restored, and copies."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self

import numpy as np


class Component:
    """Base of subspaces, beliefs, rules and policies.

    A component stores each constructor argument under the argument's own name, and lists in ``_state_names`` the
    attributes that change as it runs. Parameters, state, copies and files all rely on these two conventions.
    ``_derived_names`` are attributes that follow from the state, and are None until they are computed.
    """

    _state_names: ClassVar[tuple[str, ...]] = ()
    _derived_names: ClassVar[tuple[str, ...]] = ()
    _registry: ClassVar[dict[str, type[Component]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Register the class under its name; files can name registered classes and nothing else."""
        super().__init_subclass__(**kwargs)
        Component._registry[cls.full_name()] = cls

    @classmethod
    def full_name(cls) -> str:
        """Return the name of the class in files: ``module:Class``."""
        return f"{cls.__module__}:{cls.__qualname__}"

    @staticmethod
    def named(name: str) -> type[Component]:
        """Return a class by its full name, without importing anything.

        A class of this library is found even if it has moved to another module.
        """
        if name in Component._registry:
            return Component._registry[name]
        module, _, own = name.rpartition(":")
        if module.startswith("eigenbandits."):
            ours = [kind for full, kind in Component._registry.items() if full.startswith("eigenbandits.")]
            matches = [kind for kind in ours if kind.__name__ == own]
            if len(matches) == 1:
                return matches[0]
        raise KeyError(f"unknown class {name}; import the module that defines it first")

    def params(self) -> dict[str, Any]:
        """Return the constructor's arguments as they were given."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def state(self) -> dict[str, Any]:
        """Return everything that has changed since construction; arrays are not copied."""
        return {name: _get_state(getattr(self, name)) for name in self._state_names}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned; the component then continues exactly as the original would."""
        for name in self._state_names:
            current = getattr(self, name)
            if name not in state:
                raise ValueError(
                    f"{type(self).__name__} was saved without {name!r}, which this version needs; "
                    "make a new policy and let it learn from the log with learn_many()"
                )
            if isinstance(current, Component):
                current.restore(state[name])
            elif isinstance(current, np.random.Generator):
                current.bit_generator.state = state[name]
            else:
                value = state[name]
                setattr(self, name, value.copy(order="K") if isinstance(value, np.ndarray) else value)
        for name in self._derived_names:
            setattr(self, name, None)

    def clone(self) -> Self:
        """Return a new component with the same parameters that has seen nothing."""
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
