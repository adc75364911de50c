"""The same belief with several half-lives side by side; the one that predicts the rewards best is used."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from eigenbandits import merging
from eigenbandits.belief.ambient import Ambient
from eigenbandits.belief.base import Belief, Finding, Models, Rows, View
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.subspace.base import Frame
from eigenbandits.translation import RowMap

# None first, then by factors of 4, so that one of them is within a factor of 2 of any half-life in between. Half-lives
# shorter than the last would require a factorization every few rewards.
HALF_LIVES: tuple[float | None, ...] = (None, 2048.0, 512.0, 128.0)
# Before any reward, each memory is twice as likely as the next shorter one: an earlier change is the stronger claim.
PRIOR = 0.5 ** np.arange(1.0, len(HALF_LIVES) + 1.0)
PRIOR /= PRIOR.sum()
# A memory below this share of the weight holds outdated rewards, if a shorter one has the weight. When it is restarted
# from that one, it gets this part of its weight, so that it takes the lead only once it has predicted better
# (`eigenbandits calibrate cloned`).
OUTDATED, CLONED = 1e-3, 0.1
# The drop in rewards to detect, in standard deviations (`eigenbandits calibrate drop`), and the log-likelihood ratio
# that proves it.
DROP, PROVED = 0.5, 6.0
# A reward counts as at most this many standard deviations below its expected value (`eigenbandits calibrate farthest`).
# Rewards of 0 and 1 are not normal: where nearly all are 1, three failures in a row would prove a drop.
FARTHEST = 2.0


class Memories(Belief):
    """One belief per half-life; each predicts every reward before it learns it, and the likeliest is used.

    Weights follow Bayes's rule, with a share of 1/t returned to the prior weights (Herbster and Warmuth 1998; van
    Erven, Grünwald and de Rooij 2012): over T rewards of a world that does not change this costs log T nats, and after
    a change, a memory that predicts better becomes the likeliest once it is ahead by about log t nats.

    Good predictions do not make good choices: if every choice earns 1, the shortest memory predicts best, and has
    forgotten why. So a shorter memory takes the lead only if it is the likeliest and the leader's rewards were below
    what the leader expected where that memory would have chosen otherwise. This is decided by a CUSUM (Page 1954) of
    the log-likelihood ratio of rewards half a standard deviation lower, whose false alarms are at least e^PROVED such
    rewards apart on average (Lorden 1971). Longer memories that have lost their weight by then hold outdated rewards,
    and are restarted from its state. A longer memory takes the lead as soon as it is the likeliest.

    Parameters
    ----------
    belief
        The belief, such as `Ambient` or `Spectral`; its own half-life does not matter.
    """

    offers: ClassVar[tuple[str, ...]] = ("estimates", "uppers", "lowers", "posterior", "boundary")
    takes_scores: ClassVar[bool] = True
    _NAMES: ClassVar[tuple[str, ...]] = tuple(f"memory_{place}" for place in range(len(HALF_LIVES)))
    _state_names: ClassVar[tuple[str, ...]] = (*_NAMES, "weights", "leader", "drops", "learned", "restarts")

    def __init__(self, belief: Ambient) -> None:
        self.belief = belief
        for name, half_life in zip(self._NAMES, HALF_LIVES, strict=True):
            setattr(self, name, belief.lasting(half_life))
        self.weights: Array = PRIOR.copy()
        # The place of the memory that makes the choices; and for each memory, how far the leader's rewards have fallen
        # short of what it expected where that memory would have chosen otherwise.
        self.leader = 0
        self.drops: Array = np.zeros(len(HALF_LIVES))
        self.learned = 0
        self.restarts = 0
        self.intercept = belief.intercept

    @property
    def members(self) -> list[Ambient]:
        """The beliefs, the one with the longest memory first."""
        return [getattr(self, name) for name in self._NAMES]

    def start(self, dim: int, intercept: float = 0.0) -> None:
        """Set up all of them."""
        for member in self.members:
            member.start(dim, intercept)

    def take_scores(self, size: float) -> None:
        """Pass the size to all of them."""
        for member in self.members:
            member.take_scores(size)

    def follow(self, frame: Frame | None) -> None:
        """Let all of them follow the subspace."""
        for member in self.members:
            member.follow(frame)

    def refuted(self, lifted: Array) -> Rows | None:
        """Return what the leader knows."""
        return self.members[self.leader].refuted(lifted)

    def view(self, lifted: Array) -> MemoriesView:
        """Return the leader's view, with the forecasts of all members."""
        return MemoriesView([member.view(lifted) for member in self.members], self.leader)

    def note(self, finding: Finding | None) -> None:
        """Pass what a choice computed to the leader, whose view computed it."""
        self.members[self.leader].note(finding)

    def learn(self, action: Array, reward: float, forecast: Array | None = None) -> None:
        """Weight the memories by how well they predict the reward, then let each learn it."""
        if not self.accepts(forecast):
            raise ValueError("this decision was made by a policy of another kind; pass its action vector instead.")
        members = self.members
        parts: list[Array | None] = [None] * len(members)
        other = np.ones(len(members))
        if forecast is not None:
            numbers, other = forecast[: -len(members)], forecast[-len(members) :]
            if len(numbers):
                parts = list(numbers.reshape(len(members), -1))
        predictions = [member.predict(action) for member in members]
        variance = max(member.noise_variance() for member in members)
        # A reward at a bound is not below an expected value beyond it.
        seen = members[self.leader].uncensored(reward, predictions[self.leader][0])
        for member, part in zip(members, parts, strict=True):
            member.learn(action, reward, part)
        self.learned += 1
        self.weights = self._weighed(predictions, reward, variance)
        self._choose_leader(predictions[self.leader], seen, variance, other)

    def _choose_leader(self, prediction: tuple[float, float], reward: float, variance: float, other: Array) -> None:
        """Let a longer memory lead once it is likelier, and a shorter one once it is proven better; see the class."""
        mean, gain = prediction
        surprise = max((reward - mean) / math.sqrt(variance * (1.0 + gain)), -FARTHEST)
        drop = -DROP * surprise - 0.5 * DROP**2
        self.drops = np.where(other > 0.0, np.maximum(self.drops + drop, 0.0), self.drops)
        likeliest = int(self.weights.argmax())
        proved = likeliest > self.leader and self.drops[likeliest] > PROVED
        if likeliest < self.leader or proved:
            self.leader, self.drops = likeliest, np.zeros(len(self.weights))
        if proved:
            self._restart()

    def accepts(self, forecast: Array | None) -> bool:
        """Return whether a forecast has the numbers that all members need."""
        if forecast is None:
            return True
        each, left = divmod(len(forecast) - len(HALF_LIVES), len(HALF_LIVES))
        return not left and (not each or (each > 0 and self.members[0].accepts(forecast[:each])))

    def _weighed(self, predictions: list[tuple[float, float]], reward: float, variance: float) -> Array:
        """Return the weights after a reward.

        The noise is the same for all members, the largest estimate among them: as a policy learns, its rewards vary
        less, and a short memory would win just by knowing that, even if the world has not changed.
        """
        logs = []
        for weight, (mean, gain) in zip(self.weights.tolist(), predictions, strict=True):
            # A normal density of variance `variance` · (1 + gain), but for a constant.
            surprise = (reward - mean) ** 2 / (variance * (1.0 + gain))
            logs.append(math.log(weight) - 0.5 * surprise - 0.5 * math.log1p(gain))
        likelihoods = np.exp(np.array(logs) - max(logs))
        share = 1.0 / (self.learned + 1.0)
        return np.asarray((1.0 - share) * likelihoods / likelihoods.sum() + share * PRIOR)

    def _restart(self) -> None:
        """Restart memories that are longer than the leader's and have no weight from the leader's state."""
        leader = self.leader
        for place in range(leader):
            if self.weights[place] < OUTDATED:
                self.members[place].restore(self.members[leader].state())
                # Its predictions are now the leader's.
                self.weights[place] = CLONED * self.weights[leader]
                self.restarts += 1
        self.weights /= self.weights.sum()

    def merge(self, replicas: Sequence[Replica[Any]], frame: Frame | None) -> None:
        """Refuse: see `Ambient.merge`."""
        merging.refuse_faded()

    def translate(self, change: RowMap, rng: np.random.Generator) -> None:
        """Map each of them."""
        for member in self.members:
            member.translate(change, rng)

    def recover(self) -> None:
        """Recompute everything that follows from the sums."""
        for member in self.members:
            member.recover()

    def diagnostics(self, frame: Frame | None) -> dict[str, Any]:
        """Return the leader's report, its half-life, and the weight of each memory."""
        names = ["all" if half_life is None else f"{half_life:g}" for half_life in HALF_LIVES]
        return self.members[self.leader].diagnostics(frame) | {
            "memory": HALF_LIVES[self.leader],
            "memories": dict(zip(names, self.weights.tolist(), strict=True)),
            "memory_restarts": self.restarts,
        }


class MemoriesView(View):
    """The leader's view of a decision set; its forecast holds all members' forecasts and who would choose otherwise."""

    def __init__(self, views: list[View], leader: int) -> None:
        self.views = views
        self.leading = leader
        self.leader = views[leader]
        self.allowance = self.leader.allowance
        self.independent = self.leader.independent

    def estimates(self) -> Array:
        """Return the leader's estimates."""
        return self.leader.estimates()

    def uppers(self) -> Array:
        """Return the leader's optimistic values."""
        return self.leader.uppers()

    def lowers(self) -> Array:
        """Return the leader's pessimistic values."""
        return self.leader.lowers()

    def believer(self) -> Callable[[], Array]:
        """Return the leader's believer."""
        return self.leader.believer()

    def optimist(self, index: int) -> Callable[[], Array]:
        """Return the leader's optimist."""
        return self.leader.optimist(index)

    def posterior(self, count: int, rng: np.random.Generator, scale: float | None = None) -> Models:
        """Return draws from the leader's posterior."""
        return self.leader.posterior(count, rng, scale)

    def boundary(self, count: int, rng: np.random.Generator) -> Models:
        """Return draws from the leader's boundary."""
        return self.leader.boundary(count, rng)

    def best(self) -> tuple[int, float]:
        """Return the leader's best action."""
        return self.leader.best()

    def prefetch(self, sizes: list[int]) -> None:
        """Let the leader prefetch all parts at once."""
        self.leader.prefetch(sizes)

    def part(self, rows: slice | Rows) -> MemoriesView:
        """Return the view of a subset of the actions."""
        return MemoriesView([view.part(rows) for view in self.views], self.leading)

    def finding(self, index: int) -> Finding | None:
        """Return the leader's finding, with all members' forecasts and whether each would choose another action."""
        findings = [view.finding(index) for view in self.views]
        leading = findings[self.leading] or Finding()
        forecasts = [one.forecast for one in findings if one is not None and one.forecast is not None]
        other = [float(int(view.estimates().argmax()) != index) for view in self.views]
        leading.forecast = np.concatenate([*forecasts, other])
        return leading


def remembering(belief: Ambient, memory: float | str | None) -> Belief:
    """Return a belief with a half-life; for "auto", with several side by side."""
    if memory == "auto":
        return Memories(belief)
    if isinstance(memory, str):
        raise ValueError(f"memory is {memory!r}; expected a half-life in rewards, 'auto' or None.")
    return belief if memory is None else belief.lasting(memory)
