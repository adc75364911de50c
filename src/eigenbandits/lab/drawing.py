"""What the figures of an experiment share: lines with bands, axes that people can read, one legend, and files."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenbandits.files import write_whole
from eigenbandits.inputs import Array
from eigenbandits.lab import style
from eigenbandits.lab.results import Results
from eigenbandits.lab.statistics import band
from eigenbandits.lab.words import LabError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "pdf", "svg")
_SETTINGS: dict[Any, Any] = {"svg.hashsalt": "eigenbandits", "svg.fonttype": "path", "pdf.fonttype": 42}
_BAND_WORDS = {"standard error": "mean ± standard error", "bootstrap": "mean, 95 % bootstrap interval"}


def save(figures: Mapping[str, Figure], folder: Path, formats: Iterable[str] = FORMATS) -> list[Path]:
    """Write figures to a folder in several formats and return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, made in figures.items():
        for form in formats:
            paths.append(folder / f"{name}.{form}")
            write_whole(paths[-1], to_bytes(made, form))
    return paths


def to_bytes(made: Figure, form: str) -> bytes:
    """Return a figure as the bytes of a PNG, PDF or SVG file; the same figure gives the same bytes."""
    from matplotlib import rc_context

    if form not in FORMATS:
        raise LabError(f"format is {form!r}; expected one of {', '.join(FORMATS)}.")
    undated: dict[str, dict[str, Any]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
    content = io.BytesIO()
    with rc_context(_SETTINGS):
        made.savefig(content, format=form, dpi=150, metadata=undated[form])
    return content.getvalue()


def having(results: Results, column: str) -> list[str]:
    """Return the environments on which some run has a value in a column."""
    return [environment for environment in results.environments if results.has(column, environment)]


def runs_of(results: Results, column: str, policy: str, environment: str, scale: float = 1.0) -> tuple[Array, Array]:
    """Return the rounds at which every seed has a value, and the values (seeds, n)."""
    if not results.has(column, environment):
        return np.empty(0), np.empty((0, 0))
    found = results.curve(column, policy, environment)
    known = np.isfinite(found.values).all(axis=0)
    return found.rounds[known], found.values[:, known] * scale


def stretched(rounds: Array, runs: Array, stretches: int | None) -> tuple[Array, Array]:
    """Return the median over stretches of the rounds, at the end of each."""
    if stretches is None or len(rounds) <= stretches:
        return rounds, runs
    parts = np.array_split(np.arange(len(rounds)), stretches)
    return rounds[[part[-1] for part in parts]], np.stack([np.median(runs[:, part], axis=1) for part in parts], axis=1)


def line(axes: Axes, rounds: Array, runs: Array, look: style.Style, bands: str, place: int, count: int) -> None:
    """Draw the mean of runs (seeds, n) and its band, as line number `place` of `count`."""
    low, high = band(runs, bands)
    shift = len(rounds) // 8 * place // max(1, count)
    axes.fill_between(rounds, low, high, color=look.colour, alpha=0.18, linewidth=0)
    axes.plot(rounds, runs.mean(axis=0), **look.line_options(len(rounds), shift))


def dress(axes: Axes, title: str, across: str, up: str) -> None:
    """Write a panel's title and what its axes are."""
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(across)
    axes.set_ylabel(up)


def from_zero(axes: Axes) -> None:
    """Let the vertical axis start at zero where nothing lies below it."""
    lowest, highest = axes.dataLim.y0, axes.dataLim.y1
    if lowest >= 0.0 and highest > 0.0:
        axes.set_ylim(0.0, 1.06 * highest)


def logarithmic(axis: Any) -> None:
    """Make an axis logarithmic, with numbers that people read."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 200.0 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def names_drawn(results: Results, columns: Sequence[str], looks: Mapping[str, style.Style]) -> dict[str, style.Style]:
    """Return the policies that have a line."""
    return {
        policy: look
        for policy, look in looks.items()
        if any(len(runs_of(results, c, policy, e)[0]) for c in columns for e in results.environments)
    }


def finish(
    made: Figure,
    unused: Iterable[Axes],
    looks: Mapping[str, style.Style],
    results: Results,
    bands: str,
    *,
    lines: bool = True,
) -> None:
    """Hide panels that are not used, and add the one legend and the caption."""
    from matplotlib.lines import Line2D

    for axes in unused:
        axes.set_visible(False)
    handles = [
        Line2D([], [], color=k.colour, linestyle=k.line if lines else "none", marker=k.marker, markersize=5, label=name)
        for name, k in looks.items()
    ]
    wide = max(1, int(made.get_size_inches()[0] / 1.9))
    across = min(len(handles), wide)
    made.legend(handles=handles, loc="outside lower center", ncols=across, frameon=False, handlelength=3.5)
    words = _BAND_WORDS.get(bands, "mean and 95 % interval")
    caption(made, f"{results.name}: {words} over {len(results.seeds)} seeds")


def caption(made: Figure, text: str) -> None:
    """Say above the panels what is drawn."""
    made.suptitle(text, fontsize=9, color="0.3")
