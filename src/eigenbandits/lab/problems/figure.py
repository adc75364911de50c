"""The ratios as a picture: a row of dots for each policy, a dot for each problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigenbandits.lab import style
from eigenbandits.lab.drawing import caption, logarithmic
from eigenbandits.lab.problems.table import NEAR, Table, mark

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Inches for each policy, and for the axis and the caption.
_ROW, _FRAME = 0.42, 1.5
# How far dots are spread over a row, so that those of one value stay visible.
_SPREAD = 0.28
# A span of ratios that leaves room for more numbers on the axis than 1, 2 and 5.
_FEW_TICKS = 20.0


def strips(table: Table) -> Figure:
    """Draw the ratio of each policy to the best untuned one, the policy of the lowest geometric mean on top."""
    from matplotlib.ticker import LogLocator

    order = sorted(zip(table.standings(), table.ratios, strict=True), key=lambda entry: entry[0].mean)
    made, (axes,) = style.figure(width=8.0, height=_FRAME + _ROW * len(order))
    shifts = np.linspace(-_SPREAD, _SPREAD, len(table.problems)) if len(table.problems) > 1 else np.zeros(1)
    axes.axvspan(1.0, NEAR, color="#009E73", alpha=0.15, linewidth=0)
    axes.axvline(1.0, color="0.25", linewidth=1.0)
    for row, (standing, ratios) in enumerate(order):
        color = "#888888" if standing.tuned else "#0072B2"
        axes.scatter(ratios, row + shifts, s=22, color=color, alpha=0.75, linewidth=0, zorder=3)
        axes.plot([standing.mean] * 2, [row - 0.38, row + 0.38], color="#D55E00", linewidth=2.2, zorder=4)
        axes.annotate(
            standing.where,
            (standing.worst, row + shifts[int(ratios.argmax())]),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
            color="0.35",
        )
    # Room for the names on the right.
    highest, lowest = float(table.ratios.max()), min(1.0, float(table.ratios.min()))
    axes.set_xlim(lowest / 1.08, highest * (highest / lowest) ** 0.22 * 1.1)
    logarithmic(axes.xaxis)
    if highest < _FEW_TICKS * lowest:
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0)))
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_yticks(range(len(order)), [mark(standing.policy, standing.tuned) for standing, _ in order])
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("regret over that of the best untuned policy (log scale)")
    caption(
        made,
        f"A dot for each of {len(table.problems)} problems, a bar at the geometric mean, the worst problem by name"
        + ("; gray and †: tuned" if any(table.tuned) else ""),
    )
    return made
