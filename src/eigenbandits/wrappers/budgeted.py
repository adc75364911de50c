"""Budgeted: a policy that learns what its choices cost, and keeps to a budget per decision."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits import inputs
from eigenbandits.belief.ambient import Ambient
from eigenbandits.belief.costs import CostEstimate
from eigenbandits.inputs import Array
from eigenbandits.policy import Decision, Diagnostics, Policy
from eigenbandits.policy.lists import ListDecision, flat
from eigenbandits.rules.base import Choice
from eigenbandits.rules.paced import Paced
from eigenbandits.rules.pacer import HORIZON, Pacer


@dataclass(frozen=True, eq=False)
class PricedDecision(Decision):
    """A decision with its cost: that of the action if it was known, and otherwise the expected one."""

    cost: float = field(default=0.0)

    def __init__(self, *fields: Any, cost: float = 0.0, **named: Any) -> None:
        super().__init__(*fields, **named)
        self.__dict__["cost"] = cost


class Budgeted(Policy):
    """A policy whose decisions cost at most `budget` each on average, spent where it buys the most.

    The policy's own rule chooses, with λ times its cost subtracted from the value of each action. λ is the price at
    which the budget would have covered the recent decision sets (`rules.Pacer`), adjusted to make up for what was
    over- or underspent. Costs are given, or learned from what was paid, on the same sum Σ of chosen actions as the
    rewards (`belief.costs.CostEstimate`).

    Parameters
    ----------
    policy
        The policy. It becomes part of this one; do not use it on its own afterward. Its belief must keep Σ, as those of
        EigenUCB, EigenTS, OFUL, LinUCB, LinTS and Greedy do.
    budget
        What a decision may cost on average.
    ceiling
        The most that a decision may cost, or None. An action whose known or predicted cost is higher is never chosen.
    horizon
        Decisions within which the spend returns to the budget: as far as costs can be predicted, n decisions in a row
        cost at most n + 2 · `horizon` budgets. A short horizon tracks the budget more closely; a long one chooses
        better.
    strict
        Whether this holds even if an action costs more than 2 · `horizon` budgets: it is then never chosen, unless it
        is the cheapest. If not, such an action is saved for.

    Examples
    --------
    >>> import numpy as np, eigenbandits as eb
    >>> policy = eb.Budgeted(eb.EigenUCB(seed=0), budget=0.5)
    >>> decision = policy.choose(np.eye(2), costs=[0.1, 1.0])  # or without, where costs are not known yet
    >>> policy.learn(decision, 1.0, cost=0.12)
    >>> policy.spent
    0.12
    """

    _state_names: ClassVar[tuple[str, ...]] = (*Policy._state_names, "costs")

    def __init__(
        self,
        policy: Policy,
        budget: float,
        *,
        ceiling: float | None = None,
        horizon: int = HORIZON,
        strict: bool = False,
    ) -> None:
        if not isinstance(policy, Policy) or isinstance(policy, Budgeted):
            raise ValueError(f"policy is a {type(policy).__name__}; expected a policy without a budget.")
        if not isinstance(policy.belief, Ambient) or policy.belief.evidence.slim:
            raise ValueError(
                f"policy is a {type(policy).__name__}, which does not keep the sums that costs are learned on; "
                "expected one such as EigenUCB or LinUCB."
            )
        self.policy = policy
        self.budget = inputs.size(budget, "budget")
        self.ceiling = None if ceiling is None else inputs.size(ceiling, "ceiling")
        self.horizon, self.strict = horizon, strict
        self.pacer = Pacer(self.budget, horizon, strict)
        self.costs = CostEstimate(policy.belief.evidence)
        self.paced = Paced(policy.rule, self.pacer, self.costs, "uppers" in policy.belief.offers)
        self._adopt(policy)
        self.rule, self.rng, self.round = self.paced, policy.rng, policy.round
        if self.dim is not None:
            self.costs.start(self.lifted_dim)

    @property
    def spent(self) -> float:
        """The cost of all decisions so far, with the expected cost wherever the actual one has not been learned."""
        return self.pacer.spent

    def choose(
        self, actions: ArrayLike, observe: bool = True, *, costs: ArrayLike | None = None, **options: Any
    ) -> PricedDecision:
        """Choose one row of a decision set (K, d) at the current price.

        Parameters
        ----------
        actions, observe, options
            As for `Policy.choose`; the options are `allowed` and `scores`.
        costs
            The cost of each action (K,); NaN for costs to be predicted, or None to predict them all.
        """
        decision = self._choose(*self._priced(actions, costs, **options), observe)
        assert isinstance(decision, PricedDecision)
        return decision

    def choose_many(
        self,
        decision_sets: Iterable[ArrayLike],
        observe: bool | Sequence[bool] = True,
        *,
        allowed: Iterable[ArrayLike | None] | None = None,
        scores: Iterable[ArrayLike] | None = None,
        costs: Iterable[ArrayLike | None] | None = None,
    ) -> list[Decision]:
        """Choose one row of each of many decision sets, as `Policy.choose_many` does, paying for them one by one."""
        arrays: list[Array] = []
        for actions in decision_sets:
            width = self.dim if not arrays else arrays[0].shape[1]
            arrays.append(inputs.as_actions(actions, width, what=f"decision set {len(arrays)}", dtype=self.dtype))
        kept = inputs.as_allowed_many(allowed, [len(array) for array in arrays])
        given = [None] * len(arrays) if costs is None else list(costs)
        if len(given) != len(arrays):
            raise ValueError(f"costs has {len(given)} entries; expected {len(arrays)}, one for each decision set.")
        known = [None if one is None else _as_costs(one, len(a)) for one, a in zip(given, arrays, strict=True)]
        ranked = None if scores is None else list(scores)
        ahead: list[Array | None] = []
        for place, ranks in enumerate(self.scoring.read_many(arrays, ranked)):
            kept[place], one = self._affordable(arrays[place], kept[place], known[place], ranks)
            ahead += one
        self.paced.known = ahead
        return super().choose_many(arrays, observe, allowed=kept, scores=ranked)

    def probabilities(self, actions: ArrayLike, *, costs: ArrayLike | None = None, **options: Any) -> Array:
        """Return the probability (K,) with which each action would be chosen now; nothing is observed or learned."""
        array, kept, _ = self._priced(actions, costs, **options)
        found = super().probabilities(array, allowed=kept, scores=options.get("scores"))
        self.paced.expected.clear()
        return found

    def choose_list(self, actions: ArrayLike, count: int, *arguments: Any, **options: Any) -> ListDecision:
        """Raise an error: the budget covers one choice per round."""
        raise ValueError("a policy with a budget cannot choose lists; use it for single choices.")

    def learn(
        self,
        action: Decision | ListDecision | ArrayLike,
        reward: Any,
        cost: float | None = None,
        *,
        score: float | None = None,
    ) -> None:
        """Learn the reward of a decision or of an action vector (d,), and its cost if that is known.

        If no cost is given, it is assumed to be the one expected, or the one given to `choose`.
        """
        if isinstance(action, ListDecision):
            self.learn_many([action], [reward])
            return
        value = inputs.as_reward(reward)
        paid = math.nan if cost is None else _as_cost(cost)
        before = self.costs.evidence.weight
        super().learn(action, value, score=score)
        if isinstance(action, PricedDecision):  # what `choose` gave: nothing to check or to lift
            if cost is None:
                paid = action.cost
            else:
                self.pacer.settle(action.cost, paid)
            self.costs.learn_one(self._lifted(action), paid, self.costs.evidence.weight / (before + 1))
            return
        many = [action] if isinstance(action, Decision) else np.atleast_2d(np.asarray(action))
        self._learn_costs(many, [paid], before, None if score is None else [score])

    def learn_many(
        self,
        actions: Sequence[Decision] | Sequence[ListDecision] | ArrayLike,
        rewards: ArrayLike | Sequence[Any],
        costs: ArrayLike | None = None,
        *,
        scores: ArrayLike | None = None,
    ) -> None:
        """Learn a batch: n decisions or (n, d) action vectors, n rewards, and n costs, NaN where unknown."""
        many: Any
        many, rewards = flat(actions, rewards)
        paid = None if costs is None else _as_costs(costs, len(many))
        before = self.costs.evidence.weight
        super().learn_many(many, rewards, scores=scores)
        self._learn_costs(many, np.full(len(many), math.nan) if paid is None else paid, before, scores)

    def diagnostics(self) -> Diagnostics:
        """Return what the policy knows about itself; the details include the spend and the current price."""
        found = super().diagnostics()
        decided = max(self.pacer.count, 1)
        found.details.update(
            budget=self.budget, spent=self.spent, spent_per_decision=self.spent / decided, price=self.pacer.current
        )
        return found

    def _learn_costs(self, actions: Any, paid: ArrayLike, before: float, scores: ArrayLike | None) -> None:
        """Learn the costs of actions whose rewards were just added to rewards of total weight `before`."""
        costs = np.array(paid, dtype=np.float64)
        if isinstance(actions[0], Decision):
            rows = np.array([self._lifted(decision) for decision in actions])
            for place, decision in enumerate(actions):
                if not isinstance(decision, PricedDecision):
                    continue
                if math.isnan(costs[place]):
                    costs[place] = decision.cost
                else:
                    self.pacer.settle(decision.cost, float(costs[place]))
        else:
            rows = self.lift_vectors(inputs.as_actions(actions, self.dim, dtype=self.dtype), scores)
        self.costs.learn(rows, costs, self.costs.evidence.weight / (before + len(rows)))

    def _priced(
        self, actions: ArrayLike, costs: ArrayLike | None, allowed: ArrayLike | None = None, scores: Any = None
    ) -> tuple[Array, NDArray[np.intp] | None, Array | None]:
        """Pass the known costs to the rule, and return the actions, the rows that may be chosen, and scores."""
        array = self._read(actions)
        kept = None if allowed is None else inputs.as_allowed(allowed, len(array))
        known = None if costs is None else _as_costs(costs, len(array))
        ranks = self.scoring.read(array, scores)
        kept, self.paced.known = self._affordable(array, kept, known, ranks)
        return array, kept, ranks

    def _affordable(
        self, array: Array, kept: NDArray[np.intp] | None, known: Array | None, ranks: Array | None
    ) -> tuple[NDArray[np.intp] | None, list[Array | None]]:
        """Return the rows that the ceiling allows, and the known costs of these rows."""
        if self.ceiling is not None:
            costs = np.zeros(len(array)) if known is None else np.nan_to_num(known)
            if self.scoring.used is not None:
                costs, _ = self.costs.of(self.lift(array, ranks)[0], known)
            rows = np.arange(len(array)) if kept is None else kept
            within = rows[costs[rows] <= self.ceiling]
            if not len(within):
                raise ValueError(
                    f"every allowed action costs more than the ceiling of {self.ceiling:g}; the cheapest "
                    f"costs {costs[rows].min():g}."
                )
            kept = within if len(within) < len(array) else kept
        return kept, [known if known is None or kept is None else known[kept]]

    def _decision(self, choice: Choice, array: Array, lifted: Array, estimate: float, round_: int) -> Decision:
        made = super()._decision(choice, array, lifted, estimate, round_)
        priced = object.__new__(PricedDecision)
        priced.__dict__.update(made.__dict__, cost=self.paced.expected.pop(0))
        return priced

    def _start(self, array: Array, scores: Array | None = None, offered: bool = False) -> None:
        super()._start(array, scores, offered)
        self.costs.start(self.lifted_dim)


def _as_cost(cost: Any) -> float:
    try:
        value = inputs.as_reward(cost)
    except ValueError as error:
        raise ValueError(str(error).replace("reward", "cost", 1)) from None
    if value < 0.0:
        raise ValueError(f"cost is {value:g}; expected a number of at least 0.")
    return value


def _as_costs(costs: Any, count: int) -> Array:
    """Return a vector of costs, NaN where unknown."""
    ready = type(costs) is np.ndarray and costs.shape == (count,) and costs.dtype == np.float64
    if ready and costs.min() >= 0.0 and costs.max() <= inputs.LARGEST:
        return np.asarray(costs)
    try:
        array = np.array(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("costs holds something that is not a number; expected numbers, NaN where unknown.") from None
    if array.shape != (count,):
        raise ValueError(f"costs has shape {array.shape}; expected ({count},), one for each action.")
    if np.isinf(array).any() or (array < 0.0).any() or (array > inputs.LARGEST).any():
        raise ValueError(
            "costs holds a number below 0 or above every limit; expected finite numbers, NaN where unknown."
        )
    return array
