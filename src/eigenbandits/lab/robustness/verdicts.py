"""What was asked of EigenUCB with nothing set, and whether the results bear it out, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eigenbandits.inputs import Array
from eigenbandits.lab.results import Results
from eigenbandits.lab.robustness.rows import (
    BASE,
    FLAGSHIP,
    OFUL_PLAIN,
    OFUL_RIDGE,
    TIMES_0001,
    TIMES_1000,
    TOLD,
    Row,
)

# Regret of the last third of the rounds over that of the first: 1 is a straight line.
_BENT = 0.9
# Of the 27 rows with the structure four may miss what is asked, or as large a share of those that were played.
_MISSES = 4 / 27
# Rounding makes no difference beyond this share of a regret; another choice does.
_ROUNDING = 1e-6

# The ratio of a row, and the words for it.
_Compared = tuple[float, str]


@dataclass(frozen=True)
class Verdict:
    """One bar.

    Attributes
    ----------
    bar : str
        What was asked.
    met : bool or None
        Whether it was met; None where no row could tell.
    lines : tuple of str
        The rows that missed it, by how much; or the row that came nearest to missing it.
    """

    bar: str
    met: bool | None
    lines: tuple[str, ...]

    def __str__(self) -> str:
        word = {True: "MET", False: "NOT MET", None: "NOT JUDGED"}[self.met]
        return "\n".join([f"{word}: {self.bar}", *(f"    {line}" for line in self.lines)])


def ratio(first: Array, second: Array) -> tuple[float, float]:
    """Return the ratio of two means over the same seeds, and its standard error by the delta method.

    Examples
    --------
    >>> ratio(np.array([2.0, 4.0]), np.array([1.0, 2.0]))  # exactly twice, seed by seed
    (2.0, 0.0)
    """
    if second.mean() == 0.0:
        return (1.0 if first.mean() == 0.0 else float("inf")), float("nan")
    found = float(first.mean() / second.mean())
    if len(first) < 2:
        return found, float("nan")
    spread = np.std(first - found * second, ddof=1) / np.sqrt(len(first))
    return found, float(spread / abs(second.mean()))


def verdicts(results: Results, chosen: Sequence[Row]) -> list[Verdict]:
    """Judge the results of `experiment`."""
    known = [row for row in chosen if row.label in results.environments]

    def final(policy: str, label: str) -> Array:
        return np.asarray(results.final("regret")[results.policies.index(policy), results.environments.index(label)])

    def beside(row: Row, rival: str, words: str, label: str = "") -> _Compared:
        own, other = final(FLAGSHIP, row.label), final(rival, label or row.label)
        times, error = ratio(own, other)
        line = f"{row.label}: {times:.2f} ± {error:.2f} times ({FLAGSHIP} {own.mean():.1f}, {words} {other.mean():.1f})"
        return times, line

    def oful(row: Row) -> _Compared:
        best = min((OFUL_PLAIN, OFUL_RIDGE), key=lambda rival: float(final(rival, row.label).mean()))
        return beside(row, best, best)

    told = [row for row in known if row.structure and not row.normal]
    opened = [row for row in known if row.normal in results.environments]
    return [
        _within("1.1 times the better of OFUL λ = 1 and λ = R²d everywhere", 1.1, [oful(row) for row in known]),
        _within(
            "1.3 times PSLB told the truth where the structure is there, but for one row in seven",
            1.3,
            [beside(row, TOLD, TOLD) for row in told],
            granted=_MISSES,
        ),
        _within(
            "1.1 times the same problem with an ordinary first set",
            1.1,
            [beside(row, FLAGSHIP, row.normal, row.normal) for row in opened],
        ),
        _bent(results, known),
        _same_choices(results),
    ]


def _within(bar: str, limit: float, found: Sequence[_Compared], granted: float = 0.0) -> Verdict:
    """Judge ratios of regret, of which a share is granted to lie above the limit."""
    bar = f"within {bar}"
    if not found:
        return Verdict(bar, None, ("no such row was played.",))
    missed = sorted((entry for entry in found if not entry[0] <= limit), reverse=True)
    if missed:
        met = len(missed) <= granted * len(found)
        return Verdict(f"{bar}: {len(missed)} of {len(found)} rows miss it", met, tuple(line for _, line in missed))
    return Verdict(f"{bar}: all {len(found)} rows", True, (f"nearest: {max(found)[1]}",))


def _bent(results: Results, judged: Sequence[Row]) -> Verdict:
    """Compare the last third of the rounds with the first: regret that does not bend is linear."""
    found = []
    for row in judged:
        bends = {policy: _bend(results, policy, row.label) for policy in (FLAGSHIP, OFUL_PLAIN)}
        found.append((bends[FLAGSHIP], f"{row.label}: {bends[FLAGSHIP]:.2f} (OFUL {bends[OFUL_PLAIN]:.2f})"))
    bar = f"regret bends in every row: the last third of the rounds adds less than {_BENT:g} of what the first adds"
    straight = sorted((entry for entry in found if not entry[0] < _BENT), reverse=True)
    if straight:
        return Verdict(bar, False, tuple(line for _, line in straight))
    return Verdict(bar, True, (f"straightest: {max(found)[1]}",))


def _bend(results: Results, policy: str, label: str) -> float:
    curve = results.curve("regret", policy, label)
    mean = curve.values.mean(axis=0)
    last = curve.rounds[-1]
    first, second = np.interp([last / 3.0, 2.0 * last / 3.0], curve.rounds, mean)
    return float((mean[-1] - second) / first) if first > 0.0 else 0.0


def _same_choices(results: Results) -> Verdict:
    """Compare the regret of EigenUCB at every kept round, on every seed, with all actions multiplied by a number."""
    bar = "all actions × 1,000 and × 0.001: the same choices"
    if any(label not in results.environments for label in (BASE, TIMES_1000, TIMES_0001)):
        return Verdict(bar, None, ("no such row was played.",))
    base = results.curve("regret", FLAGSHIP, BASE)
    lines = []
    for label in (TIMES_1000, TIMES_0001):
        other = results.curve("regret", FLAGSHIP, label).values
        apart = np.abs(other - base.values) > _ROUNDING * np.maximum(base.values, 1.0)
        if apart.any():
            seed, place = np.argwhere(apart)[0]
            lines.append(f"{label}: parts on seed {results.seeds[seed]} by round {base.rounds[place]:.0f}")
    if lines:
        return Verdict(bar, False, tuple(lines))
    return Verdict(bar, True, (f"the same regret at {len(base.rounds)} rounds on {len(base.values)} seeds.",))
