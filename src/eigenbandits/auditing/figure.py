"""The audit drawn: the spectrum with the proposed rank, the projection error over rounds, and the simulated regret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigenbandits.auditing.findings import Audit
from eigenbandits.auditing.gain import Comparison
from eigenbandits.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "0.45"
_BARS, _HATCHES = ("#0072B2", "#56B4E9", "0.6"), ("", "//", "..")


def draw(audit: Audit) -> bytes:
    """Return the figure as a PNG."""
    need("plot", "matplotlib", what="Drawing a figure")
    from eigenbandits.lab import style
    from eigenbandits.lab.drawing import caption, to_bytes

    made, panels = style.figure(1, 2 if audit.comparison is None else 3)
    _spectrum(panels[0], audit)
    _projection(panels[1], audit)
    if audit.comparison is not None:
        _losses(panels[2], audit.comparison, audit.rounds)
    caption(made, f"{audit.vectors:,} vectors of {audit.dim} numbers; proposed m = {audit.rank}")
    return to_bytes(made, "png")


def _spectrum(axes: Axes, audit: Audit) -> None:
    from eigenbandits.lab.drawing import dress

    shares = audit.spectrum / audit.spectrum.sum()
    places = np.arange(1, len(shares) + 1)
    shown = shares > 1e-9
    axes.loglog(places[shown], shares[shown], color=_BLUE, marker=".", markersize=4, linewidth=1.0)
    axes.axvline(audit.rank + 0.5, color=_ORANGE, linewidth=1.2, label=f"m = {audit.rank}, edge of the bulk")
    if not audit.agree:
        axes.axvline(
            audit.gap_rank + 0.5, color=_GREY, linestyle="dashed", linewidth=1.2, label=f"m = {audit.gap_rank}, gap"
        )
    axes.legend(frameon=False, fontsize=8)
    around = " around the mean" if audit.center == "mean" else ""
    dress(axes, f"Spectrum{around}", "direction", "share of the energy")


def _projection(axes: Axes, audit: Audit) -> None:
    from eigenbandits.lab.drawing import dress

    rounds = [point.rounds for point in audit.projection]
    axes.semilogx(rounds, [p.estimated for p in audit.projection], color=_BLUE, marker="o", label="estimated")
    known = [point for point in audit.projection if point.measured is not None]
    if known:
        measured = [float("nan") if p.measured is None else p.measured for p in known]
        axes.semilogx(
            [p.rounds for p in known], measured, color=_ORANGE, marker="s", linestyle="dashed", label="distance to all"
        )
    axes.set_ylim(0.0, 1.05)
    axes.legend(frameon=False, fontsize=8)
    dress(axes, f"Error of the subspace, {audit.arms} vectors a round", "rounds", "‖P̂ − P‖")


def _losses(axes: Axes, comparison: Comparison, rounds: int) -> None:
    from eigenbandits.lab.drawing import dress

    width = 0.8 / len(comparison.places)
    for order, where in enumerate(comparison.places):
        means, errors = zip(*(loss.places[order] for loss in comparison.losses), strict=True)
        places = np.arange(len(comparison.losses)) + width * (order - (len(comparison.places) - 1) / 2.0)
        bars = axes.bar(places, means, width=0.95 * width, yerr=errors, capsize=3, color=_BARS[order])
        for bar in bars:
            bar.set(hatch=_HATCHES[order], edgecolor="white")
        bars.set_label(f"θ* {where}")
    axes.set_xticks(range(len(comparison.losses)), [loss.policy for loss in comparison.losses], fontsize=8)
    axes.legend(frameon=False, fontsize=8)
    axes.set_ylim(0.0, 1.4 * axes.get_ylim()[1])  # room for the legend
    dress(axes, f"Simulated regret after {rounds} rounds", "", "regret")
