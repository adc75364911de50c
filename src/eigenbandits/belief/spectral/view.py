"""The view of a spectral posterior: one decision set, with each prior member's values of its actions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from eigenbandits import linalg
from eigenbandits.belief.ambient_view import AmbientView
from eigenbandits.belief.base import Finding, Models, Rows, View
from eigenbandits.belief.spectral.neglect import Neglect
from eigenbandits.belief.spectral.prior import FORECAST
from eigenbandits.inputs import Array
from eigenbandits.linalg import kernels

if TYPE_CHECKING:
    from eigenbandits.belief.spectral.belief import Spectral


# With scores, the most that exploration may cost per choice on average, in standard deviations of the noise: at most
# half a percentage point if rewards are 0 or 1 (`eigenbandits calibrate allowance`).
ALLOWANCE = 0.01


def forecast(estimate: float, values: Array, index: int) -> Array:
    """Return the chosen action's estimate, each member's highest value, and the chosen action's value less that."""
    members = values.shape[1]
    found = np.empty(2 * members + 1)
    found[0] = estimate
    # What the method `max` calls, in half the time.
    best = np.maximum.reduce(values, axis=0, out=found[1 : members + 1])
    np.subtract(values[index], best, out=found[members + 1 :])
    return found


def forecasts_alone(actions: Array, models: Array) -> Array:
    """Return forecasts for actions (n, D) of unknown sets: each member (k, D) takes the action to be the best one."""
    members = len(models)
    forecasts = np.zeros((len(actions), 2 * members + 1))
    forecasts[:, 0] = math.nan
    forecasts[:, 1 : members + 1] = actions @ models.T
    return forecasts


def accepted(forecast: Array, scored: bool) -> bool:
    """Return whether a forecast has the shape that views make; with scores, with or without the score of the row."""
    shapes = (FORECAST, (FORECAST[0] + 1,)) if scored else (FORECAST,)
    return isinstance(forecast, np.ndarray) and forecast.shape in shapes


def scored(action: Array, forecast: Array | None) -> tuple[Array, Array | None]:
    """Return the row to learn and its forecast, given a forecast that may end with the score of the row.

    The score may be relative to what was known of the rest of the set when the decision was made.
    """
    if forecast is None or len(forecast) == FORECAST[0]:
        return action, forecast
    row = action.copy()
    row[-1] = forecast[-1]
    return row, forecast[:-1]


def scored_many(
    actions: Array, forecasts: Sequence[Array | None] | None
) -> tuple[Array, Sequence[Array | None] | None]:
    """Return the same for many rows."""
    if forecasts is None or not len(forecasts):
        return actions, forecasts
    pairs = [scored(action, forecast) for action, forecast in zip(actions, forecasts, strict=True)]
    return np.array([row for row, _ in pairs]), [forecast for _, forecast in pairs]


class SpectralView(AmbientView):
    """The posterior's view of one decision set, with each member's values."""

    independent = True
    belief: Spectral

    _values: Array | None = None
    # Whether neglected actions have been compared with the favorite; and how they are raised, if any of them is.
    _compared = False
    _neglect: Neglect | None = None

    @property
    def allowance(self) -> float:  # type: ignore[override]
        """The most that exploration may cost per choice, on average; without scores, there is no limit."""
        return ALLOWANCE * self.belief.noise if self.belief.score else math.inf

    def values(self) -> Array:
        """Return the value (K, k) of each action according to each member."""
        if self._values is None:
            self._values = linalg.project(self.lifted, self.belief.members.T)
        return self._values

    def reach(self, lengths: Array) -> Array:
        """Return how far the optimistic value is above the estimate: further if the action has been neglected."""
        found = self.omega * lengths
        return found if self._neglect is None else np.maximum(found, self._neglect.widths(lengths))

    def radius_of(self, index: int) -> float:
        """Return the radius with which one action's optimistic value was computed."""
        if self._neglect is None:
            return self.omega
        length = np.sqrt(np.maximum(linalg.dot(*self._copies(index)), 0.0))
        return float(self.reach(np.array([length]))[0] / length) if length else self.omega

    def best(self) -> tuple[int, float]:
        """Return the favorite, the action that e_K prefers, or one that is preferred because it has been neglected."""
        index, upper = super().best()
        if self._compared or not self.omega:
            return index, upper
        if self._uppers is not None:
            # All values are known, and mostly a quick bound shows that no neglected action can win.
            deviation, count = self.belief.deviation, self.belief.evidence.weight
            if not kernels.rivaled(self._uppers, self.estimates(), index, self.omega, deviation, count):
                return index, upper
        return super().best() if self._compare(index) else (index, upper)

    def uppers(self) -> Array:
        """Return the optimistic values."""
        if self._uppers is None and self._compared:
            super().uppers()
            self._raise()
        uppers = super().uppers()
        if not self._compared and self._compare(int(uppers.argmax())):
            uppers = super().uppers()
        return uppers

    def _compare(self, favorite: int) -> bool:
        """Raise the optimistic values of actions neglected for the favorite; return whether there may be any."""
        self._compared = True
        if not self.omega:
            return False
        if self._uppers is not None:
            widths = self._uppers - self.estimates()
            length, longest = float(widths[favorite]) / self.omega, float(widths[widths.argmax()]) / self.omega
        else:
            assert self._rough is not None
            length = math.sqrt(max(linalg.dot(*self._copies(favorite)), 0.0))
            longest = float(self._rough.lengths.max())
        neglect = Neglect.of(length, self.belief.evidence.weight, self.belief.deviation)
        if neglect.radius(longest) <= self.omega:
            return False
        self._neglect = neglect
        self._known.clear()
        self._raise()
        return True

    def _raise(self) -> None:
        """Raise the optimistic values, if all are known, from what they are without neglected actions."""
        if self._uppers is not None and self._neglect is not None:
            lengths = (self._uppers - self.estimates()) / self.omega
            self._uppers = self.estimates() + self.reach(lengths)

    def finding(self, index: int) -> Finding:
        """Return Z⁻¹x if it is known, and the forecast that the decision carries until its reward arrives."""
        finding = super().finding(index) or Finding()
        finding.forecast = self.forecast(self.estimate(index), self.values(), index)
        return finding

    def forecast(self, estimate: float, values: Array, index: int) -> Array:
        """Return the forecast of one action, followed by its score if there are scores."""
        found = forecast(estimate, values, index)
        return np.append(found, self.lifted[index, -1]) if self.belief.score else found

    def prefetch(self, sizes: list[int]) -> None:
        """Compute at once what the parts will need, except for the bounds: each part has its own radius."""
        self._compute_products()
        self.values()

    def part(self, rows: slice | Rows) -> SpectralView:
        """Return the view of a subset of the actions."""
        lifted = self.lifted[rows]
        part = SpectralView(self.belief, lifted, self.belief.omega_of(len(lifted)))
        part._root = self._draws()
        part._products = None if self._products is None else self._products[rows]
        part._values = None if self._values is None else self._values[rows]
        part._estimates = None if self._estimates is None else self._estimates[rows]
        return part

    def posterior(self, count: int, rng: np.random.Generator, scale: float | None = None) -> Models:
        """Return draws from the posterior, its spread multiplied by the scale if one is given."""
        return super().posterior(count, rng, self.belief.noise * (1.0 if scale is None else scale))


class RepeatedView(View):
    """The view of a decision set in which some actions have rewards of their own, which count in part.

    Parameters
    ----------
    view
        The linear model's view.
    rows, shares, means
        The actions learned before, with κ and r̄ of each (`Repeats.known`).
    """

    independent = True

    def __init__(self, view: SpectralView, rows: Rows, shares: Array, means: Array) -> None:
        self.view = view
        self.allowance = view.allowance
        self.rows, self.shares, self.means = rows, shares, means
        self._estimates = self._blend(view.estimates())

    def _blend(self, values: Array) -> Array:
        """Return values (K,) or (K, k) with the share κ of each replaced by the action's own mean reward."""
        blended = values.T.copy()
        blended[..., self.rows] += self.shares * (self.means - blended[..., self.rows])
        return np.asarray(blended.T)

    def estimates(self) -> Array:
        """Return xᵀθ̂ + κ(r̄ − xᵀθ̂)."""
        return self._estimates

    def uppers(self) -> Array:
        """Return the optimistic values; only the linear model's share is uncertain."""
        widths = self.view.uppers() - self.view.estimates()
        widths[self.rows] *= 1.0 - self.shares
        return np.asarray(self._estimates + widths)

    def posterior(self, count: int, rng: np.random.Generator, scale: float | None = None) -> Models:
        """Return draws from the linear model's posterior, blended in the same way."""
        drawn = self.view.posterior(count, rng, scale)
        return Models(self._blend(drawn.values.T).T, drawn.vector)

    def believer(self) -> Callable[[], Array]:
        """Return the linear model's believer."""
        return self.view.believer()

    def optimist(self, index: int) -> Callable[[], Array]:
        """Return the linear model's optimist."""
        return self.view.optimist(index)

    def finding(self, index: int) -> Finding:
        """Return the linear model's finding, with a forecast that includes the actions' own rewards."""
        finding = self.view.finding(index)
        finding.forecast = self.view.forecast(self.estimate(index), self._blend(self.view.values()), index)
        return finding

    def prefetch(self, sizes: list[int]) -> None:
        """Let the linear model prefetch all parts at once."""
        self.view.prefetch(sizes)

    def part(self, rows: slice | Rows) -> RepeatedView:
        """Return the view of a subset of the actions."""
        places = np.full(len(self._estimates), -1)
        places[self.rows] = np.arange(len(self.rows))
        kept = places[rows]
        known = np.flatnonzero(kept >= 0)
        return RepeatedView(self.view.part(rows), known, self.shares[kept[known]], self.means[kept[known]])
