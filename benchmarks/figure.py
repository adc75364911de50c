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
from matplotlib.ticker import FuncFormatter

# Shape and fill, not color, tell the groups apart: the figure must survive a black-and-white printer.
STYLES = {
    "ours": {"marker": "o", "markerfacecolor": "black", "label": "eigenbandits"},
    "plain": {"marker": "s", "markerfacecolor": "white", "label": "plain NumPy or BLAS"},
    "peer": {"marker": "^", "markerfacecolor": "0.7", "label": "other libraries"},
}


def draw(rows: list[dict[str, Any]], folder: Path) -> Path:
    """Draw the methods that played all rounds of a size, with one BLAS thread, and write PNG and SVG files.

    Points carry the number of their method; the key fills the place after the last panel.
    """
    merged = [row for row in combine(rows) if row["threads"] == 1 and "failed" not in row]
    sizes = list(dict.fromkeys((row["dim"], row["arms"]) for row in merged))
    names = list(dict.fromkeys(row["method"] for row in merged))
    lines = -(-(len(sizes) + 1) // 2)
    figure, axes = plt.subplots(lines, 2, figsize=(12.0, 5.0 * lines), squeeze=False)
    figure.subplots_adjust(left=0.06, right=0.98, top=1.0 - 0.15 / lines, bottom=0.25 / lines, hspace=0.4)
    for axis, size in zip(axes.flat, sizes, strict=False):
        _panel(axis, size, [row for row in merged if (row["dim"], row["arms"]) == size], names)
    for axis in axes.flat[len(sizes) :]:
        axis.axis("off")
    _key(axes.flat[len(sizes)], names)
    target = folder / "time-regret.png"
    figure.savefig(target, dpi=110)
    figure.savefig(target.with_suffix(".svg"))
    plt.close(figure)
    return target


def _group(name: str) -> str:
    group = METHODS[name].group
    return group if group in STYLES else "peer"


def _panel(axis: Axes, size: tuple[int, int], rows: list[dict[str, Any]], names: list[str]) -> None:
    done = [row for row in rows if row["rounds"] == row["asked"]]
    for row in done:
        style: dict[str, Any] = dict(STYLES[_group(row["method"])]) | {"label": None}
        axis.plot(row["time"] * 1e3, row["regret"], linestyle="", color="black", markersize=7, **style)
    axis.set(xscale="log", yscale="log", xlabel="ms per round of choose + learn", ylabel="regret")
    axis.set_title(f"d = {size[0]}, K = {size[1]}, {rows[0]['asked']:,} rounds", fontsize=10)
    axis.grid(True, which="major", linewidth=0.3, color="0.8")
    axis.margins(0.12, 0.15)
    for ticks in (axis.xaxis, axis.yaxis):
        ticks.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ticks.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else ""))
    _number(axis, {names.index(row["method"]) + 1: (row["time"] * 1e3, row["regret"]) for row in done})
    short = [str(names.index(row["method"]) + 1) for row in rows if row["rounds"] < row["asked"]]
    if short:
        words = f"too slow to play all rounds: {', '.join(short)}"
        axis.annotate(words, (0.0, -0.14), xycoords="axes fraction", fontsize=8, va="top")


def _number(axis: Axes, points: dict[int, tuple[float, float]]) -> None:
    """Write each point's number beside it, further off where another number or point is already."""
    pixels = {number: axis.transData.transform(point) for number, point in points.items()}
    taken = list(pixels.values())
    for number, at in pixels.items():
        tries = (
            at + radius * np.array([np.cos(angle), np.sin(angle)])
            for radius in (13.0, 20.0, 27.0, 34.0, 41.0)
            for angle in np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
        )
        place = next((spot for spot in tries if all(np.hypot(*(spot - other)) > 12.0 for other in taken)), at + 13.0)
        taken.append(place)
        axis.annotate(
            str(number),
            points[number],
            (place - at) * 72.0 / axis.get_figure(root=True).dpi,  # type: ignore[union-attr]
            textcoords="offset points",
            fontsize=8,
            ha="center",
            va="center",
            arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": "0.5", "shrinkA": 3, "shrinkB": 2},
        )


def _key(axis: Axes, names: list[str]) -> None:
    for line, (group, style) in enumerate(STYLES.items()):
        shape: dict[str, Any] = dict(style)
        label = shape.pop("label")
        axis.plot(0.03, 1.0 - 0.05 * line, linestyle="", color="black", markersize=7, **shape)
        numbers = [str(i + 1) for i, name in enumerate(names) if _group(name) == group]
        axis.text(0.06, 1.0 - 0.05 * line, f"{label}: {numbers[0]}–{numbers[-1]}" if numbers else label, va="center")
    for i, name in enumerate(names):
        axis.text(0.02, 0.83 - 0.038 * i, f"{i + 1:>2}  {METHODS[name].label}", fontsize=7.4, va="center")
    axis.set(xlim=(0.0, 1.0), ylim=(-0.15, 1.05))
