"""What a policy is made from: an algorithm by name, its parameters, and how its decisions end."""

from __future__ import annotations

import dataclasses
import inspect
import json
import secrets
from dataclasses import dataclass
from typing import Any

from eigenbandits import algorithms
from eigenbandits.policy import Policy
from eigenbandits.serve.errors import invalid
from eigenbandits.theory import Structure

# An oracle knows the answer, which no service does.
ALGORITHMS: dict[str, type[Policy]] = {
    name: getattr(algorithms, name) for name in algorithms.__all__ if name != "Oracle"
}
# What a policy is made by where nobody says.
DEFAULT = "EigenUCB"
# Parameters that set how much memory or time a single choice takes.
_LARGEST = {"samples": 100_000, "propensity_draws": 100_000, "size": 1024}


@dataclass(frozen=True)
class Spec:
    """The settings of one policy of the service, fixed when it is created.

    Attributes
    ----------
    time_to_live
        Seconds after which a decision without a reward takes the default reward or, where that is None, none.
    observe_after, observe_every
        The subspace is shown every decision set up to `observe_after`, then one in `observe_every`. A subspace found
        from a hundred thousand vectors gains next to nothing from the next hundred, which cost as much as the choice.
    keep_sets
        Keep the vectors of decisions that came inline, for export; False keeps only the row chosen once it is settled.
    """

    algorithm: str
    parameters: dict[str, Any]
    catalogue: str | None = None
    time_to_live: float | None = None
    default_reward: float | None = None
    observe_after: int = 1000
    observe_every: int = 16
    keep_sets: bool = True

    def make(self) -> Policy:
        """Return the policy as it was before its first decision; raise `Refusal` where the parameters do not fit."""
        kind = ALGORITHMS.get(self.algorithm)
        if kind is None:
            message = f"algorithm is {self.algorithm[:100]!r}; expected one of {', '.join(sorted(ALGORITHMS))}."
            raise invalid(message, "algorithm")
        known = inspect.signature(kind).parameters
        for name, value in self.parameters.items():
            if name not in known:
                message = f"{self.algorithm} has no parameter {name[:100]!r}; expected some of {', '.join(known)}."
                raise invalid(message, f"parameters.{name[:100]}")
            if isinstance(value, int | float) and value > _LARGEST.get(name, value):
                raise invalid(f"{name} is {value}; expected at most {_LARGEST[name]}.", f"parameters.{name}")
        missing = [
            name
            for name, one in known.items()
            if one.default is inspect.Parameter.empty and name not in self.parameters
        ]
        if missing:
            raise invalid(f"{self.algorithm} needs the parameter {missing[0]!r}.", f"parameters.{missing[0]}")
        try:
            structure = self.parameters.get("structure")
            more = {} if structure is None else {"structure": Structure(**structure)}
            return kind(**self.parameters | more)
        except (ValueError, TypeError, OverflowError) as error:
            raise invalid(f"The parameters do not fit: {error}", "parameters") from error

    def seeded(self) -> Spec:
        """Return the same with a seed: without one the log alone would not say what a randomised policy did."""
        if self.parameters.get("seed") is not None:
            return self
        return dataclasses.replace(self, parameters=self.parameters | {"seed": secrets.randbits(53)})

    def same_wish(self, other: Spec) -> bool:
        """Return whether the other, which may have been given a seed of its own, was asked for in the same words."""
        if self.parameters.get("seed") is None:
            other = dataclasses.replace(other, parameters=other.parameters | {"seed": None})
            mine = dataclasses.replace(self, parameters=self.parameters | {"seed": None})
            return mine == other
        return self == other

    def to_text(self) -> str:
        """Return the settings as JSON."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> Spec:
        """Return the settings that `to_text` wrote."""
        return cls(**json.loads(text))
