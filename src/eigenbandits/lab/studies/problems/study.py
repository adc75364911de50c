"""The study on real problems: its experiment, its figure, and the files that it writes."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from eigenbandits.files import write_whole
from eigenbandits.lab.experiments import Experiment, Record
from eigenbandits.lab.reporting.plots import Axis, Mark, Panel, Plot, Points, Text, VerticalBand, VerticalLine
from eigenbandits.lab.reporting.renderer import to_bytes
from eigenbandits.lab.reporting.tables import write_csv
from eigenbandits.lab.studies.candidates import Candidate
from eigenbandits.lab.studies.problems.table import NEAR, RegretTable, mark

# Points of a regret curve: the table needs only the last.
_POINTS = 100

# Inches for each policy, and for the axis and the caption.
_ROW, _FRAME = 0.42, 1.5
# How far dots are spread over a row, so that equal values stay visible.
_SPREAD = 0.28
_UNTUNED, _TUNED, _MEAN = "untuned", "tuned", "geometric mean"


def ratios(table: RegretTable) -> Plot:
    """Return the ratio of each policy to the best untuned one, with the lowest geometric mean at the top."""
    order = sorted(zip(table.standings(), table.ratios, strict=True), key=lambda entry: entry[0].mean)
    shifts = np.linspace(-_SPREAD, _SPREAD, len(table.problems)) if len(table.problems) > 1 else np.zeros(1)
    marks: list[Mark] = [VerticalBand(1.0, NEAR), VerticalLine(1.0)]
    for row, (standing, found) in enumerate(order):
        name = _TUNED if standing.tuned else _UNTUNED
        marks.append(Points(name, found, row + shifts, size=4.5, marker="o"))
        marks.append(Points(_MEAN, [standing.mean], [row], size=20.0, marker="|"))
        marks.append(Text(standing.where, (standing.worst, float(row + shifts[int(found.argmax())]))))
    # Room for the names on the right.
    highest, lowest = float(table.ratios.max()), min(1.0, float(table.ratios.min()))
    axis = Axis(
        "regret over that of the best untuned policy (log scale)",
        log=True,
        low=lowest / 1.08,
        high=highest * (highest / lowest) ** 0.22 * 1.1,
    )
    labels = [mark(standing.policy, standing.tuned) for standing, _ in order]
    return Plot(
        [Panel("", axis, Axis(categories=labels), marks)],
        caption=f"A dot for each of {len(table.problems)} problems, a bar at the geometric mean, the worst by name"
        + ("; †: tuned" if any(table.tuned) else ""),
        names=[_UNTUNED, _MEAN, _TUNED],
        width=8.0,
        height=_FRAME + _ROW * len(order),
    )


def experiment(
    candidates: Mapping[str, Candidate], environments: Mapping[str, Any], seeds: int, rounds: int, first_seed: int = 0
) -> Experiment:
    """Return the experiment whose results `RegretTable` reads."""
    return Experiment(
        name="problems",
        policies={label: candidate.policy for label, candidate in candidates.items()},
        environments=environments,
        seeds=range(first_seed, first_seed + seeds),
        rounds=rounds,
        record=Record(points=min(rounds, _POINTS), diagnostics=False, accuracy=0),
        description="Real decision problems: our policies and those of others at their defaults on the same rounds.",
    )


def write(table: RegretTable, out: Path, candidates: Mapping[str, Candidate], skipped: Mapping[str, str]) -> list[Path]:
    """Write the tables and the figure, and return their paths."""
    described = {label: candidate.description for label, candidate in candidates.items()}
    sections = {"Real decision problems": table.markdown(), "Policies": _listed(described)}
    if skipped:
        sections["Skipped"] = _listed(skipped)
    paths = [out / name for name in ("problems.md", "problems.csv", "standings.csv", "ratios.png")]
    write_whole(paths[0], "\n".join(f"## {title}\n\n{text}\n" for title, text in sections.items()).encode())
    write_csv(paths[1], table.rows())
    write_csv(paths[2], [asdict(standing) for standing in table.standings()])
    write_whole(paths[3], to_bytes(ratios(table), "png"))
    return paths


def by_reason(skipped: Mapping[str, str]) -> dict[str, str]:
    """Return why some are skipped, grouping those that share a reason.

    Examples
    --------
    >>> by_reason({"a": "no file.", "b": "no file."})
    {'a, b': 'no file.'}
    """
    names: dict[str, list[str]] = {}
    for name, reason in skipped.items():
        names.setdefault(reason, []).append(name)
    return {", ".join(together): reason for reason, together in names.items()}


def _listed(entries: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {text}" for name, text in entries.items())
