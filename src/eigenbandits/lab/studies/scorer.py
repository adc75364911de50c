"""A policy that starts from a scorer, against that scorer: window by window, and on queries that were never asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.algorithms import EigenUCB
from eigenbandits.environments import Round
from eigenbandits.features import Bilinear
from eigenbandits.inputs import Array, one_of, whole
from eigenbandits.lab.errors import LabError, unknown
from eigenbandits.lab.experiments import Experiment, Record, Results, entry
from eigenbandits.lab.folders import data_folder
from eigenbandits.lab.reporting.tables import aligned, mean_with_error
from eigenbandits.lab.studies.problems.catalogue import FOLDER
from eigenbandits.lab.studies.problems.environments import FileInstance, FileProblem, orders
from eigenbandits.policy import Decision

WINDOW = 200
"""Rounds in which the policy is compared with the scorer."""
# Queries that show the directions of queries, and the largest number, or a quarter, that is kept for the end.
SHOWN, UNSEEN = 1000, 1000
CHOOSERS = ("scorer", "EigenUCB", "all labels")
_TEXTS = "txt_{}.npz"


@dataclass(frozen=True)
class AskedTexts(FileProblem):
    """Texts to be given one of K labels, some of which are never asked: features for a correction, and the cosine last.

    The file is that of `LabeledTexts`; each action has as many `numbers`, by `features.Bilinear`.
    """

    numbers: int = 512
    names = ("Q", "C", "y")

    @property
    def dim(self) -> int:
        """The features, as many as there are, and the score."""
        return int(min(self.numbers, self._pairs)) + 1

    @property
    def _pairs(self) -> int:
        labels, length = self.arrays["C"].shape
        return int(min(labels - 1, length) * length)

    def instance(self, seed: int) -> AskedInstance:
        """Draw the texts that are kept, and the order of the others."""
        return AskedInstance(self, seed)

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Refuse: which texts are asked belongs to an instance."""
        raise TypeError("AskedTexts has rounds only by instance(seed).")


class AskedInstance(FileInstance):
    """One split of the texts into `unseen`, which are never asked, and `asked`, again and again, each by its number."""

    environment: AskedTexts

    def __init__(self, environment: AskedTexts, seed: int) -> None:
        super().__init__(environment, seed, environment.dim)
        self.rng = np.random.default_rng(self.seed)
        order = self.rng.permutation(len(environment.arrays["y"]))
        kept = min(UNSEEN, len(order) // 4)
        self.unseen: NDArray[np.int64] = order[:kept]
        self.asked: NDArray[np.int64] = order[kept:]
        texts = environment.arrays["Q"].astype(np.float64)
        self.features = Bilinear(texts[self.asked[:SHOWN]], environment.arrays["C"], environment.numbers)

    def offered(self, text: int) -> tuple[Array, Array]:
        """Return the actions of a text, the score last, and what each is worth."""
        arrays = self.environment.arrays
        query = arrays["Q"][text].astype(np.float64)
        worth = np.zeros(len(arrays["C"]))
        worth[arrays["y"][text]] = 1.0
        return np.column_stack([self.features(query), self.features.scores(query)]), worth

    def texts(self) -> Iterator[int]:
        """Ask in an order, then in another."""
        for place in orders(len(self.asked), np.random.default_rng((self.seed, 1))):
            yield int(self.asked[place])

    def rounds(self) -> Iterator[Round]:
        """Offer the texts in this order."""
        for text in self.texts():
            yield Round(*self.offered(text), 0.0)


class ScoredPolicy:
    """A policy, or the scorer itself, that answers the queries never asked after its last round.

    `player` is one of `CHOOSERS`: the highest score; EigenUCB, which starts from the scores; or "all labels", which
    chooses as the scorer does, and at the end is an EigenUCB that is told the reward of every label of every text
    asked: what the features and the prior could reach if nothing had to be found out.
    """

    def __init__(self, player: str, rounds: int, seed: int | None = None) -> None:
        self.player, self.rounds = one_of(player, "player", CHOOSERS), whole(rounds, "rounds")
        self.policy = EigenUCB(seed=seed)
        self.played = 0

    def reveal(self, instance: AskedInstance) -> None:
        """Record the queries that are kept for the end."""
        self.instance = instance

    def choose(self, actions: Array) -> Decision:
        """Choose by the scores, or by the policy."""
        self.played += 1
        return self._choose(actions, observe=True)

    def _choose(self, actions: Array, observe: bool = False, told: bool = False) -> Decision:
        if told or self.player == "EigenUCB":
            return self.policy.choose(actions[:, :-1], observe, scores=actions[:, -1])
        index = int(actions[:, -1].argmax())
        return Decision(index, actions[index], self.played, float(actions[index, -1]), float(actions[index, -1]))

    def learn(self, decision: Decision, reward: float) -> None:
        """Let the policy learn; the scorer does not."""
        if self.player == "EigenUCB":
            self.policy.learn(decision, reward)

    def tell_all(self) -> None:
        """Teach the policy the reward of every label of the texts asked."""
        texts = list(islice(self.instance.texts(), min(self.rounds, len(self.instance.asked))))
        first, _ = self.instance.offered(texts[0])
        self.policy.choose(first[:, :-1], observe=True, scores=first[:, -1])
        for text in texts:
            offered, worth = self.instance.offered(text)
            actions = offered[:, :-1]
            self.policy.observe(actions)
            rows, _ = self.policy.lift(actions, offered[:, -1])
            rows.flags.writeable = False
            labels = [Decision(label, actions[label], 0, 0.0, 0.0, lifted=row) for label, row in enumerate(rows)]
            self.policy.learn_many(labels, worth)

    def diagnostics(self) -> dict[str, float]:
        """Return the share of right answers to the queries that were never asked, at the end."""
        if self.played < self.rounds:
            return {"unseen": float("nan")}
        told = self.player == "all labels"
        if told:
            self.tell_all()
        answered = (self.instance.offered(int(text)) for text in self.instance.unseen)
        right = [worth[self._choose(offered, told=told).index] for offered, worth in answered]
        return {"unseen": float(np.mean(right))}


def available_texts(data: str | PathLike[str] | None, wanted: list[str] | None, numbers: int) -> dict[str, AskedTexts]:
    """Return the labeled texts in the folder of the data, all or those that are wanted, by their names."""
    folder = data_folder(data) / FOLDER
    prefix, suffix = _TEXTS.split("{}")
    known = {
        path.name.removeprefix(prefix).removesuffix(suffix): path for path in sorted(folder.glob(_TEXTS.format("*")))
    }
    if not known:
        raise LabError(
            f"there are no labeled texts in {folder}; expected files {_TEXTS.format('NAME')} (docs/problems.md)."
        )
    for name in wanted or ():
        if name not in known:
            raise unknown("problem", name, known)
    return {name: AskedTexts(str(known[name]), numbers) for name in wanted or known}


def experiment(environments: Mapping[str, Any], rounds: int, seeds: int, first_seed: int = 1000) -> Experiment:
    """Return the experiment whose results `ScorerComparison` reads."""
    if rounds % WINDOW:
        raise ValueError(f"rounds is {rounds}; expected a multiple of {WINDOW}, the window of the comparison.")
    return Experiment(
        name="scorer",
        policies={player: entry(ScoredPolicy, player=player, rounds=rounds) for player in CHOOSERS},
        environments=environments,
        seeds=range(first_seed, first_seed + seeds),
        rounds=rounds,
        record=Record(points=rounds, accuracy=0),
        description="A policy that starts from a scorer, compared with it.",
    )


@dataclass(frozen=True, eq=False)
class ScorerComparison:
    """One problem's outcome: the rounds kept (p,), and for each policy its reward so far (seeds, p).

    `unseen` is for each policy the share of right answers to the queries never asked (seeds,).
    """

    problem: str
    rounds: Array
    rewards: Mapping[str, Array]
    unseen: Mapping[str, Array]

    def lead(self, player: str) -> Array:
        """Return by how many right answers a player is ahead of the scorer, (seeds, p)."""
        return np.asarray(self.rewards[player] - self.rewards["scorer"])

    def windows(self, player: str) -> Array:
        """Return the same in each window, in points (seeds, windows)."""
        ends = self.lead(player)[:, self.rounds % WINDOW == 0]
        return np.diff(ends, axis=1, prepend=0.0) * 100.0 / WINDOW

    def row(self, player: str) -> list[str]:
        """Return the cells of the table."""
        windows = self.windows(player).mean(axis=0)
        behind = np.flatnonzero(self.lead(player).mean(axis=0) <= 0.0)
        ahead = 0 if not len(behind) else int(self.rounds[behind[-1]]) + 1
        share = [f"{100.0 * self.rewards[one][:, -1].mean() / self.rounds[-1]:.1f}" for one in (player, "scorer")]
        unseen = [f"{100.0 * self.unseen[one].mean():.1f}" for one in (player, "scorer")]
        gain = mean_with_error(self.unseen[player] - self.unseen["scorer"], scale=100.0)
        shown = [f"{windows[0]:+.1f}", f"{windows.min():+.1f}", f"{windows[-1]:+.1f}"]
        late = "–" if ahead > self.rounds[-1] else f"{ahead:,}"
        if player == "all labels":
            share, shown, late = ["–", share[1]], ["–"] * 3, "–"
        return [self.problem, player, *share, *shown, late, *unseen, gain]


HEADERS = [
    *("problem", "policy", "right, %", "scorer", "first window", "lowest", "last", "ahead from", "unseen, %", "scorer"),
    "gain",
]
LEGEND = f"""\
first window, lowest, last: points above the scorer in windows of {WINDOW} rounds, means of all seeds. ahead from: the
round from which on the mean of all seeds has more right answers in all than the scorer. unseen: queries that were
never asked, at the end; gain: points above the scorer there, ± standard error. all labels: an EigenUCB that was told
the reward of every label of the texts asked, in place of those that it chose."""


def compare(results: Results) -> list[ScorerComparison]:
    """Return the outcome of each problem."""
    found = []
    for number, name in enumerate(results.environments):
        curves = {player: results.curve("reward", player, name) for player in results.policies}
        unseen = {player: results.final("unseen")[place, number] for place, player in enumerate(results.policies)}
        rewards = {player: curve.values for player, curve in curves.items()}
        found.append(ScorerComparison(name, curves["scorer"].rounds, rewards, unseen))
    return found


def report(comparisons: list[ScorerComparison]) -> str:
    """Return the table, and every window."""
    rows = [one.row(player) for one in comparisons for player in one.rewards if player != "scorer"]
    lines = [aligned(HEADERS, rows), "", LEGEND, "", f"Points above the scorer in each window of {WINDOW} rounds:"]
    for one in comparisons:
        shown = " ".join(f"{value:+.1f}" for value in one.windows("EigenUCB").mean(axis=0))
        lines.append(f"  {one.problem}: {shown}")
    return "\n".join(lines)
