"""How a claim is checked: its test on the results table, and the numbers behind the answer."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from eigenbandits.inputs import one_of
from eigenbandits.lab.reporting.tables import percent
from eigenbandits.papers.lale2019.policies import OFUL_PAPER, OFUL_SCALED, pslb_label
from eigenbandits.papers.lale2019.results_table import ResultsTable, Row
from eigenbandits.papers.lale2019.settings import Block, ranks

KINDS = ("linear", "other", "scaled")
HELD, PARTLY, NOT, NOT_RUN = "held", "partly", "not", "not run"
# A policy without a mistake counts as one with half of one where ratios are taken.
_LEAST = 0.5


class NotRunError(LookupError):
    """A row that a claim is about is not in the table."""


@dataclass(frozen=True)
class ClaimResult:
    """What the results say about a claim: held, partly, not, or not run; and the numbers behind it."""

    verdict: str
    numbers: str


class ClaimData:
    """The results table read in one of three ways.

    "linear" has linear layers everywhere; "other" a ReLU layer, and for ImageNet the products of the untouched network;
    "scaled" linear layers with λ = 1 for actions that are scaled to a norm of 1, where everything is from the projected
    set alone.
    """

    def __init__(self, table: ResultsTable, kind: str = "linear") -> None:
        self.table = table
        self.kind = one_of(kind, "kind", KINDS)

    def block(self, dataset: str, dim: int) -> Block:
        """Return the block of a dataset and a dimension."""
        other = "product" if dataset == "imagenet" else "relu"
        return Block(dataset, dim, other if self.kind == "other" else "linear")

    def line(self, dataset: str, dim: int, policy: str) -> Row:
        """Return a row; raises `NotRunError` if there is none."""
        block = self.block(dataset, dim)
        found = self.table.get(block, policy)
        if found is None:
            raise NotRunError(f"{policy} on {block.name}")
        return found

    def oful(self, dataset: str, dim: int) -> Row:
        """Return OFUL as the paper ran it."""
        return self.line(dataset, dim, OFUL_SCALED if self.kind == "scaled" else OFUL_PAPER)

    def pslb(self, dataset: str, dim: int, rank: int, group: str = "paper") -> Row:
        """Return PSLB with one m."""
        if self.kind == "scaled":
            group = "scaled"
        return self.line(dataset, dim, pslb_label(rank, group))

    def ratio(self, dataset: str, dim: int, rank: int) -> float:
        """Return OFUL's mistakes over PSLB's."""
        return self.oful(dataset, dim).mistakes / max(self.pslb(dataset, dim, rank).mistakes, _LEAST)


@dataclass(frozen=True)
class Claim:
    """One claim of the paper, where it makes it, the test, the figure whose command runs it, and the check."""

    words: str
    where: str
    test: str
    figure: str
    evaluate: Callable[[ClaimData], ClaimResult]

    def check(self, table: ResultsTable, kind: str = "linear") -> ClaimResult:
        """Check the claim on the results under one kind of conditions."""
        try:
            return self.evaluate(ClaimData(table, kind))
        except NotRunError as error:
            return ClaimResult(NOT_RUN, f"{error} is missing")


def verdict(met: Sequence[bool]) -> str:
    """Return held if all parts of a test are met, not if none is, and else partly.

    Examples
    --------
    >>> verdict([True, True]), verdict([True, False]), verdict([False])
    ('held', 'partly', 'not')
    """
    return HELD if all(met) else PARTLY if any(met) else NOT


MAIN = (("mnist", 1000, "MNIST"), ("cifar10", 1000, "CIFAR-10"), ("imagenet", 100, "ImageNet"))


def on_each(met: Callable[[Row, Row], bool], number: Callable[[Row, Row], str]) -> Callable[[ClaimData], ClaimResult]:
    """Return a check of PSLB with m = 1 and of OFUL on the three datasets of Figure 1."""

    def evaluate(results: ClaimData) -> ClaimResult:
        rows = {title: (results.pslb(data, dim, 1), results.oful(data, dim)) for data, dim, title in MAIN}
        words = [f"{title} {number(*both)}" for title, both in rows.items()]
        return ClaimResult(verdict([met(*both) for both in rows.values()]), "; ".join(words))

    return evaluate


def ten_times_later(pslb: Row, oful: Row) -> bool:
    """Return whether PSLB has an accurate model at some time, and OFUL ten times later or never."""
    return math.isfinite(pslb.learned) and 10.0 * pslb.learned <= oful.learned


def magnitudes(results: ClaimData) -> ClaimResult:
    """Check for two orders of magnitude between PSLB and OFUL on each dataset of Figure 1."""
    found = {title: results.ratio(data, dim, 1) for data, dim, title in MAIN}
    least = min(found.values())
    # Orders of magnitude means at least two; one counts as partly.
    word = HELD if least >= 100.0 else PARTLY if max(found.values()) >= 10.0 else NOT
    return ClaimResult(word, "; ".join(f"{title} {times(ratio)} times" for title, ratio in found.items()))


def by_rank(data: str, dim: int, below: Callable[[int], bool]) -> Callable[[ClaimData], ClaimResult]:
    """Return a check of the m for which PSLB makes fewer mistakes than OFUL."""

    def evaluate(results: ClaimData) -> ClaimResult:
        oful = results.oful(data, dim).mistakes
        found = {m: results.pslb(data, dim, m).mistakes for m in ranks()}
        met = [(mistakes < oful) == below(m) for m, mistakes in found.items()]
        return ClaimResult(verdict(met), f"PSLB {_list(found)}; OFUL {oful:,.0f}")

    return evaluate


def _list(found: dict[int, float]) -> str:
    return ", ".join(f"{value:,.0f}" if value >= 10 else f"{value:.1f}" for value in found.values()) + " (m = 1 … 16)"


def smaller_gain(results: ClaimData) -> ClaimResult:
    """Check whether the gain at d = 100 is below that at d = 500 and 1000, for each m."""
    gains = {dim: [results.ratio("mnist", dim, m) for m in ranks()] for dim in (100, 500, 1000)}
    met = [low < min(middle, high) for low, middle, high in zip(*gains.values(), strict=True)]
    words = "; ".join(f"d = {dim}: {', '.join(map(times, found))}" for dim, found in gains.items())
    return ClaimResult(verdict(met), f"OFUL over PSLB, m = 1 … 16: {words}")


def growing(results: ClaimData) -> ClaimResult:
    """Check whether mistakes grow with m."""
    found = {m: results.pslb("mnist", 100, m).mistakes for m in ranks()}
    values = list(found.values())
    return ClaimResult(verdict([a <= b for a, b in pairwise(values)]), f"PSLB {_list(found)}")


def intersection(results: ClaimData) -> ClaimResult:
    """Check whether PSLB over the intersection keeps up with OFUL."""
    if results.kind == "scaled":
        raise NotRunError("the intersection with λ = 1 for scaled actions")
    met, words = [], []
    for data, title in (("mnist", "MNIST"), ("cifar10", "CIFAR-10")):
        oful = results.oful(data, 100).mistakes
        found = {m: results.pslb(data, 100, m, "intersection").mistakes for m in ranks()}
        met += [mistakes <= 1.1 * oful for mistakes in found.values()]
        words.append(f"{title} {_list(found)}, OFUL {oful:,.0f}")
    return ClaimResult(verdict(met), "; ".join(words))


def late_learner(results: ClaimData) -> ClaimResult:
    """Check whether PSLB with m = 8 at d = 500 ends with an accurate model and few new mistakes."""
    found = results.pslb("mnist", 500, 8)
    met = [found.accuracy >= 0.9, found.late / 0.2 < 0.5 * found.mistakes]
    words = f"accuracy {percent(found.accuracy_100)} after 100 rounds, {percent(found.accuracy)} at the end; "
    return ClaimResult(verdict(met), f"{words}{found.late:,.0f} of {found.mistakes:,.0f} mistakes in the last fifth")


def all_accurate(results: ClaimData) -> ClaimResult:
    """Check whether PSLB ends with an accurate model for each m."""
    found = {m: results.pslb("mnist", 1000, m).accuracy for m in ranks()}
    words = ", ".join(percent(value) for value in found.values())
    return ClaimResult(verdict([value >= 0.9 for value in found.values()]), f"{words} (m = 1 … 16)")


def still_exploring(results: ClaimData) -> ClaimResult:
    """Check whether OFUL still makes mistakes at the end, and is less accurate than PSLB."""
    oful, pslb = results.oful("mnist", 1000), results.pslb("mnist", 1000, 1)
    met = [oful.late >= 0.05 * 0.2 * oful.rounds, oful.accuracy < pslb.accuracy]
    words = f"OFUL: {oful.late:,.0f} mistakes in the last {0.2 * oful.rounds:,.0f} rounds, accuracy at the end "
    return ClaimResult(verdict(met), f"{words}{percent(oful.accuracy)}, PSLB m = 1 {percent(pslb.accuracy)}")


def few(data: str, dim: int, share: float) -> Callable[[ClaimData], ClaimResult]:
    """Return a check whether PSLB with m = 1 makes at most some share of mistakes."""

    def evaluate(results: ClaimData) -> ClaimResult:
        found = results.pslb(data, dim, 1)
        return ClaimResult(
            verdict([found.share <= share]), f"{found.mistakes:,.1f} mistakes in {found.rounds:,} rounds"
        )

    return evaluate


def harder(results: ClaimData) -> ClaimResult:
    """Check whether there are more mistakes per round with 1,000 actions than with 10."""
    hard = [results.oful("imagenet", 100), results.pslb("imagenet", 100, 1)]
    met, words = [], []
    for name, there in zip(("OFUL", "PSLB m = 1"), hard, strict=True):
        easy = [results.line(data, 100, there.policy).share for data in ("mnist", "cifar10")]
        met.append(there.share > max(easy))
        words.append(f"{name} {1000 * there.share:.3g} (MNIST {1000 * easy[0]:.3g}, CIFAR-10 {1000 * easy[1]:.3g})")
    return ClaimResult(verdict(met), f"mistakes per 1,000 rounds: {'; '.join(words)}")


def times(ratio: float) -> str:
    """Return a ratio with its significant digits.

    Examples
    --------
    >>> times(5875.7), times(15.3), times(0.569)
    ('5,876', '15', '0.57')
    """
    return f"{ratio:,.0f}" if ratio >= 10.0 else f"{ratio:.2f}"


def in_words(value: float) -> str:
    """Return a round in words; infinity is "never"."""
    return f"round {value:,.0f}" if math.isfinite(value) else "never"
