"""An audit in words: the facts, why this rank, which policy lost least, and the lines to start with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from eigenbandits.auditing.gain import EIGEN, NOISE, OFUL_ONE, SIGNAL, Comparison
from eigenbandits.auditing.spectrum import CLEAR_GAP
from eigenbandits.lab.tables import aligned, percent

if TYPE_CHECKING:
    from eigenbandits.auditing.findings import Audit


def facts(audit: Audit) -> list[tuple[str, str, str]]:
    """Return name, value and meaning of what was found."""
    kind = f"{audit.arms} offered at once" + (", assumed" if audit.catalogue else "")
    return [
        ("vectors", f"{audit.vectors:,} of {audit.dim} numbers", kind),
        ("zero vectors", f"{audit.zeros:,}", "they say nothing and earn nothing"),
        ("duplicates", f"{audit.duplicates:,}", "equal to an earlier vector; they teach the subspace nothing new"),
        ("the mean's share", percent(audit.mean_share), _mean_words(audit)),
        ("effective rank", f"{audit.participation:.1f} / {audit.entropy:.1f}", "participation ratio / entropy"),
        ("proposed m", f"{audit.rank}", audit.reason),
        ("energy in m", percent(audit.energy), f"of the spectrum lies in the first {_directions(audit.rank)}"),
    ]


def _directions(count: int) -> str:
    return f"{count} direction{'s' if count > 1 else ''}"


def _mean_words(audit: Audit) -> str:
    if audit.center == "mean":
        return "the strongest direction of all is the mean, which tells no vectors apart: center (EigenUCB does)"
    return "weaker than the strongest direction: centering does not matter"


def reason(audit: Audit) -> str:
    """Say why this rank."""
    if not audit.structured and audit.rank < audit.dim:
        return "no eigenvalue stands out of the bulk that noise would fill far enough to be told from its neighbors"
    edge = f"{audit.rank} eigenvalue{'s stand' if audit.rank > 1 else ' stands'} out of the bulk that noise would fill"
    fall = f"the spectrum falls most, {audit.gap:.1f} times, after number {audit.gap_rank}"
    if audit.gap < CLEAR_GAP:
        return f"{edge}; there is no clear gap"
    return f"{edge}; {fall}" + (", which agrees" if audit.agree else ", which disagrees")


def verdict(audit: Audit) -> str:
    """Say what the spectrum shows, and which policy the simulation speaks for."""
    return f"{_shown(audit)} {_said(audit.comparison)}"


def _shown(audit: Audit) -> str:
    if not audit.structured:
        return "No subspace stands out of these vectors."
    held = f"{_directions(audit.rank)} of {audit.dim} {'hold' if audit.rank > 1 else 'holds'}"
    return f"{held} {percent(audit.energy)} of the energy and can be told from the rest."


def _said(comparison: Comparison | None) -> str:
    if comparison is None:
        return "Nothing was simulated: EigenUCB is the one that needs nothing to be known."
    best, second = comparison.ranked[:2]
    (least, error), (more, other) = best.overall, second.overall
    what = f"In the simulation {best.policy} loses least"
    # Two standard errors, as if the two were independent.
    if more - least <= 2.0 * math.hypot(error, other):
        return f"{what}, though no less than chance allows: {second.policy} may be as good."
    return f"{what}: {second.policy}, the next, loses {more / max(least, 1e-12):.1f} times as much."


def code(audit: Audit) -> str:
    """Return the lines to start with: the policy that lost least; EigenUCB where nothing was simulated."""
    best = EIGEN if audit.comparison is None else audit.comparison.best.policy
    if best == EIGEN:
        shape = "vectors" if audit.catalogue else "vectors.reshape(-1, vectors.shape[-1])"
        return f"policy = eb.EigenUCB()\npolicy.observe({shape})"
    # In the units of the vectors as they came; the simulation divides them by their root mean square norm.
    size = math.sqrt(float(audit.spectrum.sum()))
    ridge = size**2 * (1.0 if best == OFUL_ONE else NOISE**2 * audit.dim)
    told = f"noise={NOISE:g}, theta_bound={1.0 / size:.3g}, ridge={ridge:.3g}"
    center = ', center="mean"' if audit.center == "mean" else ""
    return f"policy = eb.OFUL({told}{center})  # for rewards in [0, 1]"


def method(audit: Audit) -> str:
    """Say how the regret was simulated."""
    return (
        f"Simulated on these vectors: {audit.rounds} rounds with {audit.arms} of them each, {audit.seeds} random θ* in "
        f"each place, expected rewards of standard deviation {SIGNAL:g} within a set, Gaussian noise {NOISE:g}. "
        "EigenUCB is shown the vectors first and told nothing; OFUL (log-det radius) is told the noise and "
        "the norm S of θ*. Where your rewards lie only rewards can say."
    )


def projection_table(audit: Audit) -> tuple[list[str], list[list[str]]]:
    """Return headers and rows of the projection error against rounds."""
    rows = [
        [f"{point.rounds:,}", f"{point.estimated:.2f}", "–" if point.measured is None else f"{point.measured:.2f}"]
        for point in audit.projection
    ]
    return ["rounds", "error, estimated", "distance to all, measured"], rows


def loss_table(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Return headers and rows of the simulation: a row for each policy, and one for choosing blindly."""
    headers = ["regret, with θ* drawn", *comparison.places, "over all"]
    rows = [
        [loss.policy, *(f"{mean:.1f} ± {error:.1f}" for mean, error in (*loss.places, loss.overall))]
        for loss in comparison.losses
    ]
    blind = (*comparison.chance, sum(comparison.chance) / len(comparison.chance))
    rows.append(["blind", *(f"{lost:.1f}" for lost in blind)])
    # Of one place the mean over all is the place itself.
    shown = None if len(comparison.places) > 1 else -1
    return headers[:shown], [row[:shown] for row in rows]


def page(audit: Audit) -> str:
    """Return all of it as text."""
    parts = [
        aligned(["", "found"], [[name, value] for name, value, _ in facts(audit)]),
        f"m = {audit.rank}: {reason(audit)}.",
        aligned(*projection_table(audit)),
    ]
    if audit.comparison is not None:
        parts += [aligned(*loss_table(audit.comparison)), method(audit)]
    parts += [verdict(audit), *(f"Warning: {warning}" for warning in audit.warnings), f"Start with:\n{code(audit)}"]
    return "\n\n".join(parts)
