"""A ridge model of the rewards of a log, for estimates that correct a model: each event by those before it alone."""

from collections.abc import Callable, Iterator

import numpy as np

from eigenbandits.inputs import Array
from eigenbandits.offpolicy.log import Log

Predict = Callable[[Array], Array]
# Events between two fits, as a part of those known: some twenty fits in a log of a hundred thousand.
_GROWTH = 0.5
# Ridges that are tried, as multiples of the actions' mean energy in a direction: from next to nothing to nearly all.
_RIDGES = np.logspace(-4.0, 3.0, 15)
# Events read at a time.
_BLOCK = 4096


class Sums:
    """Sums over events from which the model follows: n, Σx, Σr, Σxxᵀ, Σrx and Σr²."""

    def __init__(self, dim: int) -> None:
        self.count = 0
        self.actions = np.zeros(dim)
        self.rewards = self.squares = 0.0
        self.gram = np.zeros((dim, dim))
        self.moment = np.zeros(dim)

    def add(self, actions: Array, rewards: Array) -> None:
        """Take in the chosen actions (n, d) of some events, and their rewards."""
        self.count += len(rewards)
        self.actions += actions.sum(axis=0)
        self.rewards += float(rewards.sum())
        self.squares += float(rewards @ rewards)
        self.gram += actions.T @ actions
        self.moment += rewards @ actions

    def fit(self) -> Predict:
        """Return the ridge model with an intercept whose ridge has the least generalized cross-validation error.

        With ℓ the eigenvalues of the centered Gram matrix, c = Uᵀ(Σrx) and f = Σℓ/(ℓ + λ) degrees of freedom besides
        the intercept's, that error is (Σr² − Σc²(ℓ + 2λ)/(ℓ + λ)²)/(1 − (f + 1)/n)² (Golub, Heath and Wahba 1979).
        """
        if self.count == 0:
            return lambda actions: np.zeros(len(actions))
        center, mean = self.actions / self.count, self.rewards / self.count
        gram = self.gram - self.count * np.multiply.outer(center, center)
        values, vectors = np.linalg.eigh(gram)
        values = np.maximum(values, 0.0)
        energy = float(values.mean())
        # What is below this is rounding in the sums.
        if energy <= 1e-14 * float(np.trace(self.gram)) or self.count < 3:
            return lambda actions: np.full(len(actions), mean)
        scores = vectors.T @ (self.moment - self.count * mean * center)
        squares = max(self.squares - self.count * mean**2, 0.0)
        ridges = _RIDGES[:, None] * energy
        residual = squares - (scores**2 * (values + 2.0 * ridges) / (values + ridges) ** 2).sum(axis=1)
        free = 1.0 - ((values / (values + ridges)).sum(axis=1) + 1.0) / self.count
        errors = np.where(free > 0.0, np.maximum(residual, 0.0) / np.maximum(free, 1e-12) ** 2, np.inf)
        theta = vectors @ (scores / (values + ridges[int(errors.argmin())]))
        return lambda actions: np.asarray(mean + (actions - center) @ theta)


def whole_log(log: Log) -> Predict:
    """Return the model of all events."""
    sums = Sums(log.decision_set(0).shape[1])
    _add(log, sums, 0, len(log))
    return sums.fit()


def event_by_event(log: Log) -> Iterator[Predict]:
    """Yield for each event a model of the events before it, which is fitted again whenever there are half as many more.

    A logger that learns makes every choice from the rewards before it, so that a model which has seen a later event
    has seen something that depends on this one. Only the past keeps the correction unbiased (Zhan et al. 2021).

    References
    ----------
    Zhan, Hadad, Hirshberg, Athey. Off-Policy Evaluation via Adaptive Weighting with Data from Contextual Bandits.
    KDD 2021.
    """
    sums = Sums(log.decision_set(0).shape[1])
    model, due = sums.fit(), 1
    for event in range(len(log)):
        if event == due:
            _add(log, sums, sums.count, event)
            model, due = sums.fit(), event + max(1, int(_GROWTH * event))
        yield model


def _add(log: Log, sums: Sums, start: int, stop: int) -> None:
    for low in range(start, stop, _BLOCK):
        events = range(low, min(low + _BLOCK, stop))
        rows = np.array([log.sets[event][log.chosen[event]] for event in events], dtype=np.float64)
        sums.add(rows, log.earned[low : events[-1] + 1])
