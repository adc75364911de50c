"""A rule under a budget: another rule chooses after λ times its cost is subtracted from the value of each action."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from eigenbandits import merging
from eigenbandits.belief.base import Finding, Models, Rows, View
from eigenbandits.belief.costs import CostEstimate
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.rules.base import Choice, Rule
from eigenbandits.rules.pacer import Pacer


class PricedView(View):
    """A view with a charge subtracted from each value; models and findings are the belief's."""

    def __init__(self, view: View, charges: Array) -> None:
        self.view = view
        self.charges = charges

    def estimates(self) -> Array:
        """Return the estimated values less the charges."""
        return self.view.estimates() - self.charges

    def uppers(self) -> Array:
        """Return the optimistic values less the charges."""
        return self.view.uppers() - self.charges

    def lowers(self) -> Array:
        """Return the pessimistic values less the charges."""
        return self.view.lowers() - self.charges

    def posterior(self, count: int, rng: np.random.Generator, scale: float | None = None) -> Models:
        """Return models from the posterior, with the charges subtracted from their values."""
        drawn = self.view.posterior(count, rng, scale)
        return Models(drawn.values - self.charges, drawn.vector)

    def boundary(self, count: int, rng: np.random.Generator) -> Models:
        """Return models from the boundary, with the charges subtracted from their values."""
        drawn = self.view.boundary(count, rng)
        return Models(drawn.values - self.charges, drawn.vector)

    def believer(self) -> Callable[[], Array]:
        """Return a function that computes the estimated model."""
        return self.view.believer()

    def optimist(self, index: int) -> Callable[[], Array]:
        """Return a function that computes the most optimistic model for one action."""
        return self.view.optimist(index)

    def finding(self, index: int) -> Finding | None:
        """Return the belief's finding about the action."""
        return self.view.finding(index)

    def part(self, rows: slice | Rows) -> View:
        """Return the view of a subset of the actions."""
        return PricedView(self.view.part(rows), self.charges[rows])


class Paced(Rule):
    """Follow another rule after λ times its cost is subtracted from each value; λ keeps spending on budget.

    Parameters
    ----------
    rule
        The other rule.
    pacer
        Determines λ.
    costs
        Predicts costs that are not known.
    optimistic
        Whether the belief offers upper bounds; if so, they are used as the values of the actions.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("rule", "pacer")

    def __init__(self, rule: Rule, pacer: Pacer, costs: CostEstimate, optimistic: bool) -> None:
        self.rule = rule
        self.pacer = pacer
        self.costs = costs
        self.optimistic = optimistic
        self.needs = rule.needs
        # The known costs in the sets to choose from next, and the expected costs of the choices made. `Budgeted` sets
        # the first and reads the second.
        self.known: list[Array | None] = []
        self.expected: list[float] = []

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose as the rule does at the current price."""
        costs, least = self.costs.of(view.lifted, self.known.pop(0))  # type: ignore[attr-defined]
        values = view.uppers() if self.optimistic else view.estimates()
        charges, dearest = self.pacer.charges(values, costs, least)
        choice = self.rule.choose(PricedView(view, charges), size, rng)
        choice.upper += float(charges[choice.index])
        cost = float(costs[choice.index])
        self.pacer.commit(cost, dearest)
        self.expected.append(cost)
        return choice

    def merge(self, replicas: Sequence[Replica[Any]]) -> None:
        """Merge the state of the rule, the pacer and the cost estimate."""
        merging.refuse_unknown(self.rule)
        self.rule.merge([replica.inside(replica.part.rule) for replica in replicas])
        self.pacer.merge([replica.inside(replica.part.pacer) for replica in replicas])
        self.costs.merge([replica.inside(replica.part.costs) for replica in replicas])
