"""One policy on one instance: the loop of every experiment, and its trace."""

import copy
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from eigenbandits.environments import Environment, Instance, LoggedRound
from eigenbandits.inputs import Array, whole
from eigenbandits.policy import Diagnostics


class PolicyLike(Protocol):
    """What `run` needs from a policy.

    A policy that must know the truth (an oracle) also has ``reveal(instance)``, which is called before the first round.
    For diagnostics it has ``diagnostics()``, which returns `Diagnostics` or a mapping.
    """

    def choose(self, actions: Array, /) -> Any:
        """Return a decision whose ``index`` is the row chosen."""

    def learn(self, decision: Any, reward: float, /) -> Any:
        """Learn from the reward of a decision."""


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened when a policy ran on an instance.

    Attributes
    ----------
    regret : ndarray of shape (T,)
        Cumulative regret in expected rewards: the best action's value less the chosen one's, summed.
    rewards : ndarray of shape (T,)
        The rewards that the policy saw.
    choices : ndarray of shape (T,)
        The rows that the policy chose.
    seconds : ndarray of shape (T,)
        The time of choosing and learning in each round, without that of the environment.
    policy, environment : str
        Their names.
    seed : int
        The seed of the instance.
    diagnostics : dict
        The policy's diagnostics after the requested rounds, by round, the first round being 1.
    """

    regret: Array
    rewards: Array
    choices: NDArray[np.int64]
    seconds: Array
    policy: str
    environment: str
    seed: int
    diagnostics: dict[int, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        """The number T of rounds."""
        return len(self.regret)

    def summary(self) -> dict[str, str | int | float]:
        """Return one row for a table: the names, the final regret, the mean reward, the median time."""
        return {
            "policy": self.policy,
            "environment": self.environment,
            "seed": self.seed,
            "rounds": self.rounds,
            "regret": float(self.regret[-1]),
            "mean_reward": float(self.rewards.mean()),
            "median_microseconds": float(np.median(self.seconds)) * 1e6,
        }


def run(
    policy: PolicyLike,
    environment: Environment | Instance,
    rounds: int,
    seed: int = 0,
    diagnose_at: Collection[int] = (),
    progress: Callable[[int], object] | None = None,
) -> Trace:
    """Run a policy on an environment and return what happened.

    The same seed gives the same decision sets and the same noise to every policy, whatever it chooses. The
    policy is used as it is and keeps what it learns: pass a fresh one for each run.

    Parameters
    ----------
    policy : Policy
        Anything with ``choose`` and ``learn``. If it has ``reveal``, this is called with the instance first.
    environment : Environment or Instance
        The problem. An environment provides the instance of `seed`; an instance is used as it is, and `seed` is only
        noted in the trace.
    rounds : int
        The number T of rounds, at least 1. Logged data (`environments.Replay`) may end before; the trace then has
        the rounds in which the policy chose what the log chose, and their regret is unknown (NaN).
    seed : int
        The seed of the instance. The policy's own seed is set in its constructor.
    diagnose_at : collection of int
        The rounds, counted from 1, after which to keep ``policy.diagnostics()``.
    progress : callable, optional
        Called with the number of each finished round.

    Returns
    -------
    Trace

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from eigenbandits.environments import LowRank
    >>> from eigenbandits.lab import run
    >>> class First:
    ...     def choose(self, actions):
    ...         return SimpleNamespace(index=0)
    ...
    ...     def learn(self, decision, reward):
    ...         pass
    >>> trace = run(First(), LowRank(dim=8, rank=2, arms=5), rounds=100, seed=1)
    >>> trace.rounds, trace.policy, trace.environment
    (100, 'First', 'LowRank(dim=8, rank=2, arms=5)')
    """
    _refuse_classes(policy, environment)
    rounds = whole(rounds, "rounds")
    wanted = frozenset(diagnose_at)
    for round_ in wanted:
        if not 1 <= round_ <= rounds:
            raise ValueError(f"diagnose_at holds {round_}; expected rounds from 1 to {rounds}.")
    instance = environment.instance(seed) if isinstance(environment, Environment) else environment
    reveal = getattr(policy, "reveal", None)
    if reveal is not None:
        reveal(instance)

    lost, rewards, seconds = np.empty(rounds), np.empty(rounds), np.empty(rounds)
    choices = np.empty(rounds, dtype=np.int64)
    diagnostics: dict[int, Mapping[str, Any]] = {}
    t = 0
    for offered in instance.rounds():
        unchanged = _state(policy) if isinstance(offered, LoggedRound) else None
        start = perf_counter()
        decision = policy.choose(offered.actions)
        chosen = perf_counter()
        index = int(decision.index)
        if isinstance(offered, LoggedRound) and index != offered.chosen:
            if unchanged is not None:
                policy.restore(unchanged)  # type: ignore[attr-defined]
            continue
        reward = offered.reward(index)
        resumed = perf_counter()
        policy.learn(decision, reward)
        seconds[t] = (chosen - start) + (perf_counter() - resumed)
        choices[t], rewards[t] = index, reward
        lost[t] = offered.best - offered.values[index]
        t += 1
        if t in wanted:
            diagnostics[t] = dict(flat(policy.diagnostics()))  # type: ignore[attr-defined]
        if progress is not None:
            progress(t)
        if t == rounds:
            break
    if t == 0:
        raise ValueError("the policy never chose what the log chose, so there is nothing to learn; use a longer log.")
    return Trace(
        regret=np.cumsum(lost[:t]),
        rewards=rewards[:t],
        choices=choices[:t],
        seconds=seconds[:t],
        policy=_name(policy),
        environment=_name(environment),
        seed=seed,
        diagnostics=diagnostics,
    )


def _refuse_classes(policy: Any, environment: Any) -> None:
    """Refuse a class given for an object, and the two arguments in the wrong order."""
    for name, value in (("policy", policy), ("environment", environment)):
        if isinstance(value, type):
            raise TypeError(f"{name} is the class {value.__name__}; expected an object of it: {value.__name__}(...).")
    if not hasattr(policy, "choose") or not hasattr(policy, "learn"):
        swapped = " The policy comes first." if hasattr(environment, "choose") else ""
        raise TypeError(f"policy is {_name(policy)}; expected something with choose() and learn().{swapped}")
    if not isinstance(environment, Environment) and not hasattr(environment, "rounds"):
        raise TypeError(
            f"environment is {_name(environment)}; expected an environment, such as LowRank(), or one drawn."
        )


def _state(policy: Any) -> dict[str, Any] | None:
    """Return a copy of the policy's state, if the policy can restore it."""
    return copy.deepcopy(policy.state()) if hasattr(policy, "state") and hasattr(policy, "restore") else None


def flat(found: Diagnostics | Mapping[str, Any]) -> Mapping[str, Any]:
    """Return diagnostics as one mapping; policies from elsewhere may return one themselves."""
    return found.as_dict() if isinstance(found, Diagnostics) else found


def _name(thing: object) -> str:
    return str(getattr(thing, "name", type(thing).__name__))
