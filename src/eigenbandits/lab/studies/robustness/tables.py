"""The regret of every policy in every case, in three units."""

from __future__ import annotations

from collections.abc import Callable

from eigenbandits.inputs import Array
from eigenbandits.lab.experiments.results import Results
from eigenbandits.lab.reporting.tables import aligned, mean_with_error
from eigenbandits.lab.studies.robustness.cases import COLUMNS, OFUL_PLAIN


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
