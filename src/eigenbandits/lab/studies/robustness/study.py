"""The robustness study: its experiment, its tables in three units, and the files that it writes."""

from collections.abc import Callable, Sequence
from pathlib import Path

from eigenbandits.files import write_whole
from eigenbandits.inputs import Array
from eigenbandits.lab.experiments import Experiment, Record, Results
from eigenbandits.lab.reporting.figures import REGRET
from eigenbandits.lab.reporting.plots import Plot
from eigenbandits.lab.reporting.renderer import to_bytes
from eigenbandits.lab.reporting.tables import aligned, mean_with_error, write_sections
from eigenbandits.lab.studies.robustness.cases import (
    COLUMNS,
    FLAGSHIP,
    INFORMED,
    OFUL_PLAIN,
    OFUL_RIDGE,
    Case,
    policies,
)
from eigenbandits.lab.studies.robustness.criteria import criteria

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


def tables(results: Results) -> dict[str, str]:
    """Return the tables as text, by title: cases in rows, policies in columns, ± standard errors over seeds."""
    oful = results.policies.index(OFUL_PLAIN)
    seeds = f"mean over {len(results.seeds)} seeds ± standard error"
    return {
        f"Regret, {seeds}": _table(results, lambda means: 1.0, digits=1),
        "As a multiple of the best policy": _table(results, lambda means: float(means.min())),
        "As a multiple of OFUL": _table(results, lambda means: float(means[oful])),
    }


def legend() -> str:
    """Return what the columns are."""
    width = max(map(len, COLUMNS))
    return "\n".join(f"{name.ljust(width)}  {about}" for name, about in COLUMNS.items())


def _table(results: Results, unit: Callable[[Array], float], digits: int = 2) -> str:
    final = results.final("regret")
    cells = []
    for e, label in enumerate(results.environments):
        scale = 1.0 / (unit(final[:, e].mean(axis=1)) or float("nan"))
        cells.append([label, *(mean_with_error(values, digits, scale) for values in final[:, e])])
    return aligned(["", *results.policies], cells)


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
