"""The renderer: draws a `Plot` with matplotlib, and encodes it as PNG, PDF or SVG."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenbandits.extras import need
from eigenbandits.files import write_whole
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.reporting.plots import (
    Axis,
    Bars,
    Line,
    Mark,
    Panel,
    Plot,
    Points,
    Text,
    VerticalBand,
    VerticalLine,
)
from eigenbandits.lab.reporting.style import COLORS, Style, styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "pdf", "svg")
_SETTINGS: dict[Any, Any] = {"svg.hashsalt": "eigenbandits", "svg.fonttype": "path", "pdf.fonttype": 42}
_GRAY = "0.3"
_HATCHES = ("", "//", "..", "xx")
# Characters of the caption that fit on an inch, and the width in inches of an entry of the legend.
_CAPTION_CHARACTERS, _LEGEND_INCHES = 13, 1.9
# Characters of all entries up to which a panel's own legend has two columns.
_LEGEND_CHARACTERS = 40


def canvas(rows: int = 1, columns: int = 1, *, width: float = 4.0, height: float = 3.0) -> tuple[Figure, list[Axes]]:
    """Return an empty matplotlib figure and its axes row by row, made without global state; sizes are in inches."""
    need("plot", "matplotlib", what="Drawing a figure")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width * columns, height * rows), layout="constrained", facecolor="white")
    FigureCanvasAgg(made)
    panels = [axes for row in made.subplots(rows, columns, squeeze=False) for axes in row]
    # The last tick of one panel must not touch the label of the next.
    layout = made.get_layout_engine()
    assert layout is not None
    layout.set(w_pad=0.12, wspace=0.02)  # type: ignore[call-arg]
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
    return made, panels


def draw(plot: Plot) -> Figure:
    """Draw a plot."""
    rows = -(-len(plot.panels) // plot.columns)
    made, axes = canvas(rows, plot.columns, width=plot.width, height=plot.height)
    looks = styles(plot.names or _names(plot.panels))
    for place in axes[len(plot.panels) :]:
        place.set_visible(False)
    for place, panel in zip(axes, plot.panels, strict=False):
        if panel.empty:
            place.set_visible(False)
        else:
            _draw_panel(place, panel, looks)
    if plot.legend:
        _draw_legend(made, {name: looks[name] for name in plot.legend}, _with_lines(plot.panels))
    if plot.caption:
        made.suptitle(_wrapped(plot.caption, made), fontsize=9, color=_GRAY)
    return made


def to_bytes(plot: Plot, form: str) -> bytes:
    """Return a plot as the bytes of a PNG, PDF or SVG file; the same plot gives the same bytes."""
    return encode(draw(plot), form)


def encode(made: Figure, form: str) -> bytes:
    """Return a matplotlib figure as the bytes of a PNG, PDF or SVG file."""
    from matplotlib import rc_context

    if form not in FORMATS:
        raise LabError(f"format is {form!r}; expected one of {', '.join(FORMATS)}.")
    undated: dict[str, dict[str, Any]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
    content = io.BytesIO()
    with rc_context(_SETTINGS):
        made.savefig(content, format=form, dpi=150, metadata=undated[form])
    return content.getvalue()


def save(plots: Mapping[str, Plot], folder: Path) -> list[Path]:
    """Write plots to a folder in all formats and return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, plot in plots.items():
        made = draw(plot)
        for form in FORMATS:
            paths.append(folder / f"{name}.{form}")
            write_whole(paths[-1], encode(made, form))
    return paths


def _names(panels: Iterable[Panel]) -> list[str]:
    """Return the names of all marks, in order."""
    marks = [mark for panel in panels for mark in panel.marks]
    return list(dict.fromkeys(mark.name for mark in marks if isinstance(mark, Line | Points | Bars)))


def _with_lines(panels: Iterable[Panel]) -> bool:
    return any(isinstance(mark, Line) for panel in panels for mark in panel.marks)


def _draw_panel(axes: Axes, panel: Panel, looks: Mapping[str, Style]) -> None:
    lines = [mark.name for mark in panel.marks if isinstance(mark, Line) and not mark.thin]
    bars = [mark.name for mark in panel.marks if isinstance(mark, Bars)]
    for mark in panel.marks:
        _draw_mark(axes, mark, looks, lines, bars)
    axes.set_title(panel.title, fontsize=10)
    _dress(axes, axes.xaxis, panel.x)
    _dress(axes, axes.yaxis, panel.y)
    if panel.legend:
        # Below the axes, where no line can cross it.
        names = [str(handle) for handle in axes.get_legend_handles_labels()[1]]
        columns = 2 if sum(map(len, names)) < _LEGEND_CHARACTERS else 1
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=columns, frameon=False, fontsize=8)


def _draw_mark(axes: Axes, mark: Mark, looks: Mapping[str, Style], lines: Sequence[str], bars: Sequence[str]) -> None:
    match mark:
        case Line():
            _draw_line(axes, mark, looks[mark.name], lines)
        case Points():
            _draw_points(axes, mark, looks[mark.name])
        case Bars():
            _draw_bars(axes, mark, bars)
        case VerticalLine():
            style = "dashed" if mark.dashed else "solid"
            axes.axvline(mark.x, color=_GRAY, linestyle=style, linewidth=1.0, label=mark.name or None)
        case VerticalBand():
            axes.axvspan(mark.low, mark.high, color=COLORS[3], alpha=0.15, linewidth=0)
        case Text() if mark.point is None:
            axes.text(0.5, 0.5, mark.text, transform=axes.transAxes, ha="center", color="0.4")
        case Text():
            assert mark.point is not None
            place: dict[str, Any] = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
            axes.annotate(mark.text, mark.point, **place, fontsize=7, color="0.35")


def _draw_line(axes: Axes, line: Line, look: Style, lines: Sequence[str]) -> None:
    if line.thin:
        axes.plot(line.x, line.y, color=look.color, linestyle=(0, (1, 1)), linewidth=1.0)
        return
    if line.low is not None and line.high is not None:
        axes.fill_between(line.x, line.low, line.high, color=look.color, alpha=0.18, linewidth=0)
    # The markers of neighbors are shifted, so that lines on top of each other stay visible.
    shift = len(line.x) // 8 * lines.index(line.name) // max(1, len(lines))
    options = look.line_options(len(line.x), shift)
    axes.plot(line.x, line.y, **(options | {"markevery": 1} if line.markers == "all" else options), label=line.name)


def _draw_points(axes: Axes, points: Points, look: Style) -> None:
    axes.errorbar(
        points.x,
        points.y,
        xerr=points.x_error,
        yerr=points.y_error,
        marker=points.marker or look.marker,
        color=look.color,
        markersize=points.size,
        markeredgewidth=2.0 if points.marker == "|" else 1.0,
        capsize=3 if points.y_error is not None else 0,
        linestyle="none",
        alpha=0.85,
        label=points.name,
    )


def _draw_bars(axes: Axes, bars: Bars, names: Sequence[str]) -> None:
    place = names.index(bars.name)
    width = 0.8 / len(names)
    centers = np.arange(len(bars.heights)) + width * (place - (len(names) - 1) / 2.0)
    hatch, color = _HATCHES[place % len(_HATCHES)], (COLORS[0], COLORS[5], "0.6", COLORS[1])[place % 4]
    options: dict[str, Any] = {"capsize": 3, "color": color, "hatch": hatch, "edgecolor": "white", "label": bars.name}
    axes.bar(centers, bars.heights, width=0.95 * width, yerr=bars.errors, **options)


def _dress(axes: Axes, axis: Any, about: Axis) -> None:
    """Label an axis, and set its scale, its ends and its ticks."""
    vertical = axis.axis_name == "y"
    axis.set_label_text(about.label)
    ends = {name: value for name, value in (("low", about.low), ("high", about.high)) if value is not None}
    _set_ends(axes, vertical, ends)
    if about.categories:
        axis.set_ticks(range(len(about.categories)), about.categories)
        if vertical:
            axes.set_ylim(len(about.categories) - 0.4, -0.6)
            axes.grid(axis="y", visible=False)
    elif about.log:
        logarithmic(axis)
        if about.ticks is not None:
            axis.set_ticks(about.ticks, minor=False)
            axes.minorticks_off()
        if about.floor is not None:
            ends |= {"low": max(axis.get_view_interval()[0], about.floor)}
        _set_ends(axes, vertical, ends)
    elif vertical and not ends:
        _start_at_zero(axes)


def _set_ends(axes: Axes, vertical: bool, ends: Mapping[str, float]) -> None:
    # Without ends the data decides, which setting none of them would prevent.
    if ends and vertical:
        axes.set_ylim(bottom=ends.get("low"), top=ends.get("high"))
    elif ends:
        axes.set_xlim(left=ends.get("low"), right=ends.get("high"))


def _start_at_zero(axes: Axes) -> None:
    """Let a vertical axis start at zero if nothing is below it."""
    lowest, highest = axes.dataLim.y0, axes.dataLim.y1
    if lowest >= 0.0 and highest > 0.0:
        axes.set_ylim(0.0, 1.06 * highest)


def logarithmic(axis: Any) -> None:
    """Make an axis logarithmic, with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = axis.get_view_interval()
    steps = (1.0, 1.5, 2.0, 3.0, 5.0) if high < 20.0 * low else (1.0, 2.0, 5.0) if high < 200.0 * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def _draw_legend(made: Figure, looks: Mapping[str, Style], lines: bool) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=k.color, linestyle=k.line if lines else "none", marker=k.marker, markersize=5, label=name)
        for name, k in looks.items()
    ]
    columns = min(len(handles), max(1, int(made.get_size_inches()[0] / _LEGEND_INCHES)))
    made.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, handlelength=3.5)


def _wrapped(caption: str, made: Figure) -> str:
    return textwrap.fill(caption, max(40, int(_CAPTION_CHARACTERS * made.get_size_inches()[0])))
