"""One style for every figure: a policy keeps its color, line and marker, and lines differ without color too."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

# Okabe and Ito's colors, which color-blind readers can distinguish; without their yellow, which is too pale on white.
COLORS = ("#0072B2", "#D55E00", "#000000", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_LINES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (5, 2, 1, 2)), (0, (1, 1.4)), (0, (8, 2, 1, 2, 1, 2)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")

# The named algorithms look the same in every experiment: (color, line, marker).
_FIXED = {
    "EigenUCB": (0, 0, 0),
    "EigenTS": (0, 2, 7),
    "PSLB": (2, 1, 0),
    "PSLB, informed": (4, 0, 4),
    "PSLB, rank known": (4, 0, 3),
    "OFUL": (1, 1, 1),
    "OFUL R²d": (6, 0, 1),
    "OFUL, tuned": (6, 0, 2),
    "LinTS": (3, 2, 2),
    "SOFUL": (4, 3, 3),
    "CBRAP": (6, 4, 4),
    "CBSCFD": (5, 1, 5),
    "ProjectedThompson": (5, 0, 6),
    "LinUCB": (5, 3, 7),
    "Greedy": (2, 2, 8),
    "EpsilonGreedy": (3, 4, 0),
    "Random": (2, 3, 6),
    "Oracle": (2, 0, 5),
}


@dataclass(frozen=True)
class Style:
    """How one policy is drawn."""

    color: str
    line: Any
    marker: str

    def line_options(self, points: int, start: int = 0) -> dict[str, Any]:
        """Return the keywords of ``Axes.plot`` for a line of `points` points, with about eight markers along it.

        `start` shifts the markers, so that lines on top of each other stay visible.
        """
        step = max(1, points // 8)
        return {
            "color": self.color,
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
        All the policies of an experiment, in its order; pass the same ones for every figure.

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
    looks = {label: Style(COLORS[c], _LINES[i], _MARKERS[m]) for label, (c, i, m) in chosen.items()}
    return {label: looks[label] for label in wanted}


def _next_free(place: int, taken: set[tuple[int, int, int]]) -> tuple[int, int, int]:
    """Return the style nearest to the `place`-th that shares as little as possible with those taken."""
    looks = list(product(range(len(COLORS)), range(len(_LINES)), range(len(_MARKERS))))
    preferred = (place % len(COLORS), place % len(_LINES), place % len(_MARKERS))

    def clash(look: tuple[int, int, int]) -> tuple[int, int]:
        # The same color and line would look alike in color, the same line and marker without it.
        pairs = sum(look[:2] == other[:2] or look[1:] == other[1:] for other in taken)
        shared = sum(a == b for other in taken for a, b in zip(look, other, strict=True))
        away = sum(a != b for a, b in zip(look, preferred, strict=True))
        return 10 * pairs + shared, away

    return min(looks, key=clash)
