"""An audit as text: the facts, why this rank, which policy lost least, and the code to start with."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from eigenbandits.lab.reporting.tables import aligned, percent
from eigenbandits.lab.studies.audit.simulation import EIGEN, NOISE, OFUL_ONE, SIGNAL, SimulatedRegret
from eigenbandits.lab.studies.audit.spectrum import CLEAR_GAP

if TYPE_CHECKING:
    from eigenbandits.lab.studies.audit.report import Audit

_WIDTH = 110


def facts(audit: Audit) -> list[tuple[str, str, str]]:
    """Return the name, value and meaning of each fact."""
    kind = f"{audit.arms} offered at once" + (", assumed" if audit.catalogue else "")
    return [
        ("vectors", f"{audit.vectors:,} of {audit.dim} numbers", kind),
        ("zero vectors", f"{audit.zeros:,}", "they carry no information and earn nothing"),
        ("duplicates", f"{audit.duplicates:,}", "equal to an earlier vector; they add nothing to the subspace"),
        ("the mean's share", percent(audit.mean_share), _mean_words(audit)),
        ("effective rank", f"{audit.participation:.1f} / {audit.entropy:.1f}", "participation ratio / entropy"),
        ("proposed m", f"{audit.rank}", audit.reason),
        ("energy in m", percent(audit.energy), f"of the spectrum is in the first {_directions(audit.rank)}"),
    ]


def _directions(count: int) -> str:
    return f"{count} direction{'s' if count > 1 else ''}"


def _mean_words(audit: Audit) -> str:
    if audit.center == "mean":
        return "the strongest direction is the mean, which does not separate vectors: center them (EigenUCB does)"
    return "weaker than the strongest direction: centering does not matter"


def reason(audit: Audit) -> str:
    """Return the reason for this rank."""
    if not audit.structured and audit.rank < audit.dim:
        return "no eigenvalue stands out far enough from the bulk that noise would fill"
    edge = (
        f"{audit.rank} eigenvalue{'s stand' if audit.rank > 1 else ' stands'} out from the bulk that noise would fill"
    )
    fall = f"the spectrum falls most, by a factor of {audit.gap:.1f}, after number {audit.gap_rank}"
    if audit.gap < CLEAR_GAP:
        return f"{edge}; there is no clear gap"
    return f"{edge}; {fall}" + (", which agrees" if audit.agree else ", which disagrees")


def verdict(audit: Audit) -> str:
    """Return what the spectrum shows, and which policy did best in the simulation."""
    return f"{_finding(audit)} {_conclusion(audit.comparison)}"


def _finding(audit: Audit) -> str:
    if not audit.structured:
        return "No subspace stands out in these vectors."
    held = f"{_directions(audit.rank)} of {audit.dim} {'hold' if audit.rank > 1 else 'holds'}"
    return f"{held} {percent(audit.energy)} of the energy and stand{'s' if audit.rank == 1 else ''} clear of the rest."


def _conclusion(comparison: SimulatedRegret | None) -> str:
    if comparison is None:
        return "Nothing was simulated; EigenUCB is the policy that needs no settings."
    best, second = comparison.ranked[:2]
    (least, error), (more, other) = best.overall, second.overall
    what = f"In the simulation {best.policy} loses least"
    # Two standard errors, as if the two were independent.
    if more - least <= 2.0 * math.hypot(error, other):
        return f"{what}, but the difference may be chance: {second.policy} may be as good."
    return f"{what}. The next, {second.policy}, loses {more / max(least, 1e-12):.1f} times as much."


def code(audit: Audit) -> str:
    """Return the code to start with: the policy that lost least, or EigenUCB if nothing was simulated."""
    best = EIGEN if audit.comparison is None else audit.comparison.best.policy
    if best == EIGEN:
        shape = "vectors" if audit.catalogue else "vectors.reshape(-1, vectors.shape[-1])"
        return f"policy = eb.EigenUCB()\npolicy.observe({shape})"
    # In the units of the vectors as they came; the simulation divides them by their root mean square norm.
    size = math.sqrt(float(audit.spectrum.sum()))
    ridge = size**2 * (1.0 if best == OFUL_ONE else NOISE**2 * audit.dim)
    settings = f"noise={NOISE:g}, theta_bound={1.0 / size:.3g}, ridge={ridge:.3g}"
    center = ', center="mean"' if audit.center == "mean" else ""
    return f"policy = eb.OFUL({settings}{center})  # for rewards in [0, 1]"


def method(audit: Audit) -> str:
    """Describe the simulation."""
    return (
        f"Simulated on these vectors: {audit.rounds} rounds with {audit.arms} of them each, {audit.seeds} random θ* in "
        f"each place, expected rewards of standard deviation {SIGNAL:g} within a set, Gaussian noise {NOISE:g}. "
        "EigenUCB sees the vectors first and has nothing set; OFUL (log-det radius) knows the noise and the "
        "norm S of θ*. Where your θ* is, only rewards can show."
    )


def projection_table(audit: Audit) -> tuple[list[str], list[list[str]]]:
    """Return headers and rows of the projection error against rounds."""
    rows = [
        [f"{point.rounds:,}", f"{point.estimated:.2f}", "–" if point.measured is None else f"{point.measured:.2f}"]
        for point in audit.projection
    ]
    return ["rounds", "error, estimated", "distance to all, measured"], rows


def regret_table(comparison: SimulatedRegret) -> tuple[list[str], list[list[str]]]:
    """Return headers and rows of the simulation: a row for each policy, and one for random choices."""
    headers = ["regret, with θ* drawn", *comparison.places, "over all"]
    rows = [
        [loss.policy, *(f"{mean:.1f} ± {error:.1f}" for mean, error in (*loss.places, loss.overall))]
        for loss in comparison.losses
    ]
    random = (*comparison.chance, sum(comparison.chance) / len(comparison.chance))
    rows.append(["random", *(f"{lost:.1f}" for lost in random)])
    # With one place the mean over all is the place itself.
    shown = None if len(comparison.places) > 1 else -1
    return headers[:shown], [row[:shown] for row in rows]


def page(audit: Audit) -> str:
    """Return everything as text."""
    parts = ["\n".join(_fact(*fact) for fact in facts(audit)), aligned(*projection_table(audit))]
    if audit.comparison is not None:
        parts += [aligned(*regret_table(audit.comparison)), method(audit)]
    parts += [verdict(audit), *(f"Warning: {warning}" for warning in audit.warnings), f"Start with:\n{code(audit)}"]
    return "\n\n".join(part if "\n" in part else textwrap.fill(part, _WIDTH) for part in parts)


def _fact(name: str, value: str, meaning: str) -> str:
    start = f"{name:<18}{value:<23}"
    return textwrap.fill(start + meaning, _WIDTH, subsequent_indent=" " * len(start))
