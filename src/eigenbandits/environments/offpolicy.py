"""What a policy would have earned on logged decisions: inverse-propensity and doubly robust estimates."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from eigenbandits.environments.log import Log
from eigenbandits.inputs import Array, number, one_of, whole

if TYPE_CHECKING:
    from eigenbandits.policy import Policy

Model = Callable[[Array], ArrayLike]
# Small enough not to matter, large enough that a log with repeated actions can be fitted.
_RIDGE = 1e-3


@dataclass(frozen=True)
class Estimate:
    """An estimated mean reward.

    Attributes
    ----------
    value : float
        The estimate.
    standard_error : float
        Its standard error, over independent events.
    effective_events : float
        How many evenly weighted events the importance weights are worth, (Σw)²/Σw²; few of them make an estimate,
        and its standard error too, hard to trust.
    method : str
        How it was made.
    """

    value: float
    standard_error: float
    effective_events: float
    method: str

    @property
    def interval(self) -> tuple[float, float]:
        """A 95 % confidence interval, for many events."""
        return self.value - 1.959964 * self.standard_error, self.value + 1.959964 * self.standard_error


def estimate(
    log: Log, target: Any, method: str, model: Model | None = None, clip: float | None = None, draws: int = 100
) -> Estimate:
    """Estimate the mean reward of a target policy; see `Replay.value`."""
    one_of(method, "method", ("dr", "ips", "snips", "direct"))
    limit = math.inf if clip is None else number(clip, "clip", above=0.0)
    wanted = list(target_probabilities(log, target, whole(draws, "draws")))
    on_chosen = np.array([p[row] for p, row in zip(wanted, log.chosen, strict=True)])
    weights = np.minimum(on_chosen / log.probabilities, limit)
    if method == "ips":
        terms = weights * log.earned
    elif method == "snips":
        terms = _self_normalised(weights, log.earned)
    else:
        predicted = _predictions(log, model)
        direct = np.array([float(p @ q) for p, q in zip(wanted, predicted, strict=True)])
        on_logged = np.array([q[row] for q, row in zip(predicted, log.chosen, strict=True)])
        terms = direct if method == "direct" else direct + weights * (log.earned - on_logged)
    error = float(terms.std(ddof=1)) / math.sqrt(len(terms)) if len(terms) > 1 else math.nan
    squares = float(weights @ weights)
    return Estimate(float(terms.mean()), error, float(weights.sum()) ** 2 / squares if squares else 0.0, method)


def target_probabilities(log: Log, target: Any, draws: int) -> Iterator[Array]:
    """Give for each event the probability with which the target would choose each row."""
    from eigenbandits.policy import Policy

    if isinstance(target, Policy):
        yield from _policy_probabilities(log, target, draws)
        return
    if not callable(target):
        target = np.asarray(target)
        if len(target) != len(log):
            raise ValueError(f"target holds {len(target)} entries; expected {len(log)}, one for each event.")
        if target.ndim == 1 and target.dtype.kind not in "iu":
            raise ValueError(f"target holds {target.dtype.name} values; expected rows, which are whole numbers.")
    for event in range(len(log)):
        size = int(log.sizes[event])
        if callable(target):
            found = np.asarray(target(log.decision_set(event)), dtype=np.float64)
        elif target.ndim == 1:
            if not 0 <= target[event] < size:
                raise ValueError(
                    f"target chooses row {target[event]} of {size} at event {event}; expected a row of it."
                )
            found = np.eye(size)[target[event]]
        else:
            found = np.asarray(target[event], dtype=np.float64)
        if found.shape != (size,) or found.min() < 0.0 or not math.isclose(float(found.sum()), 1.0, abs_tol=1e-6):
            raise ValueError(f"target gives {found} at event {event}; expected {size} probabilities that add up to 1.")
        yield found


def _policy_probabilities(log: Log, policy: Policy, draws: int) -> Iterator[Array]:
    """Ask a copy of the policy, put back to its state after every event, for its choices."""
    from eigenbandits import files

    frozen = files.from_bytes(files.to_bytes(policy), "the policy")
    state = copy.deepcopy(frozen.state())
    for event in range(len(log)):
        actions = log.decision_set(event)
        counts = np.zeros(len(actions))
        for draw in range(draws):
            decision = frozen.choose(actions, observe=draw == 0)
            counts[decision.index] += 1.0
            if decision.propensity is None:
                break
        luck = frozen.rng.bit_generator.state
        frozen.restore(state)
        # The policy is put back, but the next event's draws must not repeat these.
        frozen.rng.bit_generator.state = luck
        yield counts / counts.sum()


def _self_normalised(weights: Array, rewards: Array) -> Array:
    """Terms whose mean is Σwr/Σw and whose spread is that of its linearisation (the delta method)."""
    total = float(weights.sum())
    if total == 0.0:
        raise ValueError("the target never does what the log did, so the log says nothing of its value.")
    value = float(weights @ rewards) / total
    return np.asarray(value + weights * (rewards - value) * (len(weights) / total))


def _predictions(log: Log, model: Model | None) -> list[Array]:
    if model is not None:
        return [np.asarray(model(log.decision_set(event)), dtype=np.float64) for event in range(len(log))]
    # Cross-fitting: an event is judged by a model that has not seen it, which keeps the estimate unbiased.
    halves = [_ridge(log, fold) for fold in (1, 0)] if len(log) > 1 else [lambda actions: np.zeros(len(actions))]
    return [halves[event % len(halves)](log.decision_set(event)) for event in range(len(log))]


def _ridge(log: Log, fold: int) -> Callable[[Array], Array]:
    """Fit rewards by the chosen actions and an intercept on every second event, from `fold` on."""
    events = range(fold, len(log), 2)
    x = np.array([log.sets[event][log.chosen[event]] for event in events], dtype=np.float64)
    rewards = log.earned[fold::2]
    center, mean = x.mean(axis=0), float(rewards.mean())
    gram = (x - center).T @ (x - center)
    gram[np.diag_indices_from(gram)] += _RIDGE * (float(np.trace(gram)) / len(gram) or 1.0)
    theta = np.linalg.solve(gram, (x - center).T @ (rewards - mean))
    return lambda actions: mean + (actions - center) @ theta
