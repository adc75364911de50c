"""Layout: the parts of a policy for actions of one length, and how actions become the rows that its belief sees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenbandits import inputs
from eigenbandits.belief.base import Belief
from eigenbandits.component import Component
from eigenbandits.inputs import Array
from eigenbandits.policy.centering import Centering, size_of
from eigenbandits.policy.decision import Decision
from eigenbandits.policy.scoring import Scoring
from eigenbandits.subspace.base import Subspace
from eigenbandits.translation import Encoder


class Layout(Component):
    """The base of `Policy`: a centering, scores, a subspace and a belief, set up when the first action is seen.

    The first choice or reward determines whether there are scores; vectors may be observed before that.
    """

    dim: int | None
    dtype: str
    centering: Centering
    scoring: Scoring
    subspace: Subspace
    belief: Belief
    encoder: Encoder

    def _adopt(self, other: Layout) -> None:
        """Take over the parts of another layout, with everything that they have learned."""
        self.dim, self.dtype = other.dim, other.dtype
        self.centering, self.scoring, self.encoder = other.centering, other.scoring, other.encoder
        self.subspace, self.belief = other.subspace, other.belief

    def _read(self, vectors: Any, dim: int | None = None, what: str = "actions") -> Array:
        """Check vectors (n, d) and return them; refuse vectors of another kind or another encoder."""
        array = inputs.as_actions(vectors, self.dim if dim is None else dim, what=what, dtype=self.dtype)
        if self.encoder.bound is not None:
            self.encoder.check(array, what)
        return array

    @property
    def lifted_dim(self) -> int:
        """The length of the rows that the belief sees: the action, plus an intercept and a score if there are such."""
        return self.centering.lifted_dim + bool(self.scoring.used)

    def _show(self, array: Array, scores: Array | None, observe: bool) -> Array:
        """Show one decision set to the subspace, let the belief follow, and return the set as the belief sees it."""
        if not observe:
            self._refuse_unseen()
        if self.scoring.used is None:
            self._set_up(array, scores, offered=True)
        lifted, center = self.lift(array, scores)
        if observe:
            self.subspace.observe(array, center)
        self.belief.follow(self.subspace.frame())
        return lifted

    def lift(self, array: Array, scores: Array | None) -> tuple[Array, Array | None]:
        """Return a decision set as the belief sees it, with scores, and the center that was subtracted."""
        lifted, center = self.centering.lift(array)
        if scores is not None:
            lifted = self.scoring.append_set(lifted, scores, self.centering.by_set, self.belief.refuted(lifted))
        return lifted, center

    @property
    def rows_depend_on_sets(self) -> bool:
        """Whether the row that the belief learns for an action depends on the rest of its decision set."""
        return self.centering.by_set or self.scoring.relative

    def _lifted(self, decision: Decision) -> Array:
        """Return the row that a decision was made on."""
        action, row = decision.action, decision.lifted
        if self.encoder.changes:
            self.encoder.check_round(decision.round)
        if row is None or row is action:
            # Constructed by the caller, or made with nothing subtracted: the action alone determines the row.
            made = type(action) is np.ndarray and action.shape == (self.dim,) and not action.flags.writeable
            if made and self.centering.kind == "none" and self.scoring.used is False and action.dtype == np.float64:
                return action
            vector = action if made else inputs.as_action(action, self.dim, dtype=self.dtype)
            return np.asarray(self.lift_vectors(vector[None])[0])
        if len(action) != self.dim:
            vector = inputs.as_action(action, self.dim, dtype=self.dtype)
            if self.dim is None:
                if self.centering.around_mean or self.scoring.prior is not None:
                    raise ValueError("this decision was made by another policy; pass its action vector instead.")
                self._set_up(vector[None], None)
        length = self.lifted_dim
        if type(row) is np.ndarray and row.shape == (length,) and not row.flags.writeable:
            # Made by choose(), which checked it, and unchanged since.
            return row
        if np.shape(row) != (length,):
            raise ValueError("this decision was made by a policy that centers in another way; pass one of this policy.")
        return inputs.as_action(row, length, what="the decision's lifted row")

    def lift_vectors(self, vectors: Array, scores: ArrayLike | None = None) -> Array:
        """Return vectors (n, d) as the belief sees them, in double precision."""
        self.centering.refuse_bare_vectors()
        ranks = self.scoring.read(vectors, scores)
        if self.scoring.used is None:
            self._set_up(vectors, ranks)
        lifted: Array = self.centering.lift_vectors(vectors).astype(np.float64, copy=False)
        return lifted if ranks is None else self.scoring.append(lifted, ranks, by_set=False)

    def _refuse_unseen(self) -> None:
        if not self.subspace.ready:
            raise ValueError(
                "observe is False, but the subspace has seen no vectors yet; show it vectors with observe() first."
            )

    def _set_up(self, array: Array, scores: Array | None, offered: bool = False) -> None:
        """Set up the policy at the first choice (`offered`) or reward, which determines whether there are scores."""
        if scores is not None and not self.belief.takes_scores:
            raise self._no_scores(self.belief)
        if self.dim is None or scores is not None:
            self._start(array, scores, offered)
        self.scoring.used = scores is not None

    @staticmethod
    def _no_scores(belief: Belief) -> ValueError:
        return ValueError(
            f"{type(belief).__name__} does not take scores; append them to the actions as one more coordinate instead."
        )

    def _start(self, array: Array, scores: Array | None = None, offered: bool = False) -> None:
        """Set up the parts; or the belief again, if scores arrive with the first choice."""
        parts: tuple[Component, ...] = (self.centering, self.scoring, self.subspace, self.belief)
        fresh = [part.state() for part in parts]
        try:
            if self.dim is None:
                self.centering.start(array, self.belief.intercept)
                self.subspace.start(array.shape[1], self.centering.intercept, self.centering.around_mean)
            if scores is not None:
                centered = self.centering.intercept > 0.0
                self.scoring.start(scores, self.belief.intercept or size_of(array), centered, offered)
            self.belief.start(self.lifted_dim, self.centering.intercept)
            if scores is not None:
                self.belief.take_scores(self.scoring.size)
        except BaseException:
            for part, state in zip(parts, fresh, strict=True):
                part.restore(state)
            raise
        self.dim = array.shape[1]
