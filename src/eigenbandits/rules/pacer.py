"""A price on costs that keeps mean spending on budget: the dual of a linear program over recent decision sets."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from eigenbandits import inputs, merging
from eigenbandits.component import Component
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica

# The number of recent decision sets that determine the price, and of steps kept for each. `eigenbandits calibrate` has
# a study of this window, the horizon and the two numbers below it.
WINDOW, STEPS = 256, 8
# The price is recomputed once this fraction of the sets, 1/32, is new: fewer move it little.
RENEWED = 32
# The number of decisions within which spending returns to the budget.
HORIZON = 10
# Credit and debt count as large at this many times the largest step that the budget buys.
LARGE = 2.0
# Large credit or debt multiplies the price by e to this power.
STEEPNESS = 2.0
# A strict budget counts debt up to this many times what is large: e^100 is beyond the ratio of any two slopes.
MOST_UNITS = 50.0


class Pacer(Component):
    """The price λ at which the budget would have covered the recent decision sets.

    With r and c the value and the cost of each action, the best spending of b per decision over n decision sets is a
    linear program whose dual is min over λ ≥ 0 of λb + (1/n) Σ_s max_k (r_sk − λ c_sk): given λ, each set takes the
    action with the highest r − λc. As λ falls, a set moves along the concave hull of its points (c, r), from the
    cheapest action up; each step of the hull buys value at a rate, its slope, and is taken once λ is below it. So the
    program is a fractional knapsack: buy the steps of all sets by descending slope until the money is spent. λ is the
    slope of the last one. This needs no step size, and changing the units of rewards or costs changes no choice.

    Over- and underspending moves the price: λ is that slope times e^(−2s), with s = credit/(horizon · budget) within ±1
    (a strict budget lets it fall further) and credit the budget granted so far minus what was spent. Slopes may differ
    by orders of magnitude, and an expensive step should be paid back by skipping the next one like it, not by giving up
    cheap ones. So the horizon is at least twice the largest step that the budget buys.

    Whatever the price, an action may cost at most `horizon` budgets, or twice the credit if that is more; in debt, at
    most the horizon's budgets minus the debt, but always at least one budget. Where single costs vary, that is asked of
    what an action may plausibly cost, not of what it costs on average. Credit is at most `horizon` budgets, and does
    not grow while more money would buy nothing. So it stays within ±`horizon` budgets, and n decisions in a row
    cost at most n + 2 · `horizon` budgets, if costs are as predicted, no step costs more than half of `horizon` budgets
    and the cheapest action costs at most one; otherwise see `strict`.

    Parameters
    ----------
    budget
        The mean cost of a decision.
    horizon
        The number of decisions within which spending returns to the budget.
    strict
        Whether credit is kept within ±`horizon` budgets even if steps cost more: an action that costs more than
        2 · `horizon` budgets even at best is then never chosen, unless it is the cheapest. Otherwise, credit may grow
        to the cost of the most expensive action, to save up for it, and debt to twice the largest step.

    References
    ----------
    Agrawal, Devanur. Linear Contextual Bandits with Knapsacks. NeurIPS 2016.
    Li, Ye. Online Linear Programming: Dual Convergence, New Algorithms, and Regret Bounds. Operations Research 2022.

    Examples
    --------
    >>> pacer = Pacer(budget=0.5)
    >>> pacer.price(np.array([0.2, 1.0]), np.array([0.0, 2.0]))  # the slope of the step from 0 to 2
    0.4
    >>> pacer.commit(2.0, 2.0)  # buying it leaves a debt, and a higher price for the next one
    >>> round(pacer.price(np.array([0.2, 1.0]), np.array([0.0, 2.0])), 3)
    0.729
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *("slopes", "rises", "bases", "seen", "steady", "unit", "due"),
        *("credit", "spent", "count", "current"),
    )

    def __init__(self, budget: float, horizon: int = HORIZON, strict: bool = False) -> None:
        self.budget = inputs.size(budget, "budget")
        self.horizon = inputs.whole(horizon, "horizon")
        self.strict = bool(strict)
        # The steps of recent sets, by row: their slopes, and what they add to the cost of the cheapest action.
        self.slopes: Array = np.full((WINDOW, 1), -np.inf)
        self.rises: Array = np.zeros((WINDOW, 1))
        self.bases: Array = np.zeros(WINDOW)
        self.seen = 0
        # From the last solution: the price that the budget alone would set, and the credit that counts as large.
        self.steady = 0.0
        self.unit = self.horizon * self.budget
        self.due = 1
        self.credit = 0.0
        self.spent = 0.0
        self.count = 0
        self.current = 0.0

    @property
    def affordable(self) -> float:
        """The most that an action may cost now, unless it is the cheapest."""
        if self.credit >= 0.0:
            return max(self.horizon * self.budget, 2.0 * self.credit)
        # The debt left by a large step is no reason to refuse small ones, unless debt must be kept small.
        most = self.horizon * self.budget if self.strict else self.unit
        return max(most + self.credit, self.budget)

    @property
    def ceiling(self) -> float:
        """The most that an action may ever cost."""
        return 2.0 * self.horizon * self.budget if self.strict else math.inf

    def charges(self, values: Array, costs: Array, least: Array, most: Array | None = None) -> tuple[Array, float]:
        """Record a decision set, and return what to subtract from each value, and the highest cost.

        λ times the cost, and from what may not be bought now more than the values differ by.

        Parameters
        ----------
        values
            The values, optimistic ones where there are any.
        costs, least, most
            What each action is expected to cost; what it costs on average at best, which is what is charged; and what
            it may cost this once, by default what is expected, which must be affordable. An action is never bought if
            the last would be above the ceiling even at best, and from full savings if only without that: an estimate
            that is too high for lack of data must not exclude an action for good.
        """
        each, ceiling = (costs if most is None else most).tolist(), self.ceiling
        dearest = max(each)
        if dearest > ceiling:
            # What is never bought must not raise the price of the rest.
            limit = max(ceiling, min(each))
            pairs = zip(least.tolist(), costs.tolist(), strict=True)
            ratios = [low / cost if cost > 0.0 else 1.0 for low, cost in pairs]
            each = [
                min(top, limit) if top * ratio <= limit else math.inf for top, ratio in zip(each, ratios, strict=True)
            ]
            offered = [place for place, cost in enumerate(each) if cost < math.inf]
            dearest = max(each[place] for place in offered)
            charges = self.price(values.take(offered), costs.take(offered)) * least
        else:
            charges = self.price(values, costs) * least
        affordable = self.affordable
        if dearest > affordable or math.inf in each:
            always = (int(costs.argmin()), int(least.argmin()))
            priced = (values - charges).tolist()
            more = 4.0 * (max(priced) - min(priced))
            for place, cost in enumerate(each):
                if cost > affordable and place not in always:
                    charges[place] += more
        return charges, dearest

    def price(self, values: Array, costs: Array) -> float:
        """Record a decision set, and return the price at which to choose from it."""
        self._note(values, costs)
        if self.seen >= self.due:
            self._solve()
        share = min(self.credit / self.unit, 1.0)
        # A strict budget is exceeded only by what costs more than predicted, and that debt is to be paid back.
        share = max(share, -MOST_UNITS if self.strict else -1.0)
        self.current = self.steady * math.exp(-STEEPNESS * share)
        return self.current

    def _note(self, values: Array, costs: Array) -> None:
        found, climbs, base = steps(values, costs)
        place, count = self.seen % WINDOW, len(found)
        more = count - self.slopes.shape[1]
        if more > 0:
            self.slopes = np.pad(self.slopes, ((0, 0), (0, more)), constant_values=-np.inf)
            self.rises = np.pad(self.rises, ((0, 0), (0, more)))
        # One by one: a hull has few steps, and turning a short list into an array takes longer.
        slopes, rises = self.slopes[place], self.rises[place]
        for step in range(count):
            slopes[step], rises[step] = found[step], climbs[step]
        if count < len(slopes):
            slopes[count:] = -np.inf
        self.bases[place] = base
        self.seen += 1

    def _solve(self) -> None:
        """Buy the steps worth buying by descending slope until the money is spent; the last slope is the price."""
        filled = min(self.seen, WINDOW)
        worth = self.slopes > 0.0
        slopes, rises = self.slopes[worth], self.rises[worth]
        order = np.argsort(-slopes)
        reached = rises[order].cumsum()
        last = int(reached.searchsorted(filled * self.budget - float(self.bases[:filled].sum())))
        # Past the last step, everything worth buying can be bought.
        self.steady = float(slopes[order[last]]) if last < len(order) else 0.0
        self.unit = self.horizon * self.budget
        if self.steady > 0.0:
            self.unit = max(self.unit, LARGE * float(rises[order[: last + 1]].max()))
        self.due = self.seen + max(filled // RENEWED, 1)

    def state(self) -> dict[str, Any]:
        """Return what changes; the arrays that `price` writes into are copied."""
        return super().state() | {name: getattr(self, name).copy() for name in ("slopes", "rises", "bases")}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a saved state."""
        super().restore(state)
        self.slopes, self.rises, self.bases = self.slopes.copy(), self.rises.copy(), self.bases.copy()

    def commit(self, cost: float, dearest: float) -> None:
        """Count a decision and its expected cost; `dearest` is the cost of the most expensive action offered."""
        most = self.horizon * self.budget
        if not self.strict:
            most = max(most, dearest)
        if self.steady == 0.0 and not (self.strict and dearest > self.affordable):
            # Everything worth buying has been bought, and nothing has to be saved for. Leftover money is not saved, or
            # it would all be spent at once when a price rises.
            most = min(most, max(self.credit, 0.0))
        self.credit = min(self.credit + self.budget - cost, most)
        self.spent += cost
        self.count += 1

    def settle(self, expected: float, cost: float) -> None:
        """Replace the expected cost of a decision with its actual cost; the difference counts as of now."""
        self.credit -= cost - expected
        self.spent += cost - expected

    def merge(self, replicas: Sequence[Replica[Any]]) -> None:
        """Add up the spending; the window remains this replica's own."""
        self.credit, self.spent = (float(merging.total(replicas, name)) for name in ("credit", "spent"))
        self.count = merging.count(replicas, "count")


def steps(values: Array, costs: Array) -> tuple[list[float], list[float], float]:
    """Return the concave hull of the points (cost, value): slopes, rises of cost, and the cost of its first point.

    Slopes fall from step to step. If there are more than `STEPS`, neighbors are merged.

    Examples
    --------
    >>> slopes, rises, base = steps(np.array([0.2, 0.3, 1.0, 0.9]), np.array([1.0, 2.0, 3.0, 5.0]))
    >>> slopes, rises, base  # the second point lies below the line from the first to the third
    ([0.4, -0.04999999999999999], [2.0, 2.0], 1.0)
    """
    hull: list[tuple[float, float]] = []
    for cost, lost in sorted(zip(costs.tolist(), (-values).tolist(), strict=True)):
        if hull and cost == hull[-1][0]:
            continue
        # A point on or below the line between its neighbors is not a corner.
        while len(hull) > 1:
            (first, low), (middle, high) = hull[-2:]
            if (high - low) * (cost - first) > (-lost - low) * (middle - first):
                break
            hull.pop()
        hull.append((cost, -lost))
    if len(hull) > STEPS + 1:
        hull = [hull[round(place)] for place in np.linspace(0, len(hull) - 1, STEPS + 1)]
    # Plain numbers: a hull has few points, and arrays of a few numbers are slow.
    slopes, rises = [], []
    for before, after in pairwise(hull):
        rise = after[0] - before[0]
        slopes.append((after[1] - before[1]) / rise)
        rises.append(rise)
    return slopes, rises, hull[0][0]
