"""Scoring: scores of actions from an existing ranker, as one more coordinate of lifted rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from eigenbandits import inputs
from eigenbandits.belief.base import Rows
from eigenbandits.component import Component
from eigenbandits.inputs import Array

Prior = float | ArrayLike | Callable[[Array], ArrayLike]


class Scoring(Component):
    """Reads the scores of actions, and appends them to lifted rows in units of their own.

    If there is an intercept, and a decision set comes first, an action's score is taken relative to the best of the
    others in its set: s(x) − max s(y) over y ≠ x, which ranks as the score does. The actions chosen are mostly those
    that the score ranks first. Where one answer is right, their rewards say little about how far behind the next one
    is: among first ranks the score's level varies, and its slope there is a fraction of the drop from the first to the
    second. The lead over the second varies among first ranks too, and has the slope of that drop.
    An action that has turned out to be wrong is no rival any longer (`append_set`).

    Multiplying all scores by a positive number changes nothing; nor does adding a constant to them, if there is an
    intercept. The unit is the standard deviation of the first scores. A vector given without its set is scored relative
    to the second best of the first set, or to the mean if vectors without a set came first.

    Parameters
    ----------
    prior
        The source of scores if they do not come with the actions: a vector θ₀ for x ↦ xᵀθ₀, a number for a θ₀ with that
        value in every entry, or a function of the actions (K, d).

    Examples
    --------
    >>> scoring = Scoring(prior=1.0)
    >>> scores = scoring.read(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> scoring.start(scores, size=1.0, offered=True)
    >>> scoring.append_set(np.zeros((2, 1)), scores, by_set=False)
    array([[ 0., -2.], [ 0.,  2.]])
    """

    _state_names: ClassVar[tuple[str, ...]] = ("used", "origin", "unit", "size", "relative")

    def __init__(self, prior: Prior | None = None) -> None:
        if prior is not None and not callable(prior):
            prior = (
                inputs.number(prior, "prior") if np.ndim(prior) == 0 else inputs.as_action(prior, None, what="prior")
            )
        self.prior: Any = prior
        # Whether actions have scores; None until the first choice or reward.
        self.used: bool | None = None
        # What is subtracted from the scores, what the result is divided by, and the size of the quotient.
        self.origin = 0.0
        self.unit = 1.0
        self.size = 1.0
        # Whether the scores in a decision set are taken relative to each other.
        self.relative = False

    def start(self, scores: Array, size: float, centered: bool = True, offered: bool = False) -> None:
        """Set the units from the first scores, those of one set if `offered`: their standard deviation becomes `size`.

        Without an intercept, scores are neither centered nor relative, since nothing could make up for the shift.
        """
        self.used, self.size = True, size
        self.relative = centered and offered and len(scores) > 1
        self.origin = float(np.partition(scores, -2)[-2] if self.relative else scores.mean()) if centered else 0.0
        # A single score, or scores equal up to rounding, have no spread; their unit is their own size.
        spread, largest = float(scores.std()), float(np.abs(scores).max())
        self.unit = (spread if spread > 1e-9 * largest else largest or 1.0) / size

    def read(self, actions: Array, given: Any = None, what: str = "scores") -> Array | None:
        """Return the scores (n,) of actions (n, d), given or from the prior; None if there are none."""
        if self.prior is not None:
            if given is not None:
                raise ValueError(
                    f"{what} and a prior were given; expected only one of them, since the prior supplies the scores."
                )
            given = self._by_prior(actions)
            what = "prior(actions)"
        if given is None:
            if self.used:
                raise ValueError(
                    f"{what} is missing; expected one for each action, since this policy was given scores before."
                )
            return None
        if self.used is False:
            raise ValueError(
                f"{what} is given, but this policy has been used without scores; expected them from the first call on."
            )
        return inputs.as_scores(given, len(actions), what=what)

    def read_many(self, sets: Sequence[Array], given: Any = None) -> list[Array | None]:
        """Return the scores of many decision sets."""
        if given is None:
            return [self.read(actions) for actions in sets]
        each = list(given)
        if len(each) != len(sets):
            raise ValueError(f"scores has {len(each)} entries; expected {len(sets)}, one for each decision set.")
        named = (f"scores for decision set {place}" for place in range(len(sets)))
        ranks = [self.read(*one) for one in zip(sets, each, named, strict=True)]
        if any(one is None for one in ranks) and any(one is not None for one in ranks):
            raise ValueError("scores are given for some of the decision sets; expected them for all, or for none.")
        return ranks

    def change_from(self, other: Scoring, by_set: bool) -> tuple[float, float] | None:
        """Return the factor and the offset that map another replica's scores to ours; None if there are none."""
        if not self.used or not other.used:
            return None
        # The reference of a decision set's scores is the same for both.
        free = by_set or other.relative
        return other.unit / self.unit, 0.0 if free else (other.origin - self.origin) / self.unit

    def append_set(self, lifted: Array, scores: Array, by_set: bool, refuted: Rows | None = None) -> Array:
        """Return the lifted rows of a decision set with the scores as the last coordinate.

        Refuted actions are nobody's rivals, unless fewer than two actions are left.
        """
        if not self.relative or len(scores) < 2:
            return self.append(lifted, scores, by_set)
        rivals = scores
        if refuted is not None and len(refuted) < len(scores) - 1:
            rivals = scores.copy()
            rivals[refuted] = -np.inf
        best = int(rivals.argmax())
        others = np.full(len(scores), rivals[best])
        others[best] = np.partition(rivals, -2)[-2]
        return _joined(lifted, (scores - others) / self.unit)

    def append(self, lifted: Array, scores: Array, by_set: bool) -> Array:
        """Return lifted rows with their own scores as the last coordinate, less their mean if sets are centered."""
        return _joined(lifted, (scores - (scores.mean() if by_set else self.origin)) / self.unit)

    def _by_prior(self, actions: Array) -> ArrayLike:
        if callable(self.prior):
            scores: ArrayLike = self.prior(actions)
            return scores
        theta = np.full(actions.shape[1], self.prior) if np.ndim(self.prior) == 0 else self.prior
        if len(theta) != actions.shape[1]:
            raise ValueError(f"prior has length {len(theta)}; expected {actions.shape[1]}, that of the actions.")
        # Row by row, so that a vector has the same score, to the last bit, in every set.
        return np.asarray((actions * theta).sum(axis=1))


def _joined(lifted: Array, column: Array) -> Array:
    joined = np.empty((*lifted.shape[:-1], lifted.shape[-1] + 1), dtype=lifted.dtype)
    joined[..., :-1] = lifted
    joined[..., -1] = column
    return joined
