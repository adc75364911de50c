"""A posterior that chooses among the actions admitted by a proven confidence set (docs/certified.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from eigenbandits import merging
from eigenbandits.belief.base import Belief, Finding, Rows, View
from eigenbandits.belief.certified.least_upper import LeastUpper
from eigenbandits.belief.certified.mixture_set import MixtureSet
from eigenbandits.belief.spectral.belief import Spectral
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.subspace.base import Frame

# The proven regret of all choices is at most this many times the widths of their own intervals. For optimism's choices
# the factor is 1, so the proven bound on the cumulative regret grows by this factor.
SLACK = 2.0


class Screened(Belief):
    """The flagship's posterior, screened by a set that contains θ* in all rounds simultaneously.

    With U and L the bounds of the proven set, the regret of an action x is at most max U − L(x). Optimism takes the
    action with the highest U, whose regret is therefore at most its own width U(x) − L(x), and every proof of its
    regret adds up the widths of the actions chosen. Other actions will do as well, up to a factor c, as long as

        Σ max U − L(x) ≤ c Σ (U(x) − L(x))

    over all choices so far. The `credit` is what is left of the right side. An action is admitted if the credit is
    still at least 0 after it, and so is optimism's choice, which never lowers it. Among these, the posterior chooses by
    its own, far narrower bounds: an assumption decides where to explore, and the proof limits what that can cost.

    Parameters
    ----------
    noise, theta_bound, delta
        R, S and δ; see `MixtureSet`. The posterior learns the noise itself, since R may be only a bound.
    width
        See `Spectral`.

    Examples
    --------
    >>> belief = Screened(noise=0.5, theta_bound=1.0)
    >>> belief.start(2)
    >>> belief.follow(Frame(np.eye(2), error=0.1, version=1, spectrum=np.array([1.0, 0.1])))
    >>> belief.learn(np.array([1.0, 0.0]), 1.0)
    >>> view = belief.view(np.eye(2))
    >>> index, upper = view.best()
    >>> bool(upper == view.uppers()[index])
    True
    """

    offers: ClassVar[tuple[str, ...]] = ("estimates", "uppers", "lowers")
    _state_names: ClassVar[tuple[str, ...]] = ("posterior", "proved", "credit")

    def __init__(self, noise: float, theta_bound: float, delta: float = 0.01, width: float = 1.0) -> None:
        self.noise, self.theta_bound, self.delta, self.width = noise, theta_bound, delta, width
        self.posterior = Spectral(width=width)
        self.proved = MixtureSet(noise, theta_bound, delta)
        self.credit = 0.0
        # The rewards being learned, so that after an interruption both have the same rewards.
        self._pending: tuple[Array, Array, Sequence[Array | None] | None] | None = None

    def start(self, dim: int, intercept: float = 0.0) -> None:
        """Set up both."""
        self.posterior.start(dim, intercept)
        self.proved.start(dim, intercept)

    def follow(self, frame: Frame | None) -> None:
        """Let the posterior follow all directions, and the proven set those that stand out."""
        self.posterior.follow(frame)
        self.proved.follow(None if frame is None else frame.leading)

    def view(self, lifted: Array) -> ScreenedView:
        """Return a view of both through a decision set."""
        return ScreenedView(self.posterior.view(lifted), self.proved.view(lifted), self.credit)

    def note(self, finding: Finding | None) -> None:
        """Record the choice's credit, and pass on what its view computed to the posterior."""
        if finding is not None:
            self.credit += finding.credit
        self.posterior.note(finding)

    def accepts(self, forecast: Array | None) -> bool:
        """Return whether the posterior can learn with a forecast."""
        return self.posterior.accepts(forecast)

    def learn(self, action: Array, reward: float, forecast: Array | None = None) -> None:
        """Let both learn a reward."""
        self.learn_many(action[None], np.array([reward]), [forecast])

    def learn_many(self, actions: Array, rewards: Array, forecasts: Sequence[Array | None] | None = None) -> None:
        """Let both learn many rewards."""
        if not all(self.accepts(forecast) for forecast in forecasts or ()):
            raise ValueError("this decision was made by a policy of another kind; pass its action vector instead.")
        self._catch_up()
        self._pending = actions, rewards, forecasts
        if len(actions) == 1:
            self.proved.learn(actions[0], float(rewards[0]))
        else:
            self.proved.learn_many(actions, rewards)
        self._catch_up()

    def _catch_up(self) -> None:
        """Let the posterior learn what the proven set has learned and it has not."""
        missing = self.proved.evidence.count - self.posterior.evidence.count
        if self._pending is not None and missing:
            actions, rewards, forecasts = self._pending
            left = None if forecasts is None else forecasts[len(actions) - missing :]
            self.posterior.learn_many(actions[-missing:], rewards[-missing:], left)
        self._pending = None

    def recover(self) -> None:
        """Recompute everything that follows from the sums, and let the posterior learn what it has missed."""
        self.proved.recover()
        self.posterior.recover()
        self._catch_up()

    def merge(self, replicas: Sequence[Replica[Any]], frame: Frame | None) -> None:
        """Merge both, and add up the credits."""
        self.credit = merging.total(replicas, "credit")
        self.posterior.merge([replica.inside(replica.part.posterior) for replica in replicas], frame)
        self.proved.merge([replica.inside(replica.part.proved) for replica in replicas], frame)

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return the posterior's report, with the radii of the proven set and its warnings."""
        return self.proved.diagnostics(frame) | self.posterior.diagnostics(frame)


class ScreenedView(View):
    """The posterior and the proven set, seen through one decision set, with the credit for one choice."""

    def __init__(self, posterior: View, proved: LeastUpper, credit: float = 0.0) -> None:
        self.posterior_view = posterior
        self.proved = proved
        self.credit = credit
        self._top: tuple[int, float] | None = None

    def estimates(self) -> Array:
        """Return the posterior's estimates."""
        return self.posterior_view.estimates()

    def uppers(self) -> Array:
        """Return the proven upper bounds."""
        return self.proved.uppers()

    def lowers(self) -> Array:
        """Return the proven lower bounds."""
        return self.proved.lowers()

    def optimism(self) -> tuple[int, float]:
        """Return the action with the highest proven upper bound, and that bound."""
        if self._top is None:
            self._top = self.proved.best()
        return self._top

    def earned(self, index: int) -> float:
        """Return what choosing an action adds to the credit; below 0, what it takes."""
        upper, lower = self.proved.least_of(index), self.proved.highest_of(index)
        return SLACK * (upper - lower) - (self.optimism()[1] - lower)

    def best(self) -> tuple[int, float]:
        """Return the posterior's choice among the admitted actions, and its proven upper bound."""
        index, _ = self.posterior_view.best()
        if self.credit + self.earned(index) >= 0.0:
            return index, self.proved.least_of(index)
        optimist, top = self.optimism()
        uppers, lowers = self.proved.uppers(), self.proved.lowers()
        admitted = self.credit + SLACK * (uppers - lowers) >= top - lowers
        # Regardless of rounding.
        admitted[optimist] = True
        index = int(np.where(admitted, self.posterior_view.uppers(), -np.inf).argmax())
        return index, float(uppers[index])

    def optimist(self, index: int) -> Callable[[], Array]:
        """Return the most optimistic model of the proven set."""
        return self.proved.optimist(index)

    def believer(self) -> Callable[[], Array]:
        """Return the posterior's believer."""
        return self.posterior_view.believer()

    def finding(self, index: int) -> Finding | None:
        """Return the posterior's finding, with the credit of the choice."""
        finding = self.posterior_view.finding(index) or Finding()
        finding.credit = self.earned(index)
        return finding

    def prefetch(self, sizes: list[int]) -> None:
        """Let both prefetch all parts at once."""
        self.posterior_view.prefetch(sizes)
        self.proved.prefetch(sizes)

    def part(self, rows: slice | Rows) -> ScreenedView:
        """Return the view of a subset of the actions; it has no credit, since several parts cannot all spend it."""
        return ScreenedView(self.posterior_view.part(rows), self.proved.part(rows))

    def unrecorded(self) -> ScreenedView:
        """Return the view without the credit: what is not recorded cannot be paid for."""
        return ScreenedView(self.posterior_view, self.proved)
