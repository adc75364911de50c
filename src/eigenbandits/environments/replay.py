"""Logged data as an environment: a policy learns from the events in which it would have done the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenbandits.environments.base import DataInstance, Round
from eigenbandits.inputs import Array, number
from eigenbandits.offpolicy import Estimate, Log, estimate
from eigenbandits.offpolicy.propensities import Target


@dataclass(frozen=True, slots=True, eq=False)
class LoggedRound(Round):
    """A round of which only one reward is known: that of the row which the log chose.

    Its values are unknown (NaN) except for that row, so regret is unknown too. `eigenbandits.run` skips the rounds in
    which the policy chooses another row, and restores the policy to what it was before.
    """

    chosen: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """Logged events, offered to a policy one after the other (Li et al. 2011).

    ``eigenbandits.run(policy, Replay(log), rounds)``: where the policy chooses what the log chose, it learns the
    reward, and the round counts; any other event is skipped as if it had not happened. An event that the log chose with
    probability p is offered only with probability `least`/p. Each decision set then counts with the same probability
    Σ π(a) p(a) least/p(a) = `least`, whatever the policy π and the logger: the rounds that count are those that the
    policy would have met live, if decision sets are independent of each other. About that share of the events counts,
    and the run ends with the log.

    `value` estimates from all events what a policy that no longer learns would earn.

    Parameters
    ----------
    log : Log, mapping or path
        The events; a mapping has the entries of `Log`, a path names a file that `Log.read` takes.
    shuffle : bool
        True gives every seed its own order of the events; False keeps that of the log, which is right if the logger
        learned from its rewards.
    least : float, optional
        A number that no probability of the logger is below, also those of rows that were not chosen: ε/K for a floor
        ε. None is for logs that chose evenly, where it is one over the largest decision set.

    References
    ----------
    Li, Chu, Langford, Wang. Unbiased Offline Evaluation of Contextual-Bandit-Based News Article Recommendation
    Algorithms. WSDM 2011.

    Examples
    --------
    >>> import numpy as np
    >>> import eigenbandits as eb
    >>> rng = np.random.default_rng(0)
    >>> actions = rng.standard_normal((400, 2, 3))
    >>> choices = rng.integers(0, 2, 400)
    >>> rewards = actions[np.arange(400), choices, 0]
    >>> replay = eb.environments.Replay(eb.offpolicy.Log(actions, choices, rewards))
    >>> trace = eb.run(eb.OFUL(noise=0.1, theta_bound=1.0), replay, rounds=100, seed=0)
    >>> trace.rounds
    100
    """

    log: Log | Mapping[str, Any] | str | PathLike[str]
    shuffle: bool = True
    least: float | None = None

    def __post_init__(self) -> None:
        """Open the log, and refuse a least probability that it contradicts."""
        lowest = float(self.events.probabilities.min())
        if self.least is not None and number(self.least, "least", above=0.0) > lowest * (1.0 + 1e-9):
            raise ValueError(
                f"least is {self.least:g}, but the log holds a propensity of {lowest:g}; expected a number that none "
                "of the logger's probabilities is below."
            )

    @cached_property
    def events(self) -> Log:
        """The log, opened."""
        return Log.of(self.log)

    @property
    def name(self) -> str:
        """The number of events."""
        return f"Replay(events={len(self.events)})"

    def __repr__(self) -> str:
        return self.name

    def instance(self, seed: int) -> ReplayInstance:
        """Put the events in the order of a seed."""
        return ReplayInstance(self, seed, self._least())

    def value(
        self,
        target: Target,
        method: str = "dr",
        *,
        model: Callable[[Array], ArrayLike] | None = None,
        clip: float | None = None,
    ) -> Estimate:
        """Estimate the mean reward here of a policy that no longer learns; see `offpolicy.estimate`."""
        return estimate(self.events, target, method, model=model, clip=clip)

    def _least(self) -> float:
        if self.least is not None:
            return self.least
        if self.events.uniform:
            return 1.0 / int(self.events.sizes.max())
        raise ValueError(
            "the choices in this log were not uniform, and it has no probabilities of the rows that were not chosen; "
            "pass a lower bound on them, such as Replay(log, least=ε/K) for a log with a floor ε, or estimate what a "
            "policy is worth: Replay(log).value(policy)."
        )


class ReplayInstance(DataInstance):
    """The events of a `Replay` in the order of one seed.

    Parameters
    ----------
    environment : Replay
        The events.
    seed : int
        At least 0; it also decides which events are offered.
    least : float
        As for `Replay`.
    """

    environment: Replay

    def __init__(self, environment: Replay, seed: int, least: float) -> None:
        log = environment.events
        super().__init__(environment, seed, log.decision_set(0).shape[1])
        self.least = least
        self.noise = float(log.earned.max() - log.earned.min()) / 2.0

    def rounds(self) -> Iterator[LoggedRound]:
        """Start from the first event; the stream ends with the log."""
        log = self.environment.events
        rng = np.random.default_rng(self.seed)
        order = rng.permutation(len(log)) if self.environment.shuffle else np.arange(len(log))
        # Whether an event is offered does not depend on what the policy will choose, so that it can be drawn before.
        offered = rng.random(len(log)) * log.probabilities[order] < self.least * (1.0 + 1e-9)
        for event in order[offered].tolist():
            chosen = int(log.chosen[event])
            values = np.full(log.sizes[event], np.nan)
            values[chosen] = log.earned[event]
            yield LoggedRound(log.decision_set(event), values, 0.0, None, chosen)
