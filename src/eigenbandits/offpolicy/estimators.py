"""What a policy would have earned on logged decisions: inverse-propensity and doubly robust estimates."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from eigenbandits.inputs import Array, number, one_of
from eigenbandits.offpolicy import reward_model
from eigenbandits.offpolicy.intervals import mean_interval, standard_error, standardized_moment
from eigenbandits.offpolicy.log import Log
from eigenbandits.offpolicy.propensities import Target, target_probabilities

RewardModel = Callable[[Array], ArrayLike]
# A mean weight is off where an interval at this level leaves 1 out: in one of a thousand logs where nothing is wrong.
_SURE = 0.999
# Fewer effective events than this make an interval doubtful, and so does a mean that fewer terms than this carry.
_FEW_EVENTS, _FEW_TERMS = 30.0, 5.0


@dataclass(frozen=True)
class Estimate:
    """An estimated mean reward.

    Attributes
    ----------
    value : float
        The estimate.
    standard_error : float
        Its standard error, over independent events.
    interval : (float, float)
        A 95 % confidence interval; not symmetric, since a few large weights make what is estimated lean to one side.
    events : int
        The number of events.
    mean_weight : float
        The mean of the importance weights, before any limit on them. It should be near 1: a target that does what the
        log never did has less, and wrong propensities have anything.
    effective_events : float
        How many evenly weighted events the importance weights are worth, (Σw)²/Σw².
    method : str
        How it was computed.
    warnings : tuple of str
        What makes the number doubtful, in sentences; empty where nothing does.
    """

    value: float
    standard_error: float
    interval: tuple[float, float]
    events: int
    mean_weight: float
    effective_events: float
    method: str
    warnings: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The estimate in sentences, warnings included."""
        low, high = self.interval
        first = (
            f"{self.value:.4g}, between {low:.4g} and {high:.4g} with 95 % confidence ({self.method}, {self.events} "
            f"events worth {self.effective_events:.0f}, mean weight {self.mean_weight:.3g})."
        )
        return " ".join([first, *self.warnings])

    def __repr__(self) -> str:
        low, high = self.interval
        text = f"Estimate({self.value:.4g} [{low:.4g}, {high:.4g}], {self.method!r}"
        text += f", mean_weight={self.mean_weight:.3g}, effective_events={self.effective_events:.0f}"
        return f"{text}, warnings={list(self.warnings)})" if self.warnings else f"{text})"


def estimate(
    log: Log, target: Target, method: str = "dr", *, model: RewardModel | None = None, clip: float | None = None
) -> Estimate:
    """Estimate the mean reward of a policy that no longer learns, from the decisions of another that may have.

    The log's propensities must be those with which it chose: then inverse propensity and doubly robust estimates are
    unbiased for every target that never does what the log could not have done. Decision sets are taken to be
    independent of each other.

    Parameters
    ----------
    log : Log
        The decisions. Keep the order in which they were made where the logger learned from them.
    target : Policy, callable or array
        The policy to evaluate: a policy as it is now, which is not modified; a function that gives the
        probability of each row of a decision set; an array (n,) of chosen rows, or (n, K) of probabilities.
    method : {"dr", "ips", "snips", "direct"}
        Doubly robust; inverse propensity; the same, normalized by the sum of its weights; or the reward model
        alone, which is as biased as the model is.
    model : callable, optional
        Gives the expected reward of each row of a decision set, for "dr" and "direct". None fits a ridge
        regression to the log; for "dr" each event is predicted from those before it alone.
    clip : float, optional
        A limit on the importance weights: less variance for some bias.

    Returns
    -------
    Estimate

    References
    ----------
    Dudík, Langford, Li. Doubly Robust Policy Evaluation and Learning. ICML 2011.
    Swaminathan, Joachims. The Self-Normalized Estimator for Counterfactual Learning. NeurIPS 2015.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> actions = rng.standard_normal((500, 3, 2))
    >>> choices = rng.integers(0, 3, 500)
    >>> rewards = actions[np.arange(500), choices, 0]
    >>> best = actions[:, :, 0].argmax(axis=1)  # worth E max of three normal numbers, 0.846
    >>> found = estimate(Log(actions, choices, rewards), best)
    >>> low, high = found.interval
    >>> bool(low < 0.846 < high), found.warnings
    (True, ())
    """
    one_of(method, "method", ("dr", "ips", "snips", "direct"))
    limit = math.inf if clip is None else number(clip, "clip", above=0.0)
    events = _weighed(log, target, _models(log, method, model))
    weights = np.minimum(events.weights, limit)
    if method == "ips":
        terms = weights * log.earned
    elif method == "snips":
        terms = _self_normalized(weights, log.earned)
    else:
        correction = 0.0 if method == "direct" else weights * (log.earned - events.logged)
        terms = events.direct + correction
    squares = float(weights @ weights)
    effective = float(weights.sum()) ** 2 / squares if squares else 0.0
    return Estimate(
        value=float(terms.mean()),
        standard_error=standard_error(terms),
        interval=mean_interval(terms),
        events=len(log),
        mean_weight=float(events.weights.mean()),
        effective_events=effective,
        method=method,
        warnings=() if method == "direct" else tuple(_warnings(events.weights, effective, terms)),
    )


class _Terms(NamedTuple):
    """Of each event: its weight, the target's value by the model, and the model's value of the row chosen."""

    weights: Array
    direct: Array
    logged: Array


def _weighed(log: Log, target: Target, models: Iterator[RewardModel | None]) -> _Terms:
    count = len(log)
    events = _Terms(np.empty(count), np.zeros(count), np.zeros(count))
    for event, (wanted, model) in enumerate(zip(target_probabilities(log, target), models, strict=False)):
        row = log.chosen[event]
        events.weights[event] = wanted[row] / log.probabilities[event]
        if model is not None:
            predicted = np.asarray(model(log.decision_set(event)), dtype=np.float64)
            events.direct[event], events.logged[event] = wanted @ predicted, predicted[row]
    return events


def _models(log: Log, method: str, model: RewardModel | None) -> Iterator[RewardModel | None]:
    """Yield the reward model for each event, None where the method needs none."""
    if method in ("ips", "snips"):
        return repeat(None)
    if model is not None:
        return repeat(model)
    return repeat(reward_model.whole_log(log)) if method == "direct" else reward_model.event_by_event(log)


def _self_normalized(weights: Array, rewards: Array) -> Array:
    """Terms whose mean is Σwr/Σw and whose spread is that of its linearization (the delta method)."""
    total = float(weights.sum())
    if total == 0.0:
        raise ValueError("the target never does what the log did, so the log says nothing about its value.")
    value = float(weights @ rewards) / total
    return np.asarray(value + weights * (rewards - value) * (len(weights) / total))


def _warnings(weights: Array, effective: float, terms: Array) -> Iterator[str]:
    """Yield what makes a weighted estimate doubtful."""
    low, high = mean_interval(weights, _SURE)
    # Weights that are all equal, and propensities that were rounded, are off by rounding.
    if not low - 1e-6 <= 1.0 <= high + 1e-6:
        mean = float(weights.mean())
        reason = (
            "the target does what the log hardly ever did, and what that earns is left out, or the propensities are "
            "not those with which the log chose"
            if mean < 1.0
            else "the propensities are not those with which the log chose"
        )
        yield f"The mean importance weight is {mean:.3g} instead of 1: {reason}."
    if effective < _FEW_EVENTS:
        yield (
            f"The weights are worth only {effective:.3g} evenly weighted events, so that the interval may be too "
            "short: use a log with a higher floor, or more of it."
        )
    lean = standardized_moment(terms, 3) ** 2
    if lean * _FEW_TERMS > len(terms) or np.ptp(terms) == 0.0:
        carried = len(terms) / lean if lean else 0.0
        yield (
            f"The estimate rests on about {carried:.0f} of the events, whose weights or rewards outweigh all others, "
            "so that the interval may be too short."
        )
