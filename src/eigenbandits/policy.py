"""Policy and Decision: the one loop that every algorithm shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits import inputs
from eigenbandits.belief.base import Belief
from eigenbandits.component import Component
from eigenbandits.explanation import explain
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
    center
        What was taken off the actions of this decision set, where the policy centres by set.
    """

    index: int
    action: Array
    round: int
    estimate: float
    upper: float
    propensity: float | None = None
    center: Array | None = field(default=None, repr=False)
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
        center: Array | None = None,
        _model: Callable[[], Array] | None = None,
    ) -> None:
        fields = self.__dict__
        fields["index"] = index
        fields["action"] = action
        fields["round"] = round
        fields["estimate"] = estimate
        fields["upper"] = upper
        fields["propensity"] = propensity
        fields["center"] = center
        fields["_model"] = _model

    @property
    def model(self) -> Array:
        """The model θ̃ (d,) that the choice followed, computed when asked for."""
        if self._model is None:
            raise ValueError("this decision carries no model; only decisions that come from choose() do.")
        # A copy, since what stands behind it may be the belief's own.
        return np.array(self._model())


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

    _state_names: ClassVar[tuple[str, ...]] = ("dim", "round", "subspace", "belief", "rule", "rng")

    def __init__(
        self, subspace: Subspace, belief: Belief, rule: Rule, seed: int | None = None, dtype: str = "float64"
    ) -> None:
        self.seed = seed
        self._compose(subspace, belief, rule, seed, dtype)

    def _compose(
        self, subspace: Subspace, belief: Belief, rule: Rule, seed: int | None, dtype: str = "float64"
    ) -> None:
        self.dtype = inputs.one_of(dtype, "dtype", ("float64", "float32"))
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
        self.subspace.observe(array)

    def choose(self, actions: ArrayLike) -> Decision:
        """Choose one row of a decision set (K, d); K may differ from round to round."""
        array = inputs.as_actions(actions, self.dim, dtype=self.dtype)
        if self.dim is None:
            self._start(array)
        assert self.dim is not None
        subspace = self.subspace
        subspace.observe(array)
        self.round += 1
        center = subspace.set_center(array)
        lifted = subspace.lift(array, center)
        view = self.belief.view(lifted, self.dim, subspace.frame(), self.round)
        choice = self.rule.choose(view, array.shape[0], self.rng)
        return self._decision(choice, array, center, view.estimate(choice.index), self.round)

    def choose_many(self, decision_sets: Iterable[ArrayLike]) -> list[Decision]:
        """Choose one row of each of many independent decision sets, all against the belief as it is now.

        The same as choosing in one after the other without learning in between, but that the subspace sees all of
        them first and that the arithmetic is done at once: a page of 100 users costs little more than one.

        Parameters
        ----------
        decision_sets
            Arrays (K, d), of which K may differ; or one array (n, K, d).

        Returns
        -------
        list of Decision
            One for each set, in order.
        """
        arrays: list[Array] = []
        for actions in decision_sets:
            known = self.dim if not arrays else arrays[0].shape[1]
            arrays.append(inputs.as_actions(actions, known, what=f"decision set {len(arrays)}", dtype=self.dtype))
        if not arrays:
            return []
        self._start(arrays[0])
        assert self.dim is not None
        for array in arrays:
            self.subspace.observe(array)
        centers = [self.subspace.set_center(array) for array in arrays]
        pairs = zip(arrays, centers, strict=True)
        lifted = np.concatenate([self.subspace.lift(array, center) for array, center in pairs])
        view = self.belief.view(lifted, self.dim, self.subspace.frame(), self.round + 1)
        sizes = [len(array) for array in arrays]
        choices = self.rule.choose_many(view, sizes, self.rng)
        estimates = view.estimates()
        starts = np.cumsum([0, *sizes[:-1]]).tolist()
        first = self.round + 1
        self.round += len(arrays)
        return [
            self._decision(choice, array, center, float(estimates[start + choice.index]), first + i)
            for i, (choice, array, center, start) in enumerate(zip(choices, arrays, centers, starts, strict=True))
        ]

    def _decision(self, choice: Choice, array: Array, center: Array | None, estimate: float, round_: int) -> Decision:
        action = array[choice.index].copy()
        action.setflags(write=False)
        own = center if self.subspace.by_set else None
        return Decision(choice.index, action, round_, estimate, choice.upper, choice.propensity, own, choice.model)

    def learn(self, action: Decision | ArrayLike, reward: float) -> None:
        """Take in the reward of a decision, or of an action vector (d,); the order does not matter."""
        value = inputs.as_reward(reward)
        vector, center = self._vector(action)
        if self.dim is None:
            self._start(vector[None])
        self.belief.learn(self.subspace.lift(vector, self._center(center)), value)

    def learn_many(self, actions: Sequence[Decision] | ArrayLike, rewards: ArrayLike) -> None:
        """Take in a batch: (n, d) action vectors, or n decisions, and n rewards."""
        if isinstance(actions, Sequence) and actions and all(isinstance(item, Decision) for item in actions):
            pairs = [self._vector(item) for item in actions]
            array = np.array([vector for vector, _ in pairs])
            centers = [center for _, center in pairs]
        else:
            array = inputs.as_actions(actions, self.dim)
            self._refuse_bare_vectors()
            centers = [None] * len(array)
        values = inputs.as_rewards(rewards, len(array))
        self._start(array)
        if self.subspace.by_set:
            shift = np.array([self._center(center) for center in centers])
            lifted = self.subspace.lift(array - shift, np.zeros(array.shape[1]))
        else:
            lifted = self.subspace.lift(array, self.subspace.reference)
        self.belief.learn_many(lifted, values)

    def diagnostics(self) -> dict[str, Any]:
        """Return what the policy knows about itself: rank, spectrum, projection error, radii, which set binds.

        Looking changes nothing. `words` says in sentences what all of that means, and `warnings` what a person should
        do something about.
        """
        found: dict[str, Any] = {"policy": repr(self), "rounds": self.round, "dim": self.dim, "warnings": []}
        if self.dim is not None:
            found |= self.subspace.diagnostics() | self.belief.diagnostics(self.subspace.current())
        found["words"] = explain(found)
        return found

    def save(self, path: str | PathLike[str]) -> None:
        """Write the policy to a file, whole or not at all; `eigenbandits.load` goes on bit for bit."""
        from eigenbandits import files

        files.save(self, path)

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("policies are not pickled: use policy.save(path) and eigenbandits.load(path).")

    def _vector(self, action: Any) -> tuple[Array, Array | None]:
        if isinstance(action, Decision):
            vector = action.action
            if type(vector) is np.ndarray and vector.shape == (self.dim,) and not vector.flags.writeable:
                # Made by choose(), which has checked it, and unchanged since.
                if not self.subspace.by_set:
                    return vector.astype(np.float64, copy=False), None
                if action.center is not None:
                    return vector.astype(np.float64, copy=False), action.center
            if self.subspace.by_set and action.center is None:
                raise ValueError("this decision was made by a policy that does not centre by set; hand in its own.")
            return inputs.as_action(action.action, self.dim), action.center
        vector = inputs.as_action(action, self.dim)
        self._refuse_bare_vectors()
        return vector, None

    def _refuse_bare_vectors(self) -> None:
        if self.subspace.by_set:
            raise ValueError(
                "this policy centres each decision set on its own mean, so a bare vector has no meaning; "
                "hand in the Decision that choose() gave."
            )

    def _center(self, center: Array | None) -> Array | None:
        return center if self.subspace.by_set else self.subspace.reference

    def _start(self, array: Array) -> None:
        if self.dim is None:
            fresh = self.subspace.state()
            self.subspace.start(array)
            try:
                self.belief.start(self.subspace.lifted_dim, self.subspace.scale)
            except ValueError:
                self.subspace.restore(fresh)
                raise
            self.dim = array.shape[1]
