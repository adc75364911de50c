"""Lists: several distinct actions of one decision set, in order, and what the user's response teaches about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits import inputs
from eigenbandits.belief.base import View
from eigenbandits.belief.joined import Joined
from eigenbandits.inputs import Array
from eigenbandits.policy.decision import Decision
from eigenbandits.rules.base import Choice, Rule

Examination = str | tuple[float, ...]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ListDecision:
    """A list chosen by a policy; pass it to `learn` with what the user did, now or later.

    Attributes
    ----------
    decisions
        The decision for each position, in order. Its propensity is conditional on the actions chosen before it, its
        forecast is about the actions that remained, and its upper is the amount it adds to the list's optimistic value,
        divided by the probability of its position.
    examination
        What the user looks at: "all" items; "cascade", each until the first click; or the probability of each position.

    Examples
    --------
    >>> import numpy as np, eigenbandits as eb
    >>> policy = eb.LinUCB()
    >>> ranked = policy.choose_list(np.diag([1.0, 3.0, 2.0]), 2, examination="cascade")
    >>> ranked.indices.tolist()
    [1, 2]
    >>> policy.learn(ranked, 0)  # a click on the first item, so the second was not examined
    >>> policy.diagnostics().rewards_learned
    1
    """

    decisions: tuple[Decision, ...]
    examination: Examination = "all"

    @property
    def indices(self) -> NDArray[np.intp]:
        """The chosen rows of the decision set, in order."""
        return np.array([decision.index for decision in self.decisions], dtype=np.intp)

    @property
    def propensity(self) -> float | None:
        """The probability of the list if the rule is randomized: the product over its positions."""
        each = [decision.propensity for decision in self.decisions]
        return None if None in each else float(np.prod(np.array(each, dtype=float)))

    def lessons(self, outcome: Any) -> tuple[list[Decision], Array]:
        """Return the decisions that an outcome carries information about, and the reward of each.

        With "cascade", the items up to the first click were seen and no others (Kveton et al. 2015). If a position is
        looked at with probability w, E[reward] = w · value (the position-based model, Lagrée et al. 2016): reward/w is
        unbiased, with 1/w times the variance.

        Parameters
        ----------
        outcome
            The reward of each item; or the position of the only click, counting from 0; or None for no click.
        """
        rewards, seen = self._rewards(outcome), len(self.decisions)
        if self.examination == "cascade" and rewards.any():
            seen = int(np.flatnonzero(rewards)[0]) + 1
        elif not isinstance(self.examination, str):
            rewards = rewards / self.examination
        return list(self.decisions[:seen]), rewards[:seen]

    def _rewards(self, outcome: Any) -> Array:
        count = len(self.decisions)
        clicks = np.zeros(count)
        if outcome is None:
            return clicks
        if isinstance(outcome, int | np.integer) and not isinstance(outcome, bool):
            if not 0 <= outcome < count:
                raise ValueError(f"the click's position is {outcome}; expected one from 0 to {count - 1}.")
            clicks[outcome] = 1.0
            return clicks
        if np.ndim(outcome) == 0:
            raise ValueError(
                f"a list was given the outcome {outcome!r}; expected {count} rewards, the position of a click, or None."
            )
        return inputs.as_rewards(outcome, count)


def is_sequence_of(value: object, kind: type[T]) -> TypeGuard[Sequence[T]]:
    """Return whether an object is a nonempty sequence whose items are all of one kind."""
    return isinstance(value, Sequence) and len(value) > 0 and all(isinstance(item, kind) for item in value)


def flat(actions: Any, outcomes: Any) -> tuple[Any, Any]:
    """Return lists and their outcomes as decisions and rewards; anything else is returned unchanged."""
    if not is_sequence_of(actions, ListDecision):
        return actions, outcomes
    if not isinstance(outcomes, Sequence | np.ndarray) or len(outcomes) != len(actions):
        raise ValueError(f"expected {len(actions)} outcomes, one for each list.")
    decisions: list[Decision] = []
    rewards: list[Array] = []
    for one, outcome in zip(actions, outcomes, strict=True):
        examined, values = one.lessons(outcome)
        decisions += examined
        rewards.append(values)
    return decisions, np.concatenate(rewards)


@dataclass(frozen=True)
class Order:
    """The options of a list.

    Attributes
    ----------
    count
        The number of actions.
    examination
        See `ListDecision`.
    diversity
        λ, the extra value of an action per nat that it adds to log det(I + S); see `LogDeterminant`.
    """

    count: int
    examination: Examination
    diversity: float

    @classmethod
    def read(cls, count: Any, available: int, examination: Any, diversity: Any) -> Order:
        """Check the options, given the number of actions that may be chosen."""
        number = inputs.whole(count, "count")
        if number > available:
            raise ValueError(
                f"count is {number}; expected at most {available}, the number of actions that may be chosen."
            )
        if isinstance(examination, str):
            looked: Examination = inputs.one_of(examination, "examination", ("all", "cascade"))
        else:
            weights = inputs.as_action(examination, None, what="examination")
            if len(weights) != number or not ((weights > 0.0) & (weights <= 1.0)).all():
                raise ValueError(
                    f"examination is {np.array2string(weights, precision=3, threshold=4)}; expected 'all', 'cascade' "
                    f"or {number} probabilities, above 0 and at most 1."
                )
            looked = tuple(weights.tolist())
        return cls(number, looked, inputs.size(diversity, "diversity", zero=True))

    @property
    def weights(self) -> Array:
        """The weight of an action's value at each position."""
        return np.ones(self.count) if isinstance(self.examination, str) else np.array(self.examination)


def choose(
    order: Order, rule: Rule, view: View, vectors: Array, rng: np.random.Generator
) -> list[tuple[Choice, float]]:
    """Choose a list, with estimates: at each position, the rule chooses among the actions that remain.

    Positions are filled in order of descending weight. If the rule is randomized, the probability of each choice given
    the earlier ones is exact. Optimism takes the list with the highest optimistic value:

    - for a confidence set, the sum of w · upper, since all of its values may be wrong at once: C²UCB (Qin, Chen and Zhu
      2014), CascadeLinUCB for cascades (Zong et al. 2016) and PBM-UCB with weights (Lagrée et al. 2016);
    - for a posterior (`View.independent`), Σ w · estimate + (Σ w² · width²)^½ with width = upper − estimate: as many
      standard deviations of the list's value, with errors treated as independent, as `choose` takes for one action.
      This is ESCB (Combes et al. 2015), which explores √count times less per action; the list is built greedily.

    With diversity, λ log det(I + S) is added, as by Qin et al., and the list is built greedily. Without weights, and if
    no value is negative, this reaches 1 − 1/e of the maximum (Nemhauser et al. 1978).

    Parameters
    ----------
    order
        The options.
    rule, view, rng
        As for `Rule.choose`, with all allowed actions in the view.
    vectors
        The vectors (K, d) of these actions, for their similarity.
    """
    left, weights = np.arange(len(vectors)), order.weights
    spread = LogDeterminant(vectors) if order.diversity else None
    optimistic = "uppers" in rule.needs
    chosen: dict[int, tuple[Choice, float]] = {}
    place, variance = 0, 0.0
    if optimistic:
        view.prefetch([len(left)])
    for position in np.argsort(-weights, kind="stable").tolist():
        weight = float(weights[position])
        if chosen:
            others = np.delete(np.arange(len(left)), place)
            left, view = left[others], view.part(others)
        bonus = np.zeros(len(left)) if spread is None else order.diversity / weight * spread.gains()[left]
        joined = Joined(view, bonus, weight, variance if optimistic and view.independent else 0.0)
        choice = rule.choose(view if spread is None and not joined.variance else joined, len(left), rng)
        place = choice.index
        choice.upper -= float(bonus[place])
        chosen[position] = choice, view.estimate(place)
        if optimistic and view.independent:
            variance += (weight * float(view.uppers()[place] - view.estimates()[place])) ** 2
        if spread is not None:
            spread.add(int(left[place]))
        choice.spread(left, len(vectors))
    return [chosen[position] for position in range(order.count)]


class LogDeterminant:
    """log det(I + S) of the actions added so far, with S their cosines, and what each other action would add to it.

    An action orthogonal to all others adds log 2, and the n-th copy of one adds log((n + 1)/n). The function is
    monotone and submodular. The Cholesky factor of I + S grows by one row per action (Chen, Zhang and Zhou 2018,
    algorithm 1).

    Parameters
    ----------
    vectors
        All actions (K, d); a zero vector adds nothing.

    Examples
    --------
    >>> spread = LogDeterminant(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]]))
    >>> spread.add(0)
    >>> np.exp(spread.gains()).round(3).tolist()[1:]
    [1.5, 2.0]
    """

    def __init__(self, vectors: Array) -> None:
        norms = np.linalg.norm(vectors.astype(np.float64, copy=False), axis=1, keepdims=True)
        self._units = np.divide(vectors, norms, out=np.zeros(vectors.shape), where=norms > 0.0)
        # The squared diagonal entry of the factor if an action came next, and the action's row of the factor so far.
        self._squares = 1.0 + (norms[:, 0] > 0.0)
        self._rows = np.zeros((len(vectors), 0))

    def gains(self) -> Array:
        """Return the amount that each action would add."""
        return np.asarray(np.log(self._squares))

    def add(self, index: int) -> None:
        """Add an action."""
        column = self._units @ self._units[index] - self._rows @ self._rows[index]
        column /= np.sqrt(self._squares[index])
        self._rows = np.column_stack([self._rows, column])
        # At least 1, the contribution of I, except for rounding.
        self._squares = np.maximum(self._squares - column**2, 1.0)
