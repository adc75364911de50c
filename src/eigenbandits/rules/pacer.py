"""A price on costs that keeps the mean spend at a budget: the dual of a linear program, solved in every round."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits import inputs, merging
from eigenbandits.component import Component
from eigenbandits.merging import Replica

Array = NDArray[np.float64]
# The number of recent decision sets that set the price, and of steps kept of each. `eigenbandits calibrate` has a study
# of this window, of what counts as small, and of the steepness.
WINDOW, STEPS = 256, 8
# Costs of up to this many budgets count as small.
SMALL = 8
# A debt or credit of `horizon` budgets changes the price by at most this power of e.
STEEPNESS, _LARGEST_EXPONENT = 4.0, 100.0
# A price this much (relative) below or above that of the last step decides for or against it.
_NUDGE = 1e-9


class Pacer(Component):
    """The price λ at which the budget would have covered the recent decision sets.

    With r and c the value and the cost of each action, the best spending of b per decision over n decision sets is a
    linear program whose dual is min over λ ≥ 0 of λb + (1/n) Σ_s max_k (r_sk − λ c_sk): given λ, each set takes the
    action with the highest r − λc. As λ falls a set moves along the concave hull of its points (c, r), from the
    cheapest action up; each step of the hull buys value at a rate, its slope, and is taken when λ is below it. So the
    program is a fractional knapsack: buy the steps of all sets by descending slope until the money is spent. λ is the
    slope of the last one. This needs no step size and no unit: other units of rewards or costs change no choice.

    Over- and underspending is made up for within about `horizon` decisions: b is the budget plus credit/horizon, where
    credit is the budget granted so far minus what was spent. Credit is capped at `horizon` budgets, or at the cost of
    the most expensive action if that is higher, so that money that buys nothing is not saved for long. Slopes may
    differ by orders of magnitude, and an expensive step should be paid back by skipping the next one like it, not by
    giving up cheap ones. So credit or debt moves λ from the value that the budget alone would set by at most a factor
    of e^(4 |credit|/(horizon · budget)).

    Parameters
    ----------
    budget
        The mean cost of a decision.
    horizon
        Decisions within which the spend returns to the budget.
    limit
        What `window` decisions in a row may cost together, or None. An action that is expected to exceed it has to
        wait, unless it is the cheapest. The price alone keeps to the budget in the long run, but saved credit may be
        spent just when dear decisions follow each other.
    window
        The number of decisions that `limit` is about.

    References
    ----------
    Agrawal, Devanur. Linear Contextual Bandits with Knapsacks. NeurIPS 2016.
    Li, Ye. Online Linear Programming: Dual Convergence, New Algorithms, and Regret Bounds. Operations Research 2022.

    Examples
    --------
    >>> pacer = Pacer(budget=0.5)
    >>> pacer.price(np.array([0.2, 1.0]), np.array([0.0, 2.0]))  # a slope of 0.8/2, bought only with credit
    0.4000000004
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        "slopes",
        "rises",
        "bases",
        "seen",
        "credit",
        "spent",
        "count",
        "current",
        "recent",
    )

    def __init__(self, budget: float, horizon: int = 50, limit: float | None = None, window: int = 2048) -> None:
        self.budget = inputs.size(budget, "budget")
        self.horizon = inputs.whole(horizon, "horizon")
        self.limit = None if limit is None else inputs.size(limit, "limit")
        self.window = inputs.whole(window, "window")
        # The steps of recent sets, by row: their slopes and what they add to the cost of the cheapest action.
        self.slopes: Array = np.full((WINDOW, 1), -np.inf)
        self.rises: Array = np.zeros((WINDOW, 1))
        self.bases: Array = np.zeros(WINDOW)
        self.seen = 0
        self.credit = 0.0
        self.spent = 0.0
        self.count = 0
        self.current = 0.0
        # What the latest decisions have cost, decision n at n modulo `window`.
        self.recent: Array = np.zeros(0 if limit is None else self.window)
        self._sort()

    def price(self, values: Array, costs: Array) -> float:
        """Record a decision set, and return the price at which to choose from it."""
        self._note(values, costs)
        filled = min(self.seen, WINDOW)
        reached = float(self.bases[:filled].sum()) + self._rises_in_order[: len(self._order)].cumsum()
        share = self.credit / (self.horizon * self.budget)
        granted = filled * self.budget
        steady, asked = self._slope_at(reached, granted), self._slope_at(reached, granted * (1.0 + share))
        if steady > 0.0:
            most = math.exp(min(STEEPNESS * abs(share), _LARGEST_EXPONENT))
            asked = min(max(asked, steady / most), steady * most)
        self.current = asked
        # The last step is bought in part: with credit, and not with debt.
        return self.current * (1.0 + (_NUDGE if self.credit <= 0.0 else -_NUDGE))

    def _slope_at(self, reached: Array, money: float) -> float:
        """Return the slope of the step at which the money is spent; 0 where everything worth buying can be bought."""
        place = int(reached.searchsorted(money))
        return -self._order[place][0] if place < len(self._order) else 0.0

    def _note(self, values: Array, costs: Array) -> None:
        slopes, rises, base = steps(values, costs)
        more = max(len(slopes) - self.slopes.shape[1], 0)
        place, count = self.seen % WINDOW, len(slopes)
        self._replace(place, slopes, rises)
        # New arrays, since `state` does not copy.
        self.slopes = np.pad(self.slopes, ((0, 0), (0, more)), constant_values=-np.inf) if more else self.slopes.copy()
        self.rises = np.pad(self.rises, ((0, 0), (0, more))) if more else self.rises.copy()
        self.bases = self.bases.copy()
        self.slopes[place, :count], self.slopes[place, count:] = slopes, -np.inf
        self.rises[place, :count], self.rises[place, count:] = rises, 0.0
        self.bases[place] = base
        self.seen += 1

    def _sort(self) -> None:
        """Put the steps worth buying in order: by falling slope, and where slopes are equal by row."""
        rows, columns = np.nonzero(self.slopes > 0.0)
        found = zip((-self.slopes[rows, columns]).tolist(), rows.tolist(), columns.tolist(), strict=True)
        self._order: list[tuple[float, int, int]] = sorted(found)
        self._rises_in_order: Array = np.zeros(WINDOW * STEPS)
        self._rises_in_order[: len(self._order)] = [self.rises[row, column] for _, row, column in self._order]

    def _replace(self, row: int, slopes: list[float], rises: list[float]) -> None:
        """Put new steps in place of those of one row and keep the order, which costs less than sorting all again."""
        order, sorted_rises = self._order, self._rises_in_order
        for column, slope in enumerate(self.slopes[row].tolist()):
            if slope > 0.0:
                place = bisect_left(order, (-slope, row, column))
                sorted_rises[place : len(order) - 1] = sorted_rises[place + 1 : len(order)]
                del order[place]
        for column, slope in enumerate(slopes):
            if slope > 0.0:
                step = (-slope, row, column)
                place = bisect_left(order, step)
                sorted_rises[place + 1 : len(order) + 1] = sorted_rises[place : len(order)]
                sorted_rises[place] = rises[column]
                order.insert(place, step)

    def restore(self, state: dict[str, Any]) -> None:
        """Set what `state` returned."""
        super().restore(state)
        self._sort()

    def affords(self, costs: Array | float) -> NDArray[np.bool_]:
        """Return which costs may be paid now: for a cost above `SMALL` budgets, credit must cover half of it.

        This keeps large costs from following each other by chance, and debt and credit balanced around 0. No cost may
        exceed the limit on the latest decisions.
        """
        saved = (costs <= SMALL * self.budget) | (0.5 * costs <= self.credit)
        if self.limit is not None:
            # The decision about to be made takes the place of the oldest.
            others = float(self.recent.sum() - self.recent[self.count % self.window])
            saved = saved & (costs <= self.limit - others)
        return np.asarray(saved)

    def commit(self, cost: float, dearest: float) -> None:
        """Count a decision and its expected cost; credit may grow to the cost of the most expensive action offered."""
        most = max(self.horizon * self.budget, dearest)
        self.credit = min(self.credit + self.budget, most) - cost
        self.spent += cost
        if self.limit is not None:
            self.recent = self.recent.copy()
            self.recent[self.count % self.window] = cost
        self.count += 1

    def settle(self, expected: float, cost: float) -> None:
        """Replace the expected cost of a decision by its actual cost; the difference counts as of now."""
        self.credit -= cost - expected
        self.spent += cost - expected
        if self.limit is not None:
            self.recent = self.recent.copy()
            self.recent[(self.count - 1) % self.window] += cost - expected

    def merge(self, replicas: Sequence[Replica[Any]]) -> None:
        """Add up the spend; the window remains that of this replica."""
        self.credit, self.spent = (float(merging.total(replicas, name)) for name in ("credit", "spent"))
        self.count = merging.count(replicas, "count")


def steps(values: Array, costs: Array) -> tuple[list[float], list[float], float]:
    """Return the concave hull of the points (cost, value): slopes, rises of cost, and the cost of its first point.

    Slopes fall from step to step. Where there are more than `STEPS`, neighbors are joined.

    Examples
    --------
    >>> slopes, rises, base = steps(np.array([0.2, 0.3, 1.0, 0.9]), np.array([1.0, 2.0, 3.0, 5.0]))
    >>> slopes, rises, base  # the second point lies below the line from the first to the third
    ([0.4, -0.04999999999999999], [2.0, 2.0], 1.0)
    """
    hull: list[tuple[float, float]] = []
    for cost, lost in sorted(zip(costs.tolist(), (-values).tolist(), strict=True)):
        value = -lost
        if hull and cost == hull[-1][0]:
            continue
        while len(hull) > 1 and _below(hull[-2], hull[-1], (cost, value)):
            hull.pop()
        hull.append((cost, value))
    if len(hull) > STEPS + 1:
        hull = [hull[round(place)] for place in np.linspace(0, len(hull) - 1, STEPS + 1)]
    # Plain numbers: a hull has few points, and arrays of a few numbers are slow.
    rises = [after[0] - before[0] for before, after in pairwise(hull)]
    gains = [after[1] - before[1] for before, after in pairwise(hull)]
    return [gain / rise for gain, rise in zip(gains, rises, strict=True)], rises, hull[0][0]


def _below(first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]) -> bool:
    """Return whether a point lies on or below the line between its neighbors."""
    return (middle[1] - first[1]) * (last[0] - first[0]) <= (last[1] - first[1]) * (middle[0] - first[0])
