"""Criteria for EigenUCB with nothing set, checked case by case."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eigenbandits.inputs import Array
from eigenbandits.lab.experiments import Results
from eigenbandits.lab.studies.robustness.cases import (
    BASE,
    FLAGSHIP,
    INFORMED,
    OFUL_PLAIN,
    OFUL_RIDGE,
    TIMES_0001,
    TIMES_1000,
    Case,
)

# Regret of the last third of the rounds over that of the first: 1 is a straight line.
_BENT = 0.9
# Four of 27 cases with the structure may miss the criterion, or the same share of those that were run.
_MISSES = 4 / 27
# Rounding makes no difference beyond this share of a regret; another choice does.
_ROUNDING = 1e-6

# The ratio of a case, and a line about it.
_Compared = tuple[float, str]


@dataclass(frozen=True)
class Criterion:
    """One criterion and its outcome: what is required, and whether it was met; None if no case was run that could tell.

    `lines` are the cases that missed it, and by how much; or the case that came nearest to missing it.
    """

    requirement: str
    met: bool | None
    lines: tuple[str, ...]

    def __str__(self) -> str:
        word = {True: "MET", False: "NOT MET", None: "NOT RUN"}[self.met]
        return "\n".join([f"{word}: {self.requirement}", *(f"    {line}" for line in self.lines)])


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


def criteria(results: Results, chosen: Sequence[Case]) -> list[Criterion]:
    """Check the results of the study."""
    known = [row for row in chosen if row.label in results.environments]

    def final(policy: str, label: str) -> Array:
        return np.asarray(results.final("regret")[results.policies.index(policy), results.environments.index(label)])

    def against(row: Case, rival: str, words: str, label: str = "") -> _Compared:
        own, other = final(FLAGSHIP, row.label), final(rival, label or row.label)
        times, error = ratio(own, other)
        line = f"{row.label}: {times:.2f} ± {error:.2f} times ({FLAGSHIP} {own.mean():.1f}, {words} {other.mean():.1f})"
        return times, line

    def oful(row: Case) -> _Compared:
        best = min((OFUL_PLAIN, OFUL_RIDGE), key=lambda rival: float(final(rival, row.label).mean()))
        return against(row, best, best)

    structured = [row for row in known if row.structure and not row.normal]
    altered = [row for row in known if row.normal in results.environments]
    return [
        _within("1.1 times the better of OFUL λ = 1 and λ = R²d everywhere", 1.1, [oful(row) for row in known]),
        _within(
            "1.3 times PSLB with the true constants where the structure is present, except for one case in seven",
            1.3,
            [against(row, INFORMED, INFORMED) for row in structured],
            allowed=_MISSES,
        ),
        _within(
            "1.1 times the same problem with an ordinary first set",
            1.1,
            [against(row, FLAGSHIP, row.normal, row.normal) for row in altered],
        ),
        _bent(results, known),
        _same_choices(results),
    ]


def _within(limit_words: str, limit: float, found: Sequence[_Compared], allowed: float = 0.0) -> Criterion:
    """Check ratios of regret, of which a share may be above the limit."""
    requirement = f"within {limit_words}"
    if not found:
        return Criterion(requirement, None, ("no such case was run.",))
    missed = sorted((entry for entry in found if not entry[0] <= limit), reverse=True)
    if missed:
        met = len(missed) <= allowed * len(found)
        requirement = f"{requirement}: {len(missed)} of {len(found)} cases miss it"
        return Criterion(requirement, met, tuple(line for _, line in missed))
    return Criterion(f"{requirement}: all {len(found)} cases", True, (f"nearest: {max(found)[1]}",))


def _bent(results: Results, cases: Sequence[Case]) -> Criterion:
    """Compare the last third of the rounds with the first: regret that does not bend is linear."""
    found = []
    for row in cases:
        bends = {policy: _bend(results, policy, row.label) for policy in (FLAGSHIP, OFUL_PLAIN)}
        found.append((bends[FLAGSHIP], f"{row.label}: {bends[FLAGSHIP]:.2f} (OFUL {bends[OFUL_PLAIN]:.2f})"))
    requirement = (
        f"regret bends in every case: the last third of the rounds adds less than {_BENT:g} of what the first adds"
    )
    straight = sorted((entry for entry in found if not entry[0] < _BENT), reverse=True)
    if straight:
        return Criterion(requirement, False, tuple(line for _, line in straight))
    return Criterion(requirement, True, (f"straightest: {max(found)[1]}",))


def _bend(results: Results, policy: str, label: str) -> float:
    curve = results.curve("regret", policy, label)
    mean = curve.values.mean(axis=0)
    last = curve.rounds[-1]
    first, second = np.interp([last / 3.0, 2.0 * last / 3.0], curve.rounds, mean)
    return float((mean[-1] - second) / first) if first > 0.0 else 0.0


def _same_choices(results: Results) -> Criterion:
    """Compare the regret of EigenUCB at every kept round, on every seed, with all actions multiplied by a number."""
    requirement = "all actions × 1,000 and × 0.001: the same choices"
    if any(label not in results.environments for label in (BASE, TIMES_1000, TIMES_0001)):
        return Criterion(requirement, None, ("no such case was run.",))
    base = results.curve("regret", FLAGSHIP, BASE)
    lines = []
    for label in (TIMES_1000, TIMES_0001):
        other = results.curve("regret", FLAGSHIP, label).values
        apart = np.abs(other - base.values) > _ROUNDING * np.maximum(base.values, 1.0)
        if apart.any():
            seed, place = np.argwhere(apart)[0]
            lines.append(f"{label}: differs on seed {results.seeds[seed]} by round {base.rounds[place]:.0f}")
    if lines:
        return Criterion(requirement, False, tuple(lines))
    return Criterion(requirement, True, (f"the same regret at {len(base.rounds)} rounds on {len(base.values)} seeds.",))
