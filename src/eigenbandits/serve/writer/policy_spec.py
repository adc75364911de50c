"""`PolicySpec`: the settings of a policy: an algorithm by name, its parameters, and how its decisions end."""

from __future__ import annotations

import dataclasses
import inspect
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from eigenbandits import algorithms
from eigenbandits.policy import Policy
from eigenbandits.serve.errors import invalid
from eigenbandits.theory import Structure
from eigenbandits.wrappers import Budgeted, Guarded

# Without the oracle, which needs to know the answer.
ALGORITHMS: dict[str, type[Policy]] = {
    name: getattr(algorithms, name) for name in algorithms.__all__ if name != "Oracle"
}
# The algorithm of a policy that does not name one.
DEFAULT = "EigenUCB"
# Policies that can wrap a policy, by the setting that has their arguments.
WRAPPERS: dict[str, type[Policy]] = {"budget": Budgeted, "guard": Guarded}
# Limits of parameters that determine how much memory or time a single choice takes.
_LARGEST = {"samples": 100_000, "size": 1024, "window": 1_000_000, "horizon": 1_000_000}


@dataclass(frozen=True)
class PolicySpec:
    """The settings of one policy of the service.

    Attributes
    ----------
    dim
        The length of the vectors; None takes it from the first decision or from the catalogue.
    time_to_live
        Seconds after which a decision without a reward gets the default reward or, if that is None, none.
    learn_at
        "reward" learns a reward when it arrives. "time_to_live" records it, and learns all decisions in order when
        their time to live is over, those without a reward with the default: for feeds that report only clicks, where
        the rewards that have arrived say little about those that have not. Until then, a reward may be sent in parts
        and corrected.
    least_reward, largest_reward
        Rewards beyond these are refused; None for no bound.
    holdout, baseline
        The share of decisions made by a baseline, so that both can be compared: the "first" action, a "random" one,
        or the one with the highest of the "scores". The policy learns from these, too.
    observe_after, observe_every
        The subspace observes every decision set up to `observe_after`, then one in `observe_every`. A subspace
        estimated from a hundred thousand vectors gains almost nothing from the next hundred, which cost as much as the
        choice.
    budget, guard
        The arguments of `Budgeted`, such as ``{"budget": 0.5}``, or of `Guarded`, such as ``{"noise": 0.5,
        "theta_bound": 1.0, "shadow": True}``, for a policy that learns costs and keeps to a budget, or that is measured
        against a baseline before it departs from it; None for neither.
    keep_sets
        Keep the vectors that came with requests, for export; False keeps only the chosen row once a decision has ended.
    clone_of
        The name of the policy whose state this one started from; None if it started from nothing.
    """

    algorithm: str
    parameters: dict[str, Any]
    catalogue: str | None = None
    dim: int | None = None
    time_to_live: float | None = None
    default_reward: float | None = None
    learn_at: str = "reward"
    least_reward: float | None = None
    largest_reward: float | None = None
    holdout: float = 0.0
    baseline: str = "first"
    observe_after: int = 1000
    observe_every: int = 16
    keep_sets: bool = True
    clone_of: str | None = None
    budget: dict[str, Any] | None = None
    guard: dict[str, Any] | None = None

    def make(self) -> Policy:
        """Return the policy as it was before its first decision; raise `Refusal` if the parameters are invalid."""
        kind = ALGORITHMS.get(self.algorithm)
        if kind is None:
            message = f"algorithm is {self.algorithm[:100]!r}; expected one of {', '.join(sorted(ALGORITHMS))}."
            raise invalid(message, "algorithm")
        made = _made(kind, self.parameters, "parameters")
        for setting, wrapper in WRAPPERS.items():
            arguments = getattr(self, setting)
            if arguments is not None:
                made = _made(wrapper, arguments, setting, made)
        return made

    def check(self) -> None:
        """Refuse settings that contradict each other."""
        if self.budget is not None and self.guard is not None:
            raise invalid("Both budget and guard were sent; send at most one of them.", "guard")
        if self.learn_at == "time_to_live" and (self.time_to_live is None or self.default_reward is None):
            message = "learn_at is 'time_to_live', so decisions need a time_to_live and a default_reward; send both."
            raise invalid(message, "learn_at")
        least, largest = self.least_reward, self.largest_reward
        if least is not None and largest is not None and least >= largest:
            message = f"least_reward is {least:g} and largest_reward is {largest:g}; expected least_reward to be less."
            raise invalid(message, "least_reward")
        if self.default_reward is not None and self.outside(self.default_reward):
            message = "default_reward is out of bounds; expected it between least_reward and largest_reward."
            raise invalid(message, "default_reward")

    @property
    def alone(self) -> list[str]:
        """The settings that require a process that both decides and learns, since each choice changes the state."""
        return [name for name in WRAPPERS if getattr(self, name) is not None]

    def outside(self, reward: float) -> bool:
        """Return whether a reward is out of bounds."""
        low, high = self.least_reward, self.largest_reward
        return (low is not None and reward < low) or (high is not None and reward > high)

    def seeded(self) -> PolicySpec:
        """Return the spec with a seed; without one, the log alone could not reproduce a randomized policy."""
        if self.parameters.get("seed") is not None:
            return self
        return dataclasses.replace(self, parameters=self.parameters | {"seed": secrets.randbits(53)})

    def same_request(self, other: PolicySpec) -> bool:
        """Return whether the other spec, which may have been given a seed, comes from the same request."""
        if self.parameters.get("seed") is None:
            other = dataclasses.replace(other, parameters=other.parameters | {"seed": None})
            own = dataclasses.replace(self, parameters=self.parameters | {"seed": None})
            return own == other
        return self == other

    def to_text(self) -> str:
        """Return the settings as JSON."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> PolicySpec:
        """Return the settings that `to_text` wrote; raise ValueError for those of another version of the library."""
        try:
            settings = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"its settings are not JSON ({error})") from error
        known = {field.name for field in dataclasses.fields(cls)}
        extra = sorted(set(settings) - known) if isinstance(settings, dict) else ["not an object"]
        if extra:
            raise ValueError(f"its settings contain {extra[0]!r}, which this version of eigenbandits does not know")
        try:
            return cls(**settings)
        except TypeError as error:
            raise ValueError(f"its settings are not complete ({error})") from error


def _made(kind: Callable[..., Policy], arguments: dict[str, Any], field: str, *inner: Policy) -> Policy:
    """Return a policy from its arguments, wrapped around another one if given; refuse invalid arguments."""
    title = getattr(kind, "__name__", field)
    known = list(inspect.signature(kind).parameters.values())[len(inner) :]
    names = [one.name for one in known]
    for name, value in arguments.items():
        if name not in names:
            message = f"{title} has no parameter {name[:100]!r}; expected any of {', '.join(names)}."
            raise invalid(message, f"{field}.{name[:100]}")
        if isinstance(value, int | float) and value > _LARGEST.get(name, value):
            raise invalid(f"{name} is {value}; expected at most {_LARGEST[name]}.", f"{field}.{name}")
    missing = [one.name for one in known if one.default is inspect.Parameter.empty and one.name not in arguments]
    if missing:
        raise invalid(f"{title} requires the parameter {missing[0]!r}.", f"{field}.{missing[0]}")
    try:
        structure = arguments.get("structure")
        more = {} if structure is None else {"structure": Structure(**structure)}
        return kind(*inner, **arguments | more)
    except (ValueError, TypeError, OverflowError) as error:
        raise invalid(f"The {field} are invalid: {error}" if field == "parameters" else str(error), field) from error
