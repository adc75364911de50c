"""Policy and Decision: the one loop that every algorithm shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, ClassVar, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits import inputs
from eigenbandits.belief.base import Belief
from eigenbandits.centering import Centering
from eigenbandits.component import Component
from eigenbandits.diagnostics import Diagnostics
from eigenbandits.rules.base import Choice, Rule
from eigenbandits.subspace.base import Subspace

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Decision:
    """A choice made by a policy; hand it back with its reward, now or later.

    Attributes
    ----------
    index
        Which row of the decision set was chosen.
    action
        The row itself.
    round
        The policy's round, from 1.
    estimate
        The estimated value of the action.
    upper
        The optimistic (or sampled) value that won.
    propensity
        The probability with which the action was chosen, where the rule is randomised.
    lifted
        The row that the choice was made on, as the belief sees it: centered, and with an intercept where there is one.
    forecast
        What the belief said of the decision, where it learns from its own forecasts.
    """

    index: int
    action: Array
    round: int
    estimate: float
    upper: float
    propensity: float | None = None
    lifted: Array | None = field(default=None, repr=False)
    forecast: Array | None = field(default=None, repr=False)
    _model: Callable[[], Array] | None = field(default=None, repr=False)

    # By hand: one is made in every round, and the __init__ of a frozen dataclass takes four times as long.
    def __init__(
        self,
        index: int,
        action: Array,
        round: int,
        estimate: float,
        upper: float,
        propensity: float | None = None,
        lifted: Array | None = None,
        forecast: Array | None = None,
        _model: Callable[[], Array] | None = None,
    ) -> None:
        fields = self.__dict__
        fields["index"] = index
        fields["action"] = action
        fields["round"] = round
        fields["estimate"] = estimate
        fields["upper"] = upper
        fields["propensity"] = propensity
        fields["lifted"] = lifted
        fields["forecast"] = forecast
        fields["_model"] = _model

    @property
    def model(self) -> Array:
        """The model θ̃ (d,) that the choice followed, computed when asked for."""
        if self._model is None:
            raise ValueError("this decision carries no model; only decisions that come from choose() do.")
        # A copy, since what stands behind it may be the belief's own; an intercept is no part of θ̃.
        return np.array(self._model()[: len(self.action)])

    @property
    def projection(self) -> Array | None:
        """The projection P̃ (d, d) that belongs to the model, computed when asked for.

        Where the rule is "joint" and the ambient set has not decided alone; else None.
        """
        found: Callable[[], Array] | None = getattr(self._model, "projection", None)
        return None if found is None else found()


class Policy(Component):
    """A subspace, a belief and a rule, joined into something that chooses and learns.

    Parameters
    ----------
    subspace
        Where θ* lives.
    belief
        What θ* can still be.
    rule
        Which action follows from the belief.
    center
        What is taken off the actions: "none", "mean", "set" or "differences"; see `centering.Centering`.
    seed
        Seed of the policy's own randomness.
    dtype
        "float32" reads decision sets in single precision, at half the memory traffic; sums, factors and radii stay in
        double precision, as rounding there would add up over rounds.

    Examples
    --------
    >>> import eigenbandits as eb
    >>> policy = eb.Policy(eb.subspace.Whole(), eb.belief.Ambient(noise=0.1), eb.rules.Optimism())
    >>> decision = policy.choose([[1.0, 0.0], [0.0, 2.0]])
    >>> decision.index
    1
    >>> policy.learn(decision, 0.5)
    """

    _state_names: ClassVar[tuple[str, ...]] = ("dim", "round", "centering", "subspace", "belief", "rule", "rng")

    def __init__(
        self,
        subspace: Subspace,
        belief: Belief,
        rule: Rule,
        center: str = "none",
        seed: int | None = None,
        dtype: str = "float64",
    ) -> None:
        self.center = center
        self.seed = seed
        self._compose(subspace, belief, rule, center=center, seed=seed, dtype=dtype)

    def _compose(
        self,
        subspace: Subspace,
        belief: Belief,
        rule: Rule,
        *,
        center: str = "none",
        seed: int | None = None,
        dtype: str = "float64",
    ) -> None:
        self.dtype = inputs.one_of(dtype, "dtype", ("float64", "float32"))
        self.centering = Centering(center)
        if self.centering.around_mean and not subspace.finds_around_mean:
            raise ValueError(
                f"center is 'mean', but {type(subspace).__name__} cannot follow a running mean; "
                "expected 'none', 'set' or 'differences'."
            )
        missing = [name for name in rule.needs if name not in belief.offers]
        if missing:
            raise ValueError(
                f"{type(rule).__name__} needs {' and '.join(missing)}, but {type(belief).__name__} offers only "
                f"{', '.join(belief.offers)}."
            )
        self.subspace = subspace
        self.belief = belief
        self.rule = rule
        self.rng = np.random.default_rng(seed)
        self.dim: int | None = None
        self.round = 0

    def observe(self, vectors: ArrayLike) -> None:
        """Sharpen the subspace with vectors (n, d) that have no reward: a catalogue, yesterday's traffic."""
        array = inputs.as_actions(vectors, self.dim, what="vectors", dtype=self.dtype)
        self._start(array)
        self.subspace.observe(array, self.centering.center_of(array))

    def choose(self, actions: ArrayLike, observe: bool = True) -> Decision:
        """Choose one row of a decision set (K, d); K may differ from round to round.

        Parameters
        ----------
        actions
            The decision set.
        observe
            Whether the subspace takes note of the actions; False leaves it as it is, for replays and for hosts that
            have shown it enough.
        """
        array = inputs.as_actions(actions, self.dim, dtype=self.dtype)
        if not observe:
            self._refuse_unseen()
        if self.dim is None:
            self._start(array)
        lifted, center = self.centering.lift(array)
        subspace, belief = self.subspace, self.belief
        if observe:
            subspace.observe(array, center)
        belief.follow(subspace.frame())
        view = belief.view(lifted)
        choice = self.rule.choose(view, array.shape[0], self.rng)
        estimate = view.estimate(choice.index)
        belief.note(choice.finding)
        self.round += 1
        return self._decision(choice, array, lifted, estimate, self.round)

    def choose_many(self, decision_sets: Iterable[ArrayLike], observe: bool | Sequence[bool] = True) -> list[Decision]:
        """Choose one row of each of many independent decision sets, all against the belief as it is now.

        The same as choosing in one after the other without learning in between, but that the subspace sees all of
        them first and that the arithmetic is done at once: a page of 100 users costs little more than one.

        Parameters
        ----------
        decision_sets
            Arrays (K, d), of which K may differ; or one array (n, K, d).
        observe
            As for `choose`, for all of them or one for each.

        Returns
        -------
        list of Decision
            One for each set, in order.
        """
        arrays: list[Array] = []
        for actions in decision_sets:
            known = self.dim if not arrays else arrays[0].shape[1]
            arrays.append(inputs.as_actions(actions, known, what=f"decision set {len(arrays)}", dtype=self.dtype))
        shown = [observe] * len(arrays) if isinstance(observe, bool) else list(observe)
        if len(shown) != len(arrays):
            raise ValueError(f"observe has {len(shown)} entries; expected {len(arrays)}, one for each decision set.")
        if not arrays:
            return []
        if not any(shown):
            self._refuse_unseen()
        self._start(arrays[0])
        rows, centers = zip(*(self.centering.lift(array) for array in arrays), strict=True)
        for array, center, seen in zip(arrays, centers, shown, strict=True):
            if seen:
                self.subspace.observe(array, center)
        self.belief.follow(self.subspace.frame())
        view = self.belief.view(np.concatenate(rows))
        sizes = [len(array) for array in arrays]
        choices = self.rule.choose_many(view, sizes, self.rng)
        estimates = view.estimates()
        starts = np.cumsum([0, *sizes[:-1]]).tolist()
        decisions = []
        for choice, array, lifted, start in zip(choices, arrays, rows, starts, strict=True):
            self.belief.note(choice.finding)
            self.round += 1
            estimate = float(estimates[start + choice.index])
            decisions.append(self._decision(choice, array, lifted, estimate, self.round))
        return decisions

    def _decision(self, choice: Choice, array: Array, lifted: Array, estimate: float, round_: int) -> Decision:
        action = array[choice.index].copy()
        action.setflags(write=False)
        row = action if lifted is array and action.dtype == np.float64 else lifted[choice.index].astype(np.float64)
        row.setflags(write=False)
        said = None if choice.finding is None else choice.finding.forecast
        return Decision(
            choice.index, action, round_, estimate, choice.upper, choice.propensity, row, said, choice.model
        )

    def learn(self, action: Decision | ArrayLike, reward: float) -> None:
        """Take in the reward of a decision, or of an action vector (d,); the order does not matter."""
        value = inputs.as_reward(reward)
        forecast = None
        if isinstance(action, Decision):
            lifted, forecast = self._lifted(action), action.forecast
        else:
            lifted = self._bare(inputs.as_action(action, self.dim, dtype=self.dtype))
        try:
            self.belief.learn(lifted, value, forecast)
        except BaseException:
            self.belief.recover()
            raise

    def learn_many(self, actions: Sequence[Decision] | ArrayLike, rewards: ArrayLike) -> None:
        """Take in a batch: (n, d) action vectors, or n decisions, and n rewards."""
        if _are_decisions(actions):
            values = inputs.as_rewards(rewards, len(actions))
            lifted = np.array([self._lifted(decision) for decision in actions])
            forecasts = [decision.forecast for decision in actions]
        else:
            array = inputs.as_actions(actions, self.dim, dtype=self.dtype)
            values = inputs.as_rewards(rewards, len(array))
            lifted = self._bare(array)
            forecasts = None
        try:
            self.belief.learn_many(lifted, values, forecasts)
        except BaseException:
            self.belief.recover()
            raise

    def diagnostics(self) -> Diagnostics:
        """Return what the policy knows about itself: rank, spectrum, noise, warnings, and a summary in sentences.

        Looking changes nothing.
        """
        found: dict[str, Any] = {"policy": repr(self), "rounds": self.round, "dim": self.dim}
        if self.dim is not None:
            found |= self.subspace.diagnostics() | self.belief.diagnostics(self.subspace.current())
        return Diagnostics.gather(found | {"center": self.centering.kind})

    def save(self, path: str | PathLike[str]) -> None:
        """Write the policy to a file, whole or not at all; `eigenbandits.load` goes on bit for bit."""
        from eigenbandits import files

        files.save(self, path)

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("policies are not pickled: use policy.save(path) and eigenbandits.load(path).")

    def _lifted(self, decision: Decision) -> Array:
        """Return the row that a decision was made on."""
        action, row = decision.action, decision.lifted
        if row is None or row is action:
            # Made by hand, or with nothing taken off: as good as its vector.
            made = type(action) is np.ndarray and action.shape == (self.dim,) and not action.flags.writeable
            return self._bare(action if made else inputs.as_action(action, self.dim, dtype=self.dtype))
        vector = inputs.as_action(action, self.dim, dtype=self.dtype) if len(action) != self.dim else action
        if self.dim is None:
            if self.centering.around_mean:
                raise ValueError("this decision was made by another policy; hand in its action vector instead.")
            self._start(vector[None])
        length = self.centering.lifted_dim
        if type(row) is np.ndarray and row.shape == (length,) and not row.flags.writeable:
            # Made by choose(), which has checked it, and unchanged since.
            return row
        if np.shape(row) != (length,):
            raise ValueError("this decision was made by a policy that centers in another way; hand in its own.")
        return inputs.as_action(row, length, what="the decision's lifted row")

    def _bare(self, vectors: Array) -> Array:
        """Return a vector, or many, as the belief sees them, in double precision."""
        self.centering.refuse_bare_vectors()
        if self.dim is None:
            self._start(np.atleast_2d(vectors))
        return self.centering.lift_vectors(vectors).astype(np.float64, copy=False)

    def _refuse_unseen(self) -> None:
        if not self.subspace.ready:
            raise ValueError(
                "observe is False, but the subspace has seen no vectors yet; show it some with observe() first."
            )

    def _start(self, array: Array) -> None:
        if self.dim is not None:
            return
        parts: tuple[Component, ...] = (self.centering, self.subspace, self.belief)
        fresh = [part.state() for part in parts]
        try:
            self.centering.start(array, self.belief.intercept)
            self.subspace.start(array.shape[1], self.centering.intercept, self.centering.around_mean)
            self.belief.start(self.centering.lifted_dim, self.centering.intercept)
        except BaseException:
            for part, state in zip(parts, fresh, strict=True):
                part.restore(state)
            raise
        self.dim = array.shape[1]


def _are_decisions(actions: object) -> TypeGuard[Sequence[Decision]]:
    return isinstance(actions, Sequence) and len(actions) > 0 and all(isinstance(one, Decision) for one in actions)
