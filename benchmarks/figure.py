"""Time against regret, one panel for each size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from benchmarks.methods import METHODS
from benchmarks.tables import combine

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

# Shape and fill, not colour, tell the groups apart: the figure must survive a black-and-white printer.
STYLES = {
    "ours": {"marker": "o", "markerfacecolor": "black", "label": "eigenbandits"},
    "plain": {"marker": "s", "markerfacecolor": "white", "label": "plain NumPy or BLAS"},
    "peer": {"marker": "^", "markerfacecolor": "0.7", "label": "other libraries"},
}


def draw(rows: list[dict[str, Any]], folder: Path) -> Path:
    """Draw the methods that played all rounds of a size, with one BLAS thread, and write PNG and SVG files."""
    merged = [row for row in combine(rows) if row["threads"] == 1 and "failed" not in row]
    sizes = list(dict.fromkeys((row["dim"], row["arms"]) for row in merged))
    columns = min(2, len(sizes))
    lines = -(-len(sizes) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(7.5 * columns, 5.2 * lines), squeeze=False)
    for axis, size in zip(axes.flat, sizes, strict=False):
        _panel(axis, size, [row for row in merged if (row["dim"], row["arms"]) == size])
    for axis in axes.flat[len(sizes) :]:
        axis.axis("off")
    axes.flat[0].legend(loc="best", fontsize=8)
    figure.tight_layout()
    target = folder / "time-regret.png"
    figure.savefig(target, dpi=130)
    figure.savefig(target.with_suffix(".svg"))
    plt.close(figure)
    return target


def _panel(axis: Axes, size: tuple[int, int], rows: list[dict[str, Any]]) -> None:
    done = [row for row in rows if row["rounds"] == row["asked"]]
    short = [METHODS[row["method"]].label for row in rows if row["rounds"] < row["asked"]]
    seen: set[str] = set()
    for row in done:
        group = METHODS[row["method"]].group
        group = group if group in STYLES else "peer"
        style: dict[str, Any] = dict(STYLES[group])
        if group in seen:
            del style["label"]
        seen.add(group)
        axis.plot(row["time"] * 1e3, row["regret"], linestyle="", color="black", markersize=7, **style)
    axis.set(xscale="log", yscale="log", xlabel="ms per round of choose + learn", ylabel="regret")
    axis.set_title(f"d = {size[0]}, K = {size[1]}, {rows[0]['asked']} rounds", fontsize=10)
    axis.grid(True, which="major", linewidth=0.3, color="0.8")
    axis.margins(0.15, 0.1)
    _label(axis, done)
    if short:
        words = "too slow for all rounds: " + ", ".join(short)
        axis.annotate(words, (0.0, -0.13), xycoords="axes fraction", fontsize=6.5, va="top", wrap=True)


def _label(axis: Axes, rows: list[dict[str, Any]]) -> None:
    """Write each point's name beside it, moving names up or down until none lies on another."""
    figure = axis.get_figure()
    assert figure is not None
    figure.canvas.draw()
    taken: list[tuple[float, float, float, float]] = []
    for row in sorted(rows, key=lambda row: float(row["regret"])):
        text = METHODS[row["method"]].label
        x, y = axis.transData.transform((row["time"] * 1e3, row["regret"]))
        width, height = 4.6 * len(text), 11.0
        steps = [0.0, *(sign * step for step in np.arange(1.0, 12.0) for sign in (1.0, -1.0))]
        places = [(x + side, y + step * height) for step in steps for side in (8.0, -8.0 - width)]
        left, bottom = next((p for p in places if not _hits((*p, width, height), taken)), places[0])
        taken.append((left, bottom, width, height))
        axis.annotate(
            text,
            (x, y),
            (left, bottom),
            xycoords="figure pixels",
            textcoords="figure pixels",
            fontsize=7,
            va="center",
            arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": "0.5"},
        )


def _hits(box: tuple[float, float, float, float], taken: list[tuple[float, float, float, float]]) -> bool:
    left, bottom, width, height = box
    return any(left < x + w and x < left + width and bottom < y + h and y < bottom + height for x, y, w, h in taken)
