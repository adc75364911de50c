"""The figures: the paper's panels, one m each; and the strong versions of everybody side by side."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from eigenbandits.extras import need
from eigenbandits.lab import style
from eigenbandits.lab.drawing import caption, dress, finish, from_zero, line, logarithmic, runs_of, stretched, to_bytes
from eigenbandits.lab.results import Results
from eigenbandits.papers.lale2019.players import OFUL_PAPER, pslb_label
from eigenbandits.papers.lale2019.settings import Block, Plate
from eigenbandits.papers.lale2019.summary import Line, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BANDS = "standard error"
_STRETCHES = 20
_PSLB, _INTERSECTION, _ALONE = "PSLB", "PSLB, C_m ∩ C_d", "PSLB, C_m alone"


def small_png(made: Figure) -> bytes:
    """Return a figure as a PNG with a palette of 64 colours: a fifth of the size, and no difference to the eye."""
    from PIL import Image

    content = io.BytesIO()
    with Image.open(io.BytesIO(to_bytes(made, "png"))) as picture:
        plain = picture.convert("RGB").quantize(64, dither=Image.Dither.NONE)
        plain.save(content, format="PNG", optimize=True)
    return content.getvalue()


def draw(plate: Plate, blocks: Sequence[Block], results: Mapping[Block, Mapping[str, Results]]) -> Figure:
    """Draw a figure of the paper: regret above, accuracy of the optimistic models below.

    Parameters
    ----------
    plate : Plate
        Which one.
    blocks : sequence of Block
        Its blocks.
    results : mapping
        The results of the plate's groups, by group, for each block that has been run; the panels of others stay empty.
    """
    need("lab", "matplotlib", what="Drawing a figure")
    looks = style.styles([_INTERSECTION, "OFUL", _ALONE] if plate.intersection else [_PSLB, "OFUL"])
    places = [(block, rank) for block in blocks for rank in plate.ranks]
    made, panels = style.figure(2, len(places), width=2.6 if len(places) > 3 else 3.4, height=2.4)
    for place, (block, rank) in enumerate(places):
        above, below = panels[place], panels[len(places) + place]
        title = f"{block.title}\nm = {rank}" if len(blocks) > 1 else f"m = {rank}"
        found = results.get(block)
        if found is None:
            for axes in (above, below):
                axes.text(0.5, 0.5, "not run", transform=axes.transAxes, ha="center", color="0.4")
                dress(axes, title, "", "")
            continue
        lines = _lines(plate, rank)
        ends = _panel(above, "regret", found, lines, looks, block)
        dress(above, f"{title}\n{ends}", "", "regret (mistakes)" if place == 0 else "")
        from_zero(above)
        ends = _panel(below, "accuracy", found, lines, looks, block)
        dress(below, ends, "round", "accuracy" if place == 0 else "")
        logarithmic(below.xaxis)
        below.set_ylim(0.0, 1.03)
    finish(made, [], looks, next(iter(next(iter(results.values())).values())), _BANDS)
    # Some thirteen letters of the caption go on an inch.
    wide = int(13 * made.get_size_inches()[0])
    caption(made, textwrap.fill(f"{plate.title}: {_words(blocks, results)}", wide))
    return made


def _lines(plate: Plate, rank: int) -> dict[str, tuple[str, str]]:
    """Return what a panel shows: the group and the policy of each name."""
    if not plate.intersection:
        return {"OFUL": ("paper", OFUL_PAPER), _PSLB: ("paper", pslb_label(rank))}
    return {
        "OFUL": ("paper", OFUL_PAPER),
        _INTERSECTION: ("intersection", pslb_label(rank, "intersection")),
        _ALONE: ("paper", pslb_label(rank)),
    }


def _panel(
    axes: Axes,
    column: str,
    results: Mapping[str, Results],
    lines: Mapping[str, tuple[str, str]],
    looks: Mapping[str, style.Style],
    block: Block,
) -> str:
    """Draw one panel, and return where its lines end, in words."""
    ends = []
    for place, (name, (group, policy)) in enumerate(lines.items()):
        rounds, runs = runs_of(results[group], column, policy, block.name)
        ends.append(f"{name} {_number(column, float(runs[:, -1].mean()))}")
        if column == "accuracy":
            # Single models differ much from round to round; the paper draws them now and then, too.
            rounds, runs = stretched(rounds, runs, _STRETCHES)
        line(axes, rounds, runs, looks[name], _BANDS, place, len(lines))
    axes.locator_params(axis="y", nbins=5)
    if column == "regret":
        axes.locator_params(axis="x", nbins=4)
    return ", ".join(ends)


def _number(column: str, value: float) -> str:
    return f"{100 * value:.1f} %" if column == "accuracy" else f"{value:,.1f}" if value < 10 else f"{value:,.0f}"


def _words(blocks: Sequence[Block], results: Mapping[Block, Mapping[str, Results]]) -> str:
    seeds = sorted({len(found.seeds) for groups in results.values() for found in groups.values()})
    networks = "; ".join(dict.fromkeys(block.network for block in blocks))
    layer = " ReLU layer, centred by set." if blocks[0].layer == "relu" else ""
    over = f"mean ± standard error over {' or '.join(map(str, seeds))} seeds, numbers at the last round"
    return f"{over}.{layer} Network: {networks}"


def strong(table: Table, blocks: Sequence[Block], policies: Sequence[str]) -> Figure:
    """Draw the mistakes of many policies on many blocks, as a share of the rounds on a logarithmic axis."""
    need("lab", "matplotlib", what="Drawing a figure")
    played = {line.policy for block in blocks for policy in policies if (line := table.get(block, policy))}
    policies = [policy for policy in policies if policy in played]
    looks = style.styles(policies)
    made, (axes,) = style.figure(1, 1, width=9.0, height=0.42 * len(blocks) + 1.6)
    names = []
    for row, block in enumerate(blocks):
        lines = [found for policy in policies if (found := table.get(block, policy)) is not None]
        names.append(f"{block.title} ({lines[0].rounds:,} rounds)" if lines else block.title)
        for found in lines:
            _dot(axes, found, row, looks[found.policy])
    axes.set_yticks(range(len(blocks)), names)
    axes.invert_yaxis()
    dress(axes, "", "mistakes per 1,000 rounds", "")
    # Before the axis is told that it is logarithmic: an error bar may reach down to zero.
    axes.set_xlim(0.5 * min((_height(found) for found in table.lines), default=1.0), 1300.0)
    logarithmic(axes.xaxis)
    axes.margins(y=0.06)
    _legend(made, looks)
    return made


def _height(found: Line) -> float:
    """Return mistakes per 1,000 rounds; a policy without a mistake is drawn where a tenth of one would be."""
    return max(found.mistakes, 0.1) * 1000.0 / found.rounds


def _dot(axes: Axes, found: Line, row: int, look: style.Style) -> None:
    axes.errorbar(
        *(_height(found), row),
        xerr=np.nan_to_num(found.standard_error) * 1000.0 / found.rounds,
        marker=look.marker,
        color=look.colour,
        markersize=6,
        linestyle="none",
        alpha=0.85,
    )


def _legend(made: Figure, looks: Mapping[str, style.Style]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=look.colour, linestyle="none", marker=look.marker, label=name)
        for name, look in looks.items()
    ]
    made.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
