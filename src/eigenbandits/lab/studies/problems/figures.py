"""The ratios as a figure: a row of dots for each policy, a dot for each problem."""

from __future__ import annotations

import numpy as np

from eigenbandits.lab.reporting.plots import Axis, Mark, Panel, Plot, Points, Text, VerticalBand, VerticalLine
from eigenbandits.lab.studies.problems.table import NEAR, RegretTable, mark

# Inches for each policy, and for the axis and the caption.
_ROW, _FRAME = 0.42, 1.5
# How far dots are spread over a row, so that equal values stay visible.
_SPREAD = 0.28
_UNTUNED, _TUNED, _MEAN = "untuned", "tuned", "geometric mean"


def ratios(table: RegretTable) -> Plot:
    """Return the ratio of each policy to the best untuned one, with the lowest geometric mean at the top."""
    order = sorted(zip(table.standings(), table.ratios, strict=True), key=lambda entry: entry[0].mean)
    shifts = np.linspace(-_SPREAD, _SPREAD, len(table.problems)) if len(table.problems) > 1 else np.zeros(1)
    marks: list[Mark] = [VerticalBand(1.0, NEAR), VerticalLine(1.0)]
    for row, (standing, found) in enumerate(order):
        name = _TUNED if standing.tuned else _UNTUNED
        marks.append(Points(name, found, row + shifts, size=4.5, marker="o"))
        marks.append(Points(_MEAN, [standing.mean], [row], size=20.0, marker="|"))
        marks.append(Text(standing.where, (standing.worst, float(row + shifts[int(found.argmax())]))))
    # Room for the names on the right.
    highest, lowest = float(table.ratios.max()), min(1.0, float(table.ratios.min()))
    axis = Axis(
        "regret over that of the best untuned policy (log scale)",
        log=True,
        low=lowest / 1.08,
        high=highest * (highest / lowest) ** 0.22 * 1.1,
    )
    labels = [mark(standing.policy, standing.tuned) for standing, _ in order]
    return Plot(
        [Panel("", axis, Axis(categories=labels), marks)],
        caption=f"A dot for each of {len(table.problems)} problems, a bar at the geometric mean, the worst by name"
        + ("; †: tuned" if any(table.tuned) else ""),
        names=[_UNTUNED, _MEAN, _TUNED],
        width=8.0,
        height=_FRAME + _ROW * len(order),
    )
