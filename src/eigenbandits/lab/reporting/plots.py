"""Plots as data: panels, axes and marks. A figure says what is shown by returning a `Plot`; a renderer draws it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from eigenbandits.inputs import Array

Values = Sequence[float] | Array


@dataclass(frozen=True, eq=False)
class Line:
    """A line in the style of its name, with a band from `low` to `high` if they are given.

    It has about eight markers, or one at each point (``markers="all"``); a `thin` line has none and is dotted, for a
    second quantity in the same color.
    """

    name: str
    x: Values
    y: Values
    low: Values | None = None
    high: Values | None = None
    markers: str = "some"
    thin: bool = False


@dataclass(frozen=True, eq=False)
class Points:
    """Points in the style of their name, or with another `marker`; `x_error` and `y_error` are half-lengths of bars."""

    name: str
    x: Values
    y: Values
    x_error: Values | None = None
    y_error: Values | None = None
    size: float = 6.0
    marker: str | None = None


@dataclass(frozen=True, eq=False)
class Bars:
    """Bars next to those of the panel's other `Bars`, at the categories of the horizontal axis."""

    name: str
    heights: Values
    errors: Values | None = None


@dataclass(frozen=True)
class VerticalLine:
    """A vertical line over the whole height; with a name it is in the panel's legend."""

    x: float
    name: str = ""
    dashed: bool = False


@dataclass(frozen=True)
class VerticalBand:
    """A shaded range of the horizontal axis."""

    low: float
    high: float


@dataclass(frozen=True)
class Text:
    """A small note to the right of a point; without a point, in the middle of the panel."""

    text: str
    point: tuple[float, float] | None = None


Mark = Line | Points | Bars | VerticalLine | VerticalBand | Text


@dataclass(frozen=True)
class Axis:
    """One axis of a panel: its label, scale, ends (by default from the data) and ticks.

    A linear vertical axis starts at 0 if nothing is below, and an axis never goes below its `floor`. `categories` are
    names at 0, 1, 2 … instead of numbers; on a vertical axis from the top down.
    """

    label: str = ""
    log: bool = False
    low: float | None = None
    high: float | None = None
    floor: float | None = None
    ticks: Sequence[float] | None = None
    categories: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Panel:
    """One panel: its marks between two axes; `legend` adds a legend of its own, `empty` leaves its place blank."""

    title: str = ""
    x: Axis = field(default_factory=Axis)
    y: Axis = field(default_factory=Axis)
    marks: Sequence[Mark] = ()
    legend: bool = False
    empty: bool = False


@dataclass(frozen=True, eq=False)
class Plot:
    """A whole figure as data: panels row by row, each with its size in inches, and a caption that says what is shown.

    `names` are all that have a style, in order, so that a name looks the same in every figure that has the same ones;
    `legend` has those in the legend below the panels.
    """

    panels: Sequence[Panel]
    columns: int = 1
    caption: str = ""
    names: Sequence[str] = ()
    legend: Sequence[str] = ()
    width: float = 4.0
    height: float = 3.0


def band_line(name: str, rounds: ArrayLike, runs: Array, band: tuple[Array, Array]) -> Line:
    """Return the mean of runs (seeds, n) with its band as a line."""
    low, high = band
    return Line(name, np.asarray(rounds, dtype=np.float64), runs.mean(axis=0), low, high)
