"""An audit in words: the facts, why this rank, whether it pays, and the lines to start with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigenbandits.auditing.gain import NOISE, SIGNAL, Gain
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
        return "the strongest direction of all is the mean, which tells no vectors apart: centre (PSLB does)"
    return "weaker than the strongest direction: centring does not matter"


def reason(audit: Audit) -> str:
    """Say why this rank."""
    if not audit.structured and audit.rank < audit.dim:
        return "no eigenvalue stands out of the bulk that noise would fill far enough to be told from its neighbours"
    edge = f"{audit.rank} eigenvalue{'s stand' if audit.rank > 1 else ' stands'} out of the bulk that noise would fill"
    fall = f"the spectrum falls most, {audit.gap:.1f} times, after number {audit.gap_rank}"
    if audit.gap < CLEAR_GAP:
        return f"{edge}; there is no clear gap"
    return f"{edge}; {fall}" + (", which agrees" if audit.agree else ", which disagrees")


def verdict(audit: Audit) -> str:
    """Say whether it pays."""
    found = [] if audit.structured else ["No subspace stands out of these vectors: OFUL has nothing to be beaten by."]
    found += [_gain_words(gain) for gain in audit.gains] or ["Not simulated, so no gain is estimated."]
    return " ".join(found)


def _gain_words(gain: Gain) -> str:
    condition = f"If θ* lies {gain.where},"
    # Two standard errors; a difference below a tenth is nobody's reason to choose.
    if gain.times > max(1.1, 1.0 + 2.0 * gain.error):
        return f"{condition} PSLB loses {gain.times:.1f} times less than the better OFUL: it pays."
    if gain.times < min(1.0 / 1.1, 1.0 - 2.0 * gain.error):
        return f"{condition} PSLB loses {1.0 / gain.times:.1f} times more than the better OFUL: it does not pay."
    return f"{condition} PSLB and the better OFUL lose about the same."


def code(audit: Audit) -> str:
    """Return the lines to start with."""
    if not audit.structured:
        center = ', center="mean"' if audit.center == "mean" else ""
        return f"policy = eb.OFUL(noise=0.5{center})  # 0.5 is safe for rewards in [0, 1]"
    shape = "vectors" if audit.catalogue else "vectors.reshape(-1, vectors.shape[-1])"
    return f"policy = eb.PSLB(noise=0.5)  # 0.5 is safe for rewards in [0, 1]\npolicy.observe({shape})"


def method(audit: Audit) -> str:
    """Say how the gain was estimated."""
    return (
        f"Simulated on these vectors: {audit.rounds} rounds with {audit.arms} of them each, {audit.seeds} random θ* in "
        f"each place, expected rewards of standard deviation {SIGNAL:g} within a set, Gaussian noise {NOISE:g}. PSLB "
        "is told the noise and shown the vectors first; OFUL (log-det radius) is told the norm of θ* as well, with "
        "λ = 1 or λ = R²d/S². Where your rewards lie only rewards can say."
    )


def projection_table(audit: Audit) -> tuple[list[str], list[list[str]]]:
    """Return headers and rows of the projection error against rounds."""
    rows = [
        [f"{point.rounds:,}", f"{point.estimated:.2f}", "–" if point.measured is None else f"{point.measured:.2f}"]
        for point in audit.projection
    ]
    return ["rounds", "error, estimated", "distance to all, measured"], rows


def gain_table(audit: Audit) -> tuple[list[str], list[list[str]]]:
    """Return headers and rows of the simulation."""
    rows = [
        [
            gain.where,
            *(f"{mean:.1f} ± {error:.1f}" for mean, error in (gain.pslb, gain.oful, gain.ridge)),
            f"{gain.chance:.1f}",
            f"{gain.times:.1f} ± {gain.error:.1f}",
        ]
        for gain in audit.gains
    ]
    return ["θ* drawn", "PSLB", "OFUL, λ = 1", "OFUL, λ = R²d/S²", "blind", "OFUL/PSLB"], rows


def page(audit: Audit) -> str:
    """Return all of it as text."""
    parts = [
        aligned(["", "found"], [[name, value] for name, value, _ in facts(audit)]),
        f"m = {audit.rank}: {reason(audit)}.",
        aligned(*projection_table(audit)),
    ]
    if audit.gains:
        parts += [aligned(*gain_table(audit)), method(audit)]
    parts += [verdict(audit), *(f"Warning: {warning}" for warning in audit.warnings), f"Start with:\n{code(audit)}"]
    return "\n\n".join(parts)
