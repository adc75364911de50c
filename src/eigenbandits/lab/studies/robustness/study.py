"""The robustness study: its experiment, and the files that it writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eigenbandits.files import write_whole
from eigenbandits.lab.experiments.experiment import Experiment
from eigenbandits.lab.experiments.recording import Record
from eigenbandits.lab.experiments.results import Results
from eigenbandits.lab.reporting.figures import REGRET
from eigenbandits.lab.reporting.plots import Plot
from eigenbandits.lab.reporting.renderer import to_bytes
from eigenbandits.lab.reporting.tables import write_sections
from eigenbandits.lab.studies.robustness.cases import FLAGSHIP, INFORMED, OFUL_PLAIN, OFUL_RIDGE, Case, policies
from eigenbandits.lab.studies.robustness.criteria import criteria
from eigenbandits.lab.studies.robustness.tables import legend, tables

ROUNDS = 1500
DRAWN = (FLAGSHIP, INFORMED, OFUL_PLAIN, OFUL_RIDGE, "LinUCB")


def experiment(cases: Sequence[Case], seeds: int, rounds: int, first_seed: int = 0) -> Experiment:
    """Return the experiment whose results the tables, the criteria and the figure read."""
    return Experiment(
        name="robustness",
        policies=policies(),
        environments={case.label: case.environment for case in cases},
        seeds=range(first_seed, first_seed + seeds),
        rounds=rounds,
        record=Record(points=min(rounds, 300), accuracy=0),
        description="EigenUCB with nothing set where low rank holds, partly holds and fails.",
    )


def sections(results: Results, cases: Sequence[Case]) -> dict[str, str]:
    """Return the tables and the criteria as text, by title."""
    return tables(results) | {
        "Columns": legend(),
        "Criteria for EigenUCB with nothing set": "\n".join(map(str, criteria(results, cases))),
    }


def curves(results: Results, cases: Sequence[Case]) -> Plot:
    """Return the regret of the main policies in the cases that are built to mislead."""
    shown = [case.label for case in cases if case.adversarial or not case.structure]
    return REGRET.plot(results.part(shown, DRAWN))


def write(results: Results, cases: Sequence[Case]) -> list[Path]:
    """Write robustness.md and curves.png next to the results, and return their paths."""
    page, figure = results.folder / "robustness.md", results.folder / "curves.png"
    write_sections(page, sections(results, cases))
    write_whole(figure, to_bytes(curves(results, cases), "png"))
    return [page, figure]
