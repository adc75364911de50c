"""One look for every figure: a policy keeps its colour, line and marker, and lines can be told apart without colour."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind readers too; their yellow is left out, too pale on white.
_COLOURS = ("#0072B2", "#D55E00", "#000000", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_LINES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (5, 2, 1, 2)), (0, (1, 1.4)), (0, (8, 2, 1, 2, 1, 2)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")

# The named algorithms look the same in every experiment: (colour, line, marker).
_FIXED = {
    "EigenUCB": (0, 0, 0),
    "EigenTS": (0, 2, 7),
    "PSLB": (2, 1, 0),
    "PSLB told": (4, 0, 4),
    "PSLB, rank told": (4, 0, 3),
    "OFUL": (1, 1, 1),
    "OFUL R²d": (6, 0, 1),
    "OFUL, tuned": (6, 0, 2),
    "LinTS": (3, 2, 2),
    "SOFUL": (4, 3, 3),
    "CBRAP": (6, 4, 4),
    "CBSCFD": (5, 1, 5),
    "ProjectedThompson": (5, 0, 6),
    "LinUCB": (1, 3, 7),
    "Greedy": (2, 2, 8),
    "EpsilonGreedy": (3, 4, 0),
    "Random": (2, 3, 6),
    "Oracle": (2, 0, 5),
}


@dataclass(frozen=True)
class Style:
    """How one policy is drawn."""

    colour: str
    line: Any
    marker: str

    def line_options(self, points: int, start: int = 0) -> dict[str, Any]:
        """Return the keywords of ``Axes.plot`` for a line of `points` points, with some eight markers along it.

        `start` shifts the markers, so that those of lines that lie on each other stay visible.
        """
        step = max(1, points // 8)
        return {
            "color": self.colour,
            "linestyle": self.line,
            "linewidth": 1.6,
            "marker": self.marker,
            "markersize": 4.5,
            "markevery": (start % step, step),
        }


def styles(labels: Iterable[str]) -> dict[str, Style]:
    """Return a style for each label: the fixed one of a named algorithm, else the next one that is free.

    Parameters
    ----------
    labels : iterable of str
        All the policies of an experiment, in its order; hand in the same ones for every figure.

    Examples
    --------
    >>> look = styles(["PSLB", "PSLB m=1", "OFUL"])
    >>> look["PSLB"] == styles(["PSLB"])["PSLB"]
    True
    >>> len(set(look.values()))
    3
    """
    wanted = list(dict.fromkeys(labels))
    chosen = {label: _FIXED[label] for label in wanted if label in _FIXED}
    taken = set(chosen.values())
    for place, label in enumerate(name for name in wanted if name not in _FIXED):
        chosen[label] = _next_free(place, taken)
        taken.add(chosen[label])
    looks = {label: Style(_COLOURS[c], _LINES[i], _MARKERS[m]) for label, (c, i, m) in chosen.items()}
    return {label: looks[label] for label in wanted}


def _next_free(place: int, taken: set[tuple[int, int, int]]) -> tuple[int, int, int]:
    """Return the look nearest to the `place`-th that shares neither colour with line nor marker, if it can be had."""
    looks = list(product(range(len(_COLOURS)), range(len(_LINES)), range(len(_MARKERS))))
    preferred = (place % len(_COLOURS), place % len(_LINES), place % len(_MARKERS))

    def clash(look: tuple[int, int, int]) -> tuple[int, int]:
        # The same colour and line would look alike in colour, the same line and marker without it.
        pairs = sum(look[:2] == other[:2] or look[1:] == other[1:] for other in taken)
        shared = sum(a == b for other in taken for a, b in zip(look, other, strict=True))
        away = sum(a != b for a, b in zip(look, preferred, strict=True))
        return 10 * pairs + shared, away

    return min(looks, key=clash)


def figure(rows: int = 1, columns: int = 1, *, width: float = 4.0, height: float = 3.0) -> tuple[Figure, list[Axes]]:
    """Return an empty figure and its panels row by row, made without any global state.

    Parameters
    ----------
    rows, columns : int
        Panels.
    width, height : float
        Inches of one panel.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width * columns, height * rows), layout="constrained", facecolor="white")
    FigureCanvasAgg(made)
    panels = [axes for row in made.subplots(rows, columns, squeeze=False) for axes in row]
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
    return made, panels
