"""What was asked of PSLB with nothing set, and whether the results bear it out, row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from eigenbandits.environments import LowRank
from eigenbandits.inputs import Array
from eigenbandits.lab.results import Results
from eigenbandits.lab.robustness.rows import BASE, OFUL_PLAIN, PLAIN, TIMES_0001, TIMES_1000, TOLD, Row

# Regret of the last third of the rounds over that of the first: 1 is a straight line.
_BENT = 0.9
# Rounding makes no difference beyond this share of a regret; another choice does.
_ROUNDING = 1e-6


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

    def against(bar: str, rival: str, limit: float, some: Callable[[Row], bool], at_least: bool = False) -> Verdict:
        return _against(results, bar, rival, limit, [row for row in known if some(row)], at_least)

    return [
        against("within 1.3 times PSLB told the truth where the structure is there", TOLD, 1.3, lambda r: r.structure),
        against("within 1.5 times OFUL everywhere", OFUL_PLAIN, 1.5, lambda r: True),
        against("5 times below OFUL at d = 500, m ≤ 4, perturbation 9×", OFUL_PLAIN, 5.0, _is_large, at_least=True),
        _bent(results, known),
        _same_choices(results),
    ]


def _is_large(row: Row) -> bool:
    env = row.environment
    return isinstance(env, LowRank) and env.dim == 500 and env.rank <= 4 and env.perturbation == 9.0


def _final(results: Results, policy: str, label: str) -> Array:
    final = results.final("regret")
    return np.asarray(final[results.policies.index(policy), results.environments.index(label)])


def _against(results: Results, bar: str, rival: str, limit: float, judged: Sequence[Row], at_least: bool) -> Verdict:
    """Judge PSLB's regret over the rival's, or the rival's over PSLB's where a gain of `limit` is asked for."""
    if not judged:
        return Verdict(bar, None, ("no such row was played.",))
    found = []
    for row in judged:
        own, other = _final(results, PLAIN, row.label), _final(results, rival, row.label)
        times, error = ratio(other, own) if at_least else ratio(own, other)
        miss = limit / times if at_least else times / limit
        line = f"{row.label}: {times:.2f} ± {error:.2f} times (PSLB {own.mean():.1f}, {rival} {other.mean():.1f})"
        found.append((miss, line))
    missed = sorted((entry for entry in found if not entry[0] <= 1.0), reverse=True)
    if missed:
        return Verdict(f"{bar}: {len(missed)} of {len(found)} rows miss it", False, tuple(line for _, line in missed))
    return Verdict(f"{bar}: all {len(found)} rows", True, (f"nearest: {max(found)[1]}",))


def _bent(results: Results, judged: Sequence[Row]) -> Verdict:
    """Compare the last third of the rounds with the first: regret that does not bend is linear."""
    found = []
    for row in judged:
        bends = {policy: _bend(results, policy, row.label) for policy in (PLAIN, OFUL_PLAIN)}
        found.append((bends[PLAIN], f"{row.label}: {bends[PLAIN]:.2f} (OFUL {bends[OFUL_PLAIN]:.2f})"))
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
    """Compare the regret of PSLB at every kept round, on every seed, with all actions multiplied by a number."""
    bar = "all actions × 1,000 and × 0.001: the same choices"
    if any(label not in results.environments for label in (BASE, TIMES_1000, TIMES_0001)):
        return Verdict(bar, None, ("no such row was played.",))
    base = results.curve("regret", PLAIN, BASE)
    lines = []
    for label in (TIMES_1000, TIMES_0001):
        other = results.curve("regret", PLAIN, label).values
        apart = np.abs(other - base.values) > _ROUNDING * np.maximum(base.values, 1.0)
        if apart.any():
            seed, place = np.argwhere(apart)[0]
            lines.append(f"{label}: parts on seed {results.seeds[seed]} by round {base.rounds[place]:.0f}")
    if lines:
        return Verdict(bar, False, tuple(lines))
    return Verdict(bar, True, (f"the same regret at {len(base.rounds)} rounds on {len(base.values)} seeds.",))
