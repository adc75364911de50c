"""The table in three forms: regret, multiples of the best column, and multiples of OFUL; and the curves."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from eigenbandits.inputs import Array
from eigenbandits.lab.results import Results
from eigenbandits.lab.robustness.rows import COLUMNS, FLAGSHIP, OFUL_PLAIN, OFUL_RIDGE, TOLD, Row
from eigenbandits.lab.tables import aligned, standard_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWN = (FLAGSHIP, TOLD, OFUL_PLAIN, OFUL_RIDGE, "LinUCB")


def tables(results: Results) -> dict[str, str]:
    """Return the tables as text, by title: environments in rows, policies in columns, ± standard errors over seeds."""
    final = results.final("regret")
    policies = results.policies
    oful = policies.index(OFUL_PLAIN)

    def best(means: Array) -> float:
        return float(means.min())

    seeds = f"mean over {len(results.seeds)} seeds ± standard error"
    return {
        f"Regret, {seeds}": _table(results, final, lambda means: 1.0, digits=1),
        "As a multiple of the best column": _table(results, final, best),
        "As a multiple of OFUL": _table(results, final, lambda means: float(means[oful])),
    }


def _table(results: Results, final: Array, unit: Callable[[Array], float], digits: int = 2) -> str:
    cells = []
    for e, label in enumerate(results.environments):
        means = final[:, e].mean(axis=1)
        scale = unit(means) or float("nan")
        errors = [standard_error(values) for values in final[:, e]]
        pairs = zip(means / scale, np.array(errors) / scale, strict=True)
        cells.append([label, *(_cell(mean, error, digits) for mean, error in pairs)])
    return aligned(["", *results.policies], cells)


def _cell(mean: float, error: float, digits: int) -> str:
    return f"{mean:.{digits}f}" + (f" ± {error:.{digits}f}" if np.isfinite(error) else "")


def legend() -> str:
    """Say what the columns are."""
    width = max(map(len, COLUMNS))
    return "\n".join(f"{name.ljust(width)}  {words}" for name, words in COLUMNS.items())


def curves(results: Results, chosen: Collection[Row]) -> Figure:
    """Draw the regret of the policies that matter in the rows that are made to mislead."""
    from eigenbandits.lab import plots

    wanted = [row.label for row in chosen if row.adversarial or not row.structure]
    return plots.regret(part(results, wanted, DRAWN))


def part(results: Results, environments: Collection[str], policies: Collection[str]) -> Results:
    """Return the results of some environments and policies only."""
    import pyarrow.compute as pc

    table = results.found
    keep = pc.and_(
        pc.is_in(table["environment"], value_set=_words(environments)),
        pc.is_in(table["policy"], value_set=_words(policies)),
    )
    return replace(results, found=table.filter(keep), times=results.times.filter(keep))


def _words(words: Collection[str]) -> object:
    import pyarrow as pa

    return pa.array(list(words), pa.string())
