"""Figures that a newcomer and a black-and-white printer can read."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigenbandits.extras import need
from eigenbandits.files import write_whole
from eigenbandits.inputs import Array
from eigenbandits.lab.tables import bootstrap_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 1350, 825  # pixels
_DPI = 150
# Okabe and Ito's colours, which people with any common colour blindness tell apart; their yellow is too pale for lines.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
# Without colour the dashes tell lines apart, and from the sixth line on the markers too.
_DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1.5)))
_MARKERS = ("", "o", "s", "^")
_POINTS = 200
# In fractions of the axes: where a line's name starts, after a short piece of the line itself.
_SAMPLE, _NAME = (1.03, 1.09), 1.105


class _End(NamedTuple):
    """Where a curve ends, and how it is drawn."""

    x: float
    y: float
    style: dict[str, Any]


def need_matplotlib() -> None:
    """Raise `extras.MissingExtraError` where no figure can be drawn."""
    need("plot", "matplotlib", what="Drawing a figure")


def regret_figure(
    path: str | PathLike[str], curves: Mapping[str, Sequence[Array]], title: str, subtitle: str = ""
) -> None:
    """Draw mean cumulative regret with its 95 % bootstrap band over seeds, and write it as PNG, whole or not at all.

    Parameters
    ----------
    path
        Where to.
    curves
        For each name the cumulative regret (T,) of each seed.
    title, subtitle
        What is shown, and where it was measured.
    """
    need_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH / _DPI, HEIGHT / _DPI), dpi=_DPI)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.085, 0.115, 0.63, 0.745))
    ends = {name: _draw_curve(axes, np.asarray(runs), order) for order, (name, runs) in enumerate(curves.items())}
    seeds = len(next(iter(curves.values())))
    axes.set_xlim(0, max(end.x for end in ends.values()))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("round")
    axes.set_ylabel("cumulative regret (expected reward lost)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    _label_ends(axes, ends)
    figure.text(0.085, 0.945, title, fontsize=13, fontweight="bold")
    band = f"Lines: mean over {seeds} seeds. Bands: 95 % bootstrap interval of that mean."
    figure.text(0.085, 0.885, " ".join(filter(None, (subtitle, band))), fontsize=9, color="0.3")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=_DPI)
    write_whole(path, picture.getvalue())


def _style(order: int) -> dict[str, Any]:
    """Return colour, dashes and marker of the line number `order`; the first twenty differ in dashes or marker."""
    # Forth and back, so that neighbours in a long list do not share a colour with each other's namesakes.
    cycle = _COLOURS + _COLOURS[::-1]
    return {
        "color": cycle[order % len(cycle)],
        "linestyle": _DASHES[order % len(_DASHES)],
        "linewidth": 1.8,
        "marker": _MARKERS[order // len(_DASHES) % len(_MARKERS)],
        "markersize": 4.5,
    }


def _draw_curve(axes: Axes, runs: Array, order: int) -> _End:
    rounds = runs.shape[1]
    shown = np.unique(np.linspace(0, rounds - 1, _POINTS).astype(int))
    runs = runs[:, shown]
    mean = runs.mean(axis=0)
    low, high = bootstrap_band(runs, resamples=2000)
    style = _style(order)
    axes.fill_between(shown + 1, low, high, color=style["color"], alpha=0.18, linewidth=0)
    # Markers of neighbouring lines start at different rounds, lest they cover each other.
    every = max(1, len(shown) // 8)
    axes.plot(shown + 1, mean, markevery=(every * (1 + order % 3) // 4, every), **style)
    return _End(float(rounds), float(mean[-1]), style)


def _label_ends(axes: Axes, ends: Mapping[str, _End]) -> None:
    """Name each line at its end beside a piece of it, moving names apart where they would overlap."""
    bottom, top = axes.get_ylim()
    names = sorted(ends, key=lambda name: ends[name].y)
    heights = [(ends[name].y - bottom) / (top - bottom) for name in names]
    for name, height, place in zip(names, heights, spaced(heights, gap=0.047), strict=True):
        style = ends[name].style
        frame: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False}
        axes.plot([1.0, _SAMPLE[0]], [height, place], color=style["color"], linewidth=0.8, **frame)
        axes.plot([_SAMPLE[0], sum(_SAMPLE) / 2, _SAMPLE[1]], [place] * 3, markevery=[1], **style, **frame)
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
