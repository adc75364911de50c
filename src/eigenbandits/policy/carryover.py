"""A policy's belief carried over from one encoder's vectors to another's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits import inputs
from eigenbandits.belief.base import Belief
from eigenbandits.inputs import Array
from eigenbandits.policy.centering import Centering, size_of
from eigenbandits.policy.replicas import copy_of
from eigenbandits.policy.scoring import Scoring
from eigenbandits.translation import HELD_OUT, RowMap, VectorMap, fit_map, fit_values

if TYPE_CHECKING:
    from eigenbandits.policy import Policy


# The fewest pairs that a map can be fitted to and checked on; a good map takes more pairs than there are dimensions.
FEWEST = 2 * HELD_OUT


@dataclass(frozen=True)
class Translation:
    """What `Policy.translate` did, measured on the fifth of the pairs that was held out of the fit.

    Attributes
    ----------
    old_dim, new_dim, pairs
        The lengths of the vectors, and the number of items embedded by both encoders.
    method
        "ridge regression" or "rotation", whichever predicted the new vectors better.
    residual
        The share of the new vectors' variance that the old ones do not explain.
    loss
        The share of the variance of the policy's estimates that is lost: 1 − r², where r is the correlation between the
        estimates for the same items before and after.
    guarded
        Whether vectors of the old encoder are recognized and refused from now on. Vectors of a different length always
        are; vectors of the same length only if the encoders' means or variances differ enough.
    """

    old_dim: int
    new_dim: int
    pairs: int
    method: str
    residual: float
    loss: float
    guarded: bool

    @property
    def summary(self) -> list[str]:
        """The same information in sentences."""
        sentences = [
            f"The belief was carried over from {self.old_dim} to {self.new_dim} dimensions by {self.method}, through "
            f"{self.pairs:,} items that both encoders have embedded.",
            f"The old vectors explain {1.0 - self.residual:.0%} of the new ones' variance; the estimates keep "
            f"{1.0 - self.loss:.0%} of their variance.",
        ]
        if not self.guarded:
            sentences.append(
                "Vectors of the two encoders have the same length and similar distributions: a mix-up would not be "
                "noticed."
            )
        if self.pairs < 2 * max(self.old_dim, self.new_dim):
            sentences.append("These are few items for so many dimensions; more items would lose less.")
        return sentences


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Items as embedded by one encoder."""

    vectors: Array
    scores: Array | None

    def take(self, places: NDArray[np.bool_]) -> _Pairs:
        return _Pairs(self.vectors[places], None if self.scores is None else self.scores[places])


def translate(
    policy: Policy,
    old_vectors: ArrayLike,
    new_vectors: ArrayLike,
    old_scores: ArrayLike | None = None,
    new_scores: ArrayLike | None = None,
) -> Translation:
    """Carry a policy's belief over to the vectors of another encoder; see `Policy.translate`."""
    old, new = _read(policy, old_vectors, new_vectors, old_scores, new_scores)
    _refuse(policy)
    work, before = copy_of(policy), copy_of(policy)
    held_out = np.zeros(len(old.vectors), dtype=bool)
    # The held-out pairs depend only on the number of pairs, so that the policy's own generator does not advance.
    order = np.random.default_rng(len(held_out)).permutation(len(held_out))
    held_out[order[: len(held_out) // HELD_OUT]] = True
    (old_fit, old_held_out), (new_fit, new_held_out) = ((one.take(~held_out), one.take(held_out)) for one in (old, new))
    vectors = (old_fit.vectors, old_held_out.vectors), (new_fit.vectors, new_held_out.vectors)
    mapping = fit_map(*vectors, centered=policy.centering.kind != "none")
    _lay_out(work, new, old)
    change = _row_map(before, work, mapping, (old_fit, old_held_out), (new_fit, new_held_out))
    work.belief.translate(change, np.random.default_rng(len(held_out)))
    if not before.subspace.ready:
        before.subspace.observe_all(old.vectors, before.centering.center_of(old.vectors))
    before.belief.follow(before.subspace.frame())
    rows = _lifted(work, new_fit, mapping.new_mean), _lifted(work, new_held_out, mapping.new_mean)
    values = _values(before, old_fit, mapping.old_mean), _values(before, old_held_out, mapping.old_mean)
    work.belief.expect(fit_values(rows, values))
    work.belief.follow(work.subspace.frame())
    work.encoder.change(work.round, *vectors)
    loss = _loss(values[1], _values(work, new_held_out, mapping.new_mean))
    policy.restore(work.state())
    assert before.dim is not None and work.dim is not None
    guarded = before.dim != work.dim or work.encoder.bound is not None
    return Translation(before.dim, work.dim, len(held_out), mapping.method, mapping.residual, loss, guarded)


def _read(
    policy: Policy, old: ArrayLike, new: ArrayLike, old_scores: ArrayLike | None, new_scores: ArrayLike | None
) -> tuple[_Pairs, _Pairs]:
    """Check the arguments."""
    if policy.dim is None:
        raise ValueError("this policy has seen no vectors yet, so there is nothing to translate; make a new one.")
    first = inputs.as_actions(old, policy.dim, what="old_vectors", dtype=policy.dtype).astype(np.float64)
    second = inputs.as_actions(new, None, what="new_vectors", dtype=policy.dtype).astype(np.float64)
    if len(first) != len(second):
        raise ValueError(
            f"old_vectors has {len(first)} rows and new_vectors {len(second)}; expected the same items in both, "
            "in the same order."
        )
    if len(first) < FEWEST:
        raise ValueError(f"old_vectors has {len(first)} rows; expected at least {FEWEST} items; thousands are better.")
    policy.encoder.check(first, "old_vectors")
    prior = policy.scoring.prior
    if prior is not None and (callable(prior) or np.ndim(prior)):
        raise ValueError(
            "this policy has a prior for the vectors of one encoder; pass its scores to choose(scores=) instead of "
            "prior=, or make a new policy with the new encoder's prior and let it learn from the log again."
        )
    if prior is None and bool(policy.scoring.used) != (old_scores is not None and new_scores is not None):
        raise ValueError(
            "old_scores and new_scores are expected, one for each item, as this policy was given scores."
            if policy.scoring.used
            else "old_scores or new_scores are given, but this policy has been used without scores; leave them out."
        )
    ranks = [policy.scoring.read(rows, given) for rows, given in ((first, old_scores), (second, new_scores))]
    return _Pairs(first, ranks[0]), _Pairs(second, ranks[1])


def _refuse(policy: Policy) -> None:
    """Raise an error if the belief does not define how its state is carried over."""
    belief = policy.belief
    owner = next(kind for kind in type(belief).__mro__ if "translate" in vars(kind))
    if owner is not Belief and not set(belief._state_names) <= set(getattr(owner, "_state_names", ())):
        raise ValueError(
            f"a belief of type {type(belief).__name__} does not define how its state is carried over; "
            "give it a method translate()."
        )


def _lay_out(work: Policy, new: _Pairs, old: _Pairs) -> None:
    """Start everything but the belief afresh for the new vectors, and let the subspace observe them."""
    around_mean = work.centering.around_mean
    work.centering = Centering(work.centering.kind)
    work.centering.start(new.vectors, work.belief.intercept)
    work.subspace = work.subspace.restarted()
    work.subspace.start(new.vectors.shape[1], work.centering.intercept, around_mean)
    work.subspace.observe_all(new.vectors, work.centering.center_of(new.vectors))
    work.dim = new.vectors.shape[1]
    if new.scores is not None and old.scores is not None:
        # In the units of the old scores: the same mean, and the same spread relative to the size of an action.
        scoring, size = work.scoring, work.belief.intercept or size_of(new.vectors)
        spreads = [float(one.std()) or 1.0 for one in (old.scores, new.scores)]
        made = Scoring(scoring.prior)
        made.used, made.size, made.relative = True, size, scoring.relative
        made.unit = scoring.unit * spreads[1] / spreads[0] * scoring.size / size
        shift = (float(old.scores.mean()) - scoring.origin) / scoring.unit * size / scoring.size
        made.origin = float(new.scores.mean()) - shift * made.unit if work.centering.intercept else 0.0
        work.scoring = made


def _lifted(policy: Policy, pairs: _Pairs, mean: Array) -> Array:
    """Return pairs as the belief sees them; if each set has its own center, their common mean is subtracted."""
    centering = policy.centering
    if centering.by_set:
        rows = centering.lift_around(pairs.vectors, np.broadcast_to(mean, pairs.vectors.shape))
    else:
        rows = centering.lift_vectors(pairs.vectors)
    if pairs.scores is None:
        return rows
    return policy.scoring.append(rows, pairs.scores, centering.by_set)


def _row_map(
    before: Policy, work: Policy, mapping: VectorMap, old: tuple[_Pairs, _Pairs], new: tuple[_Pairs, _Pairs]
) -> RowMap:
    """Return the map of lifted rows that follows from the map of vectors, and its residual on the held-out pairs."""
    dim, width = mapping.matrix.shape
    matrix = np.zeros((before.lifted_dim, work.lifted_dim))
    matrix[:dim, :width] = mapping.matrix
    intercept, new_intercept = before.centering.intercept, work.centering.intercept
    if intercept:
        matrix[dim, width] = new_intercept / intercept
        if not work.centering.by_set:
            # What the means are away from the references of both centerings goes into the intercept's row.
            offset = mapping.old_mean - _reference(before, dim)
            new_offset = mapping.new_mean - _reference(work, width)
            matrix[dim, :width] = (new_offset - offset @ mapping.matrix) / intercept
    if old[0].scores is not None:
        scores = _lifted(before, old[0], mapping.old_mean)[:, -1]
        new_scores = _lifted(work, new[0], mapping.new_mean)[:, -1]
        matrix[-1, -1] = _slope(scores - scores.mean(), new_scores - new_scores.mean())
    held_out_old, held_out_new = _lifted(before, old[1], mapping.old_mean), _lifted(work, new[1], mapping.new_mean)
    residuals = held_out_new - held_out_old @ matrix
    longest = float(np.sqrt(np.square(held_out_new).sum(axis=1).max()))
    return RowMap(
        matrix,
        residuals.T @ residuals / len(residuals),
        longest,
        new_intercept,
        work.scoring.size if work.scoring.used else 0.0,
    )


def _reference(policy: Policy, dim: int) -> Array:
    """Return the vector that a policy's centering subtracts in its lifted rows."""
    return np.zeros(dim) if policy.centering.reference is None else policy.centering.reference


def _slope(first: Array, second: Array) -> float:
    """Return the least-squares factor from one vector to another; 1 if the first is zero."""
    square = float(first @ first)
    return float(first @ second) / square if square > 0.0 else 1.0


def _values(policy: Policy, pairs: _Pairs, mean: Array) -> Array:
    return policy.belief.linear(_lifted(policy, pairs, mean)).estimates()


def _loss(before: Array, after: Array) -> float:
    """Return 1 − r² for the correlation r of two vectors; if the first is constant, nothing is lost."""
    first, second = before - before.mean(), after - after.mean()
    variance = float(first @ first)
    if variance <= 1e-24 * float(before @ before):
        return 0.0
    variance_after = float(second @ second)
    return 1.0 - max(float(first @ second), 0.0) ** 2 / (variance * variance_after) if variance_after > 0.0 else 1.0
