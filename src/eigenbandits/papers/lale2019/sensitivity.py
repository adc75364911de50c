"""How much the comparison depends on the constants that the paper does not give: one at a time, for everybody."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenbandits.algorithms import OFUL, PSLB
from eigenbandits.extras import need
from eigenbandits.lab import style
from eigenbandits.lab.drawing import caption, dress, finish, logarithmic
from eigenbandits.lab.experiment import Experiment
from eigenbandits.lab.recording import Record
from eigenbandits.lab.results import Results
from eigenbandits.lab.tables import aligned, standard_error, write_csv
from eigenbandits.papers.lale2019 import players
from eigenbandits.papers.lale2019.settings import Block, constants, settings
from eigenbandits.papers.lale2019.study import environment, unit
from eigenbandits.policy import Policy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LETTERS = {"ridge": "λ", "theta_bound": "S", "noise": "R", "samples": "samples"}
# Numbers that fit under an axis.
_TICKS = 4
NAMES = ("PSLB m=1", "PSLB m=4", "PSLB m=16", "PSLB sharp m=4", "OFUL", "OFUL log-det")


@dataclass(frozen=True)
class Point:
    """What one policy did with one value of one constant, the others as in settings.toml.

    Attributes
    ----------
    constant, policy : str
        Which, and who.
    value : float
        Its value.
    mistakes, standard_error : float
        Over seeds.
    """

    constant: str
    value: float
    policy: str
    mistakes: float
    standard_error: float


def experiment(scale: str, cache: str | PathLike[str] | None = None) -> Experiment:
    """Return the experiment behind the sweep: many policies on one block."""
    about = settings()["sensitivity"]
    block = Block.named(about["block"][scale])
    ridge = constants()["ridge"] / unit(block, cache) ** 2
    made = {
        _label(name, constant, value): policy
        for constant in LETTERS
        for value in about[constant]
        for name, policy in _policies(block, {"ridge": ridge, constant: value}, constant).items()
    }
    return Experiment(
        name=f"sensitivity-{block.name}",
        policies=made,
        environments={block.name: environment(block, cache)},
        seeds=about["seeds"][scale],
        rounds=about["rounds"][scale],
        record=Record(points=2, diagnostics=False, accuracy=0),
        description="One constant at a time around those of settings.toml.",
    )


def folder(out: Path, scale: str) -> Path:
    """Return where its results lie."""
    return out / scale / "sensitivity"


def points(results: Results) -> list[Point]:
    """Return the results of `experiment` as points; a policy that a constant does not concern has none there."""
    about, final = settings()["sensitivity"], results.final("regret")[:, 0]
    found = []
    for constant in LETTERS:
        for value in about[constant]:
            for name in NAMES:
                label = _label(name, constant, value)
                if label in results.policies:
                    runs = final[results.policies.index(label)]
                    found.append(Point(constant, value, name, float(runs.mean()), standard_error(runs)))
    return found


def as_text(found: Sequence[Point]) -> str:
    """Return the sweep as tables, and the best value of each constant for each policy."""
    parts = []
    for constant, letter in LETTERS.items():
        here = [point for point in found if point.constant == constant]
        values = sorted({point.value for point in here})
        names = [name for name in NAMES if any(point.policy == name for point in here)]
        means = {(point.policy, point.value): point.mistakes for point in here}
        rows = [[name, *(f"{means[name, value]:,.1f}" for value in values)] for name in names]
        parts.append(aligned([f"mistakes by {letter}", *(f"{value:g}" for value in values)], rows))
    best = {name: min((p for p in found if p.policy == name), key=lambda p: p.mistakes) for name in NAMES}
    lines = [f"{name}: {p.mistakes:,.1f} mistakes with {LETTERS[p.constant]} = {p.value:g}" for name, p in best.items()]
    return "\n\n".join([*parts, "The best of each:\n" + "\n".join(lines)])


def write(path: str | PathLike[str], found: Sequence[Point]) -> None:
    """Write the points as CSV."""
    write_csv(
        path,
        [
            vars(point) | {"mistakes": f"{point.mistakes:.5g}", "standard_error": f"{point.standard_error:.3g}"}
            for point in found
        ],
    )


def read(path: str | PathLike[str]) -> list[Point]:
    """Read what `write` wrote."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        return [
            Point(
                constant=row["constant"],
                value=float(row["value"]),
                policy=row["policy"],
                mistakes=float(row["mistakes"]),
                standard_error=float(row["standard_error"]),
            )
            for row in csv.DictReader(file)
        ]


def draw(results: Results) -> Figure:
    """Draw mistakes over each constant, on logarithmic axes."""
    need("lab", "matplotlib", what="Drawing a figure")
    found, looks, rounds = points(results), style.styles(NAMES), results.about["settings"]["rounds"]
    made, panels = style.figure(1, len(LETTERS), width=3.0, height=2.9)
    for axes, (constant, letter) in zip(panels, LETTERS.items(), strict=True):
        for name, look in looks.items():
            here = [point for point in found if point.constant == constant and point.policy == name]
            if here:
                # A policy without a mistake is drawn where a half of one would be.
                heights = np.maximum([point.mistakes for point in here], 0.5)
                axes.plot([point.value for point in here], heights, **(look.line_options(1) | {"markevery": 1}))
        if constant != "ridge":  # in the units of the network, which differ
            axes.axvline(constants()[constant], color="0.6", linewidth=0.8, linestyle="dotted")
        dress(axes, "", letter, "mistakes" if constant == "ridge" else "")
        logarithmic(axes.xaxis)
        logarithmic(axes.yaxis)
        values = sorted({point.value for point in found if point.constant == constant})
        axes.set_xticks(values if len(values) <= _TICKS else values[1::2], minor=False)
        axes.minorticks_off()
        axes.set_ylim(0.4, 1.3 * rounds)
    finish(made, [], looks, results, "standard error")
    caption(
        made,
        f"{results.environments[0]}: mistakes in {rounds:,} rounds, mean over {len(results.seeds)} seeds, one constant "
        "at a time; dotted: the value used elsewhere",
    )
    return made


def _label(name: str, constant: str, value: float) -> str:
    return f"{name}, {LETTERS[constant]}={value:g}"


def _policies(block: Block, changed: dict[str, Any], constant: str) -> dict[str, Policy]:
    made: dict[str, Policy] = {f"PSLB m={m}": players.pslb(m, block, **changed) for m in (1, 4, 16)}
    made["OFUL"] = players.oful(block, **changed)
    if constant != "samples":
        base = players.known(block) | changed
        made["PSLB sharp m=4"] = PSLB(rank=4, intersect=False, **base)
        made["OFUL log-det"] = OFUL(**base)
    return made
