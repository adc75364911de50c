"""The figures: the paper's panels, one m each, and the strong versions of all policies side by side."""

import io
from collections.abc import Mapping, Sequence

import numpy as np

from eigenbandits.lab.experiments import Results
from eigenbandits.lab.reporting.figures import STANDARD_ERROR, stretched, values
from eigenbandits.lab.reporting.plots import Axis, Line, Mark, Panel, Plot, Points, Text, band_line
from eigenbandits.lab.reporting.renderer import to_bytes
from eigenbandits.lab.reporting.statistics import band
from eigenbandits.papers.lale2019.policies import OFUL_PAPER, pslb_label
from eigenbandits.papers.lale2019.results_table import ResultsTable, Row
from eigenbandits.papers.lale2019.settings import Block, PaperFigure

_STRETCHES = 20
_PSLB, _INTERSECTION, _ALONE = "PSLB", "PSLB, C_m ∩ C_d", "PSLB, C_m alone"


def small_png(plot: Plot) -> bytes:
    """Return a plot as a PNG with a palette of 64 colors: a fifth of the size, with no visible difference."""
    from PIL import Image

    content = io.BytesIO()
    with Image.open(io.BytesIO(to_bytes(plot, "png"))) as picture:
        plain = picture.convert("RGB").quantize(64, dither=Image.Dither.NONE)
        plain.save(content, format="PNG", optimize=True)
    return content.getvalue()


def paper_plot(figure: PaperFigure, blocks: Sequence[Block], results: Mapping[Block, Mapping[str, Results]]) -> Plot:
    """Return a figure of the paper: regret above, accuracy of the optimistic models below.

    `results` has those of the figure's groups for each block that has been run; the panels of other blocks stay empty.
    """
    places = [(block, rank) for block in blocks for rank in figure.ranks]
    above, below = [], []
    for place, (block, rank) in enumerate(places):
        title = f"{block.title}\nm = {rank}" if len(blocks) > 1 else f"m = {rank}"
        found = results.get(block)
        if found is None:
            above.append(Panel(title, marks=[Text("not run")]))
            below.append(Panel(marks=[Text("not run")]))
            continue
        lines, ends = _lines(figure, rank, "regret", found, block)
        regret = Axis("regret (mistakes)" if place == 0 else "")
        above.append(Panel(f"{title}\n{ends}", y=regret, marks=lines))
        lines, ends = _lines(figure, rank, "accuracy", found, block)
        accuracy = Axis("accuracy" if place == 0 else "", low=0.0, high=1.03)
        below.append(Panel(ends, Axis("round", log=True), accuracy, lines))
    names = [_INTERSECTION, "OFUL", _ALONE] if figure.intersection else [_PSLB, "OFUL"]
    return Plot(
        [*above, *below],
        columns=len(places),
        caption=f"{figure.title}: {_about(blocks, results)}",
        names=names,
        legend=names,
        width=2.6 if len(places) > 3 else 3.4,
        height=2.4,
    )


def _lines(
    figure: PaperFigure, rank: int, column: str, results: Mapping[str, Results], block: Block
) -> tuple[list[Line], str]:
    """Return the lines of one panel, and where they end, in words."""
    shown = {"OFUL": ("paper", OFUL_PAPER), _PSLB: ("paper", pslb_label(rank))}
    if figure.intersection:
        shown = {
            "OFUL": ("paper", OFUL_PAPER),
            _INTERSECTION: ("intersection", pslb_label(rank, "intersection")),
            _ALONE: ("paper", pslb_label(rank)),
        }
    lines, ends = [], []
    for name, (group, policy) in shown.items():
        rounds, runs = values(results[group], column, policy, block.name)
        ends.append(f"{name.removeprefix('PSLB, ')} {_number(column, float(runs[:, -1].mean()))}")
        if column == "accuracy":
            # Single models differ much from round to round; the paper draws only some of them, too.
            rounds, runs = stretched(rounds, runs, _STRETCHES)
        lines.append(band_line(name, rounds, runs, band(runs, STANDARD_ERROR)))
    # Three do not fit on one line.
    return lines, ends[0] + ("\n" if figure.intersection else ", ") + ", ".join(ends[1:])


def _number(column: str, value: float) -> str:
    return f"{100 * value:.1f} %" if column == "accuracy" else f"{value:,.1f}" if value < 10 else f"{value:,.0f}"


def _about(blocks: Sequence[Block], results: Mapping[Block, Mapping[str, Results]]) -> str:
    seeds = sorted({len(found.seeds) for groups in results.values() for found in groups.values()})
    networks = "; ".join(dict.fromkeys(block.network for block in blocks))
    layer = " ReLU layer, centered by set." if blocks[0].layer == "relu" else ""
    over = f"mean ± standard error over {' or '.join(map(str, seeds))} seeds, numbers at the last round"
    return f"{over}.{layer} Network: {networks}"


def strong_plot(table: ResultsTable, blocks: Sequence[Block], policies: Sequence[str]) -> Plot:
    """Return the mistakes of many policies on many blocks, as a share of the rounds on a logarithmic axis."""
    found = {(row, policy): table.get(block, policy) for row, block in enumerate(blocks) for policy in policies}
    shown = [policy for policy in policies if any(found[row, policy] for row in range(len(blocks)))]
    marks: list[Mark] = []
    for policy in shown:
        known = {row: entry for row in range(len(blocks)) if (entry := found[row, policy]) is not None}
        errors = [float(np.nan_to_num(entry.standard_error)) * 1000.0 / entry.rounds for entry in known.values()]
        marks.append(Points(policy, [_height(entry) for entry in known.values()], list(known), x_error=errors))
    labels = []
    for row, block in enumerate(blocks):
        lengths = [entry.rounds for policy in shown if (entry := found[row, policy]) is not None]
        labels.append(f"{block.title} ({lengths[0]:,} rounds)" if lengths else block.title)
    lowest = min((_height(entry) for entry in table.rows), default=1.0)
    axis = Axis("mistakes per 1,000 rounds", log=True, low=0.5 * lowest, high=1300.0)
    return Plot(
        [Panel("", axis, Axis(categories=labels), marks)],
        names=shown,
        legend=shown,
        width=9.0,
        height=0.42 * len(blocks) + 1.6,
    )


def _height(entry: Row) -> float:
    """Return mistakes per 1,000 rounds; a policy without a mistake is drawn where a tenth of one would be."""
    return max(entry.mistakes, 0.1) * 1000.0 / entry.rounds
