"""Logged data as an environment: a policy learns from the events in which it would have done the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from eigenbandits.environments import offpolicy
from eigenbandits.environments.base import Round
from eigenbandits.environments.log import Log
from eigenbandits.environments.offpolicy import Estimate
from eigenbandits.inputs import Array, whole

if TYPE_CHECKING:
    from eigenbandits.policy import Policy


@dataclass(frozen=True, slots=True, eq=False)
class LoggedRound(Round):
    """A round of which only one reward is known: that of the row which the log chose.

    Its values are unknown (NaN) but for that row, so regret is unknown too. `eigenbandits.run` passes over the
    rounds in which the policy chooses another row, and takes back what choosing did to the policy.
    """

    chosen: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """Logged events, to learn from by replay and to judge policies by.

    *Replay* (Li et al. 2011): ``eigenbandits.run(policy, Replay(log), rounds)`` offers the policy one event after
    the other. Where it chooses what the log chose it is told the reward, and the round counts; any other event is
    passed over as if it had not been. If the log chose evenly and its events are independent, what the policy earns
    is what it would have earned live. About one event in K counts, and the run ends with the log.

    *Estimates* (`value`): what a policy that no longer learns would earn on average, from all events, by their
    propensities.

    Parameters
    ----------
    log : Log, mapping or path
        The events; a mapping has the entries of `Log`, a path names a .npz or Parquet file with these.
    shuffle : bool
        True gives every seed its own order of the events; False keeps that of the log.

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
    >>> replay = eb.environments.Replay(eb.environments.Log(actions, choices, rewards))
    >>> trace = eb.run(eb.OFUL(noise=0.1, theta_bound=1.0), replay, rounds=100, seed=0)
    >>> trace.rounds
    100
    >>> replay.value(np.argmax(actions[:, :, 0], axis=1), "snips").value > 0.3
    True
    """

    log: Log | Mapping[str, Any] | str | PathLike[str]
    shuffle: bool = True

    def __post_init__(self) -> None:
        """Open the log."""
        assert self.events is not None

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
        """Put the events in the order of a seed; only for logs that chose evenly."""
        if not self.events.uniform:
            raise ValueError(
                "this log did not choose evenly, so replaying it would favour what it liked; "
                "estimate the value of a policy by its propensities: Replay(log).value(policy)."
            )
        return ReplayInstance(self, seed)

    def value(
        self,
        target: Policy | Callable[[Array], ArrayLike] | ArrayLike,
        method: str = "dr",
        *,
        model: Callable[[Array], ArrayLike] | None = None,
        clip: float | None = None,
        draws: int = 100,
    ) -> Estimate:
        """Estimate the mean reward of a policy that no longer learns.

        Parameters
        ----------
        target : Policy, callable or array
            Whom to judge: a policy, held as it is at every event and left untouched; a function that gives the
            probability of each row of a decision set; an array (n,) of chosen rows, or (n, K) of probabilities.
        method : {"dr", "ips", "snips", "direct"}
            Doubly robust; inverse propensity; the same, normalised by the sum of its weights; or the reward model
            alone, which is as biased as the model is.
        model : callable, optional
            Gives the expected reward of each row of a decision set, for "dr" and "direct". None fits a ridge
            regression to the log, each half of it judged by the model of the other.
        clip : float, optional
            A limit on the importance weights: less variance for some bias.
        draws : int
            Choices drawn at each event to learn the probabilities of a policy that chooses at random.

        Returns
        -------
        Estimate

        References
        ----------
        Dudík, Langford, Li. Doubly Robust Policy Evaluation and Learning. ICML 2011.
        Swaminathan, Joachims. The Self-Normalized Estimator for Counterfactual Learning. NeurIPS 2015.
        """
        return offpolicy.estimate(self.events, target, method, model, clip, draws)


class ReplayInstance:
    """The events of a `Replay` in the order of one seed.

    Parameters
    ----------
    environment : Replay
        The events.
    seed : int
        At least 0.
    """

    structure = None
    action_bound = None
    theta_bound = 1.0

    def __init__(self, environment: Replay, seed: int) -> None:
        self.environment = environment
        self.seed = whole(seed, "seed", least=0)
        log = environment.events
        self.basis: Array = np.zeros((log.decision_set(0).shape[1], 0))
        self.noise = float(log.earned.max() - log.earned.min()) / 2.0

    @property
    def theta(self) -> Array:
        """Unknown."""
        raise ValueError("logged data does not know its θ*; leave policies out that need the truth, such as Oracle.")

    @property
    def name(self) -> str:
        """The name of the environment."""
        return self.environment.name

    def rounds(self) -> Iterator[LoggedRound]:
        """Start from the first event; the stream ends with the log."""
        log = self.environment.events
        order = np.random.default_rng(self.seed).permutation(len(log)) if self.environment.shuffle else range(len(log))
        for event in map(int, order):
            chosen = int(log.chosen[event])
            values = np.full(log.sizes[event], np.nan)
            values[chosen] = log.earned[event]
            yield LoggedRound(log.decision_set(event), values, 0.0, None, chosen)
