"""Figures that a newcomer and a black-and-white printer can read."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigenbandits.extras import need
from eigenbandits.files import write_whole
from eigenbandits.inputs import Array
from eigenbandits.lab.style import Style, styles
from eigenbandits.lab.tables import bootstrap_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 1350, 825  # pixels
_DPI = 150
_POINTS = 200
# In fractions of the axes: where a line's name starts, after a short piece of the line itself.
_SAMPLE, _NAME = (1.03, 1.09), 1.105


class _End(NamedTuple):
    """Where a curve ends, and how it is drawn."""

    x: float
    y: float
    style: Style


def need_matplotlib() -> None:
    """Raise `extras.MissingExtraError` where no figure can be drawn."""
    need("plot", "matplotlib", what="Drawing a figure")


@dataclass(frozen=True, eq=False)
class Panel:
    """One problem and how everybody fared on it.

    Attributes
    ----------
    curves
        For each name the cumulative regret (T,) of each seed.
    title, subtitle
        What is shown, and where it was measured.
    regret
        What regret is here, for the axis.
    """

    curves: Mapping[str, Sequence[Array]]
    title: str
    subtitle: str = ""
    regret: str = "cumulative regret (expected reward lost)"


def regret_figure(path: str | PathLike[str], *panels: Panel) -> None:
    """Draw mean cumulative regret with its 95 % bootstrap band over seeds, and write it as PNG, whole or not at all.

    Parameters
    ----------
    path
        Where to.
    panels
        What, from left to right.
    """
    need_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    count = len(panels)
    figure = Figure(figsize=(count * WIDTH / _DPI, HEIGHT / _DPI), dpi=_DPI)
    FigureCanvasAgg(figure)
    for place, panel in enumerate(panels):
        axes = figure.add_axes(((place + 0.085) / count, 0.115, 0.63 / count, 0.745))
        _draw_panel(axes, panel)
        figure.text((place + 0.085) / count, 0.945, panel.title, fontsize=13, fontweight="bold")
        seeds = len(next(iter(panel.curves.values())))
        band = f"Lines: mean over {seeds} seeds. Bands: 95 % bootstrap interval of that mean."
        words = " ".join(filter(None, (panel.subtitle, band)))
        figure.text((place + 0.085) / count, 0.885, words, fontsize=9, color="0.3")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=_DPI)
    write_whole(path, picture.getvalue())


def _draw_panel(axes: Axes, panel: Panel) -> None:
    looks = styles(panel.curves)
    ends = {
        name: _draw_curve(axes, np.asarray(runs), looks[name], order)
        for order, (name, runs) in enumerate(panel.curves.items())
    }
    axes.set_xlim(0, max(end.x for end in ends.values()))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("round")
    axes.set_ylabel(panel.regret)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    _label_ends(axes, ends)


def _draw_curve(axes: Axes, runs: Array, style: Style, order: int) -> _End:
    rounds = runs.shape[1]
    shown = np.unique(np.linspace(0, rounds - 1, _POINTS).astype(int))
    runs = runs[:, shown]
    mean = runs.mean(axis=0)
    low, high = bootstrap_band(runs, resamples=2000)
    axes.fill_between(shown + 1, low, high, color=style.colour, alpha=0.18, linewidth=0)
    # Neighbours in the list have their markers at different rounds, lest they cover each other.
    axes.plot(shown + 1, mean, **style.line_options(len(shown), start=7 * order))
    return _End(float(rounds), float(mean[-1]), style)


def _label_ends(axes: Axes, ends: Mapping[str, _End]) -> None:
    """Name each line at its end beside a piece of it, moving names apart where they would overlap."""
    bottom, top = axes.get_ylim()
    names = sorted(ends, key=lambda name: ends[name].y)
    heights = [(ends[name].y - bottom) / (top - bottom) for name in names]
    for name, height, place in zip(names, heights, spaced(heights, gap=0.047), strict=True):
        style = ends[name].style
        frame: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
        axes.plot([1.0, _SAMPLE[0]], [height, place], color=style.colour, linewidth=0.8, **frame)
        sample = style.line_options(3) | {"markevery": [1]}
        axes.plot([_SAMPLE[0], sum(_SAMPLE) / 2, _SAMPLE[1]], [place] * 3, **sample, **frame)
        axes.text(_NAME, place, name, va="center", fontsize=10, **frame)


def spaced(places: Sequence[float], gap: float) -> list[float]:
    """Return ascending places moved as little as needed to lie at least `gap` apart.

    Names that would collide form a group around the middle of where they wanted to be.

    Examples
    --------
    >>> spaced([0.0, 0.1, 0.5], gap=0.2)
    [-0.05, 0.15, 0.5]
    """
    groups: list[tuple[float, int]] = []  # the lowest place of each group, and how many are in it
    for place in places:
        low, count = place, 1
        while groups and groups[-1][0] + groups[-1][1] * gap > low:
            before, size = groups.pop()
            # The mean distance from where each wanted to be is what stays zero when groups merge.
            low = (before * size + (low - size * gap) * count) / (size + count)
            count += size
        groups.append((low, count))
    return [low + i * gap for low, count in groups for i in range(count)]
