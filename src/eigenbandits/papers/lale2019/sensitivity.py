"""How much the comparison depends on the constants that the paper does not give: one at a time, for all policies."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from eigenbandits.algorithms import OFUL, PSLB
from eigenbandits.lab.experiments import Experiment, Record, Results
from eigenbandits.lab.reporting.plots import Axis, Line, Mark, Panel, Plot, VerticalLine
from eigenbandits.lab.reporting.tables import aligned, standard_error, write_csv
from eigenbandits.papers.lale2019 import policies
from eigenbandits.papers.lale2019.settings import Block, constants, settings
from eigenbandits.papers.lale2019.study import environment, unit
from eigenbandits.policy import Policy

LETTERS = {"ridge": "λ", "theta_bound": "S", "noise": "R", "samples": "samples"}
# Numbers that fit under an axis.
_TICKS = 4
NAMES = ("PSLB m=1", "PSLB m=4", "PSLB m=16", "PSLB sharp m=4", "OFUL", "OFUL log-det")


@dataclass(frozen=True)
class SensitivityPoint:
    """The mistakes of one policy with one value of one constant, the others as in settings.toml."""

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
    """Return the folder of its results."""
    return out / scale / "sensitivity"


def points(results: Results) -> list[SensitivityPoint]:
    """Return the results of `experiment` as points; a policy without the constant has none."""
    about, final = settings()["sensitivity"], results.final("regret")[:, 0]
    found = []
    for constant in LETTERS:
        for value in about[constant]:
            for name in NAMES:
                label = _label(name, constant, value)
                if label in results.policies:
                    runs = final[results.policies.index(label)]
                    found.append(SensitivityPoint(constant, value, name, float(runs.mean()), standard_error(runs)))
    return found


def as_text(found: Sequence[SensitivityPoint]) -> str:
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


def write(path: str | PathLike[str], found: Sequence[SensitivityPoint]) -> None:
    """Write the points as CSV."""
    write_csv(
        path,
        [
            vars(point) | {"mistakes": f"{point.mistakes:.5g}", "standard_error": f"{point.standard_error:.3g}"}
            for point in found
        ],
    )


def sensitivity_plot(results: Results) -> Plot:
    """Return mistakes over each constant, on logarithmic axes."""
    found, rounds = points(results), results.about["settings"]["rounds"]
    panels = []
    for constant, letter in LETTERS.items():
        marks: list[Mark] = []
        for name in NAMES:
            here = [point for point in found if point.constant == constant and point.policy == name]
            if here:
                # A policy without a mistake is drawn where half of one would be.
                heights = [max(point.mistakes, 0.5) for point in here]
                marks.append(Line(name, [point.value for point in here], heights, markers="all"))
        if constant != "ridge":  # its units are those of the network, which differ
            marks.append(VerticalLine(constants()[constant], dashed=True))
        values = sorted({point.value for point in found if point.constant == constant})
        ticks = values if len(values) <= _TICKS else values[1::2]
        label = "mistakes" if constant == "ridge" else ""
        panels.append(
            Panel("", Axis(letter, log=True, ticks=ticks), Axis(label, log=True, low=0.4, high=1.3 * rounds), marks)
        )
    return Plot(
        panels,
        columns=len(panels),
        caption=f"{results.environments[0]}: mistakes in {rounds:,} rounds, mean over {len(results.seeds)} seeds, one "
        "constant at a time; dashed: the value used elsewhere",
        names=NAMES,
        legend=NAMES,
        width=3.0,
        height=2.9,
    )


def _label(name: str, constant: str, value: float) -> str:
    return f"{name}, {LETTERS[constant]}={value:g}"


def _policies(block: Block, changed: dict[str, Any], constant: str) -> dict[str, Policy]:
    made: dict[str, Policy] = {f"PSLB m={m}": policies.pslb(m, block, **changed) for m in (1, 4, 16)}
    made["OFUL"] = policies.oful(block, **changed)
    if constant != "samples":
        base = policies.known(block) | changed
        made["PSLB sharp m=4"] = PSLB(rank=4, intersect=False, **base)
        made["OFUL log-det"] = OFUL(**base)
    return made
