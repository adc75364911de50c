"""The figures of an experiment: each policy looks the same in all of them, in colour and without."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from eigenbandits.extras import need
from eigenbandits.inputs import Array
from eigenbandits.lab import style
from eigenbandits.lab.drawing import (
    caption,
    dress,
    finish,
    from_zero,
    having,
    line,
    logarithmic,
    names_drawn,
    runs_of,
    stretched,
)
from eigenbandits.lab.results import Results
from eigenbandits.lab.statistics import mean_interval
from eigenbandits.lab.words import LabError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACROSS = 3


def regret(results: Results, bands: str = "standard error") -> Figure:
    """Draw cumulative regret, one panel for each environment."""
    return over_rounds(results, ["regret"], "cumulative regret", bands)


def reward(results: Results, bands: str = "standard error") -> Figure:
    """Draw cumulative reward where regret is not known, as on logged data."""
    unknown = [environment for environment in results.environments if results.outcome(environment) == "reward"]
    return over_rounds(results, ["reward"], "cumulative reward", bands, only=unknown)


def accuracy(results: Results, bands: str = "standard error") -> Figure:
    """Draw how often the model that the policy followed ranks a best action first."""
    return over_rounds(results, ["accuracy"], "accuracy", bands, stretches=40)


def rank(results: Results, bands: str = "standard error") -> Figure:
    """Draw the rank that each policy uses."""
    return over_rounds(results, ["rank"], "rank in use", bands)


def time_per_round(results: Results, bands: str = "standard error") -> Figure:
    """Draw the median time of a round in stretches of the run, on a logarithmic axis."""
    return over_rounds(results, ["seconds_median"], "microseconds per round", bands, scale=1e6, log=True, stretches=25)


def radii(results: Results, bands: str = "standard error") -> Figure:
    """Draw the radii of the confidence sets: the projected one β above, the ambient one Ω below."""
    columns = [c for c in ("radius_projected", "radius_ambient") if results.has(c)]
    words = {"radius_projected": "projected radius β", "radius_ambient": "ambient radius Ω"}
    return over_rounds(results, columns, [words[c] for c in columns], bands)


def projection_error(results: Results, bands: str = "standard error") -> Figure:
    """Draw the bound on the projection error in each policy's line, and the true error as thin dots of its colour."""

    def truth(axes: Axes, policy: str, environment: str, look: style.Style) -> None:
        rounds, runs = runs_of(results, "projection_error_true", policy, environment)
        if len(rounds):
            axes.plot(rounds, runs.mean(axis=0), color=look.colour, linestyle=(0, (1, 1)), linewidth=1.0)

    made = over_rounds(results, ["projection_error"], "projection error", bands, log=True, more=truth)
    for axes in made.axes:
        axes.set_ylim(bottom=max(axes.get_ylim()[0], 1e-3))  # what is below is rounding
    caption(made, f"{made.get_suptitle()}. Lines with marks: the bound; thin dots: the true error")
    return made


def over_rounds(
    results: Results,
    columns: Sequence[str],
    labels: str | Sequence[str],
    bands: str = "standard error",
    *,
    scale: float = 1.0,
    log: bool = False,
    stretches: int | None = None,
    only: Sequence[str] | None = None,
    more: Callable[[Axes, str, str, style.Style], None] | None = None,
) -> Figure:
    """Draw columns over rounds with bands over seeds: one panel for each environment, one block for each column.

    Parameters
    ----------
    results : Results
        What to draw.
    columns : sequence of str
        The columns of the table.
    labels : str or sequence of str
        What the vertical axes say.
    bands : {"standard error", "bootstrap"}
        What the bands are; the figure says it.
    scale : float
        A factor on the values.
    log : bool
        Whether the vertical axis is logarithmic.
    stretches : int, optional
        The median over this many stretches of the rounds is drawn, where single values are too noisy.
    only : sequence of str, optional
        The environments that are drawn; all that have a value unless told.
    more : callable, optional
        Draws something else for a policy on an environment.
    """
    need("lab", "matplotlib", what="Drawing a figure")
    words = [labels] if isinstance(labels, str) else list(labels)
    shown = [
        (column, word, environment)
        for column, word in zip(columns, words, strict=True)
        for environment in having(results, column)
        if only is None or environment in only
    ]
    if not shown:
        raise LabError(f"no run has a value for {', '.join(columns)}, so there is nothing to draw.")
    looks = style.styles(results.policies)
    across = min(_ACROSS, len({environment for *_, environment in shown}))
    made, panels = style.figure(math.ceil(len(shown) / across), across)
    for axes, (column, word, environment) in zip(panels, shown, strict=False):
        for place, (policy, look) in enumerate(looks.items()):
            rounds, runs = stretched(*runs_of(results, column, policy, environment, scale), stretches)
            if len(rounds):
                line(axes, rounds, runs, look, bands, place, len(looks))
                if more is not None:
                    more(axes, policy, environment, look)
        dress(axes, environment, "round", word)
        if log:
            logarithmic(axes.yaxis)
        else:
            from_zero(axes)
    finish(made, panels[len(shown) :], names_drawn(results, columns, looks), results, bands)
    return made


def grid(results: Results, rows: str, columns: str, column: str = "regret", bands: str = "standard error") -> Figure:
    """Draw small multiples: one setting of the environments downwards, another across, such as d × m.

    Parameters
    ----------
    results : Results
        What to draw.
    rows, columns : str
        Two settings of the environments, such as "dim" and "rank".
    column : str
        What is drawn over rounds.
    bands : {"standard error", "bootstrap"}
        What the bands are.
    """
    need("lab", "matplotlib", what="Drawing a figure")
    settings = results.about["settings"]["environments"]
    places = {
        (settings[e][rows], settings[e][columns]): e
        for e in results.environments
        if rows in settings[e] and columns in settings[e]
    }
    down, across = (sorted({place[axis] for place in places}) for axis in (0, 1))
    if not places:
        raise LabError(f"no environment has both {rows!r} and {columns!r}; expected two settings of theirs.")
    looks = style.styles(results.policies)
    made, panels = style.figure(len(down), len(across), width=2.9, height=2.3)
    for axes, (r, c) in zip(panels, [(r, c) for r in down for c in across], strict=True):
        if (r, c) not in places:
            axes.set_visible(False)
            continue
        for place, (policy, look) in enumerate(looks.items()):
            rounds, runs = runs_of(results, column, policy, places[r, c])
            if len(rounds):
                line(axes, rounds, runs, look, bands, place, len(looks))
        dress(
            axes, f"{rows} = {r}, {columns} = {c}", "round" if r == down[-1] else "", column if c == across[0] else ""
        )
        from_zero(axes)
        axes.locator_params(nbins=4)
    finish(made, [], looks, results, bands)
    return made


def cost(results: Results) -> Figure:
    """Draw the final regret, or reward, against the time of a round, with 95 % intervals over seeds."""
    need("lab", "matplotlib", what="Drawing a figure")
    looks = style.styles(results.policies)
    final, seconds = results.outcomes(), _seconds(results)
    made, panels = style.figure(math.ceil(len(results.environments) / _ACROSS), min(_ACROSS, len(results.environments)))
    for e, (axes, environment) in enumerate(zip(panels, results.environments, strict=False)):
        for p, policy in enumerate(results.policies):
            found = mean_interval(final[p, e])
            half = found.high - found.mean if found.count > 1 else 0.0
            axes.errorbar(
                *(float(np.median(seconds[p, e])) * 1e6, found.mean),
                yerr=half,
                marker=looks[policy].marker,
                color=looks[policy].colour,
                markersize=max(5.0, 10.0 - p),  # one that lies on another leaves its rim visible
                capsize=3,
                linestyle="none",
            )
        dress(axes, environment, "microseconds per round", f"final {results.outcome(environment)}")
        axes.margins(0.15)
        from_zero(axes)
        logarithmic(axes.xaxis)
    finish(made, panels[len(results.environments) :], looks, results, "", lines=False)
    return made


def all_figures(results: Results, bands: str = "standard error") -> dict[str, Figure]:
    """Draw every figure that these results have something for, by name."""
    wanted: dict[str, tuple[str, Callable[..., Figure]]] = {
        "regret": ("regret", regret),
        "reward": ("reward", reward),
        "accuracy": ("accuracy", accuracy),
        "time_per_round": ("seconds_median", time_per_round),
        "projection_error": ("projection_error", projection_error),
        "radii": ("radius_ambient", radii),
        "rank": ("rank", rank),
    }
    if all(results.outcome(environment) == "regret" for environment in results.environments):
        del wanted["reward"]
    made = {name: draw(results, bands) for name, (column, draw) in wanted.items() if results.has(column)}
    made["cost"] = cost(results)
    if results.has("regret") and (axes := grid_axes(results)):
        made["grid"] = grid(results, *axes, bands=bands)
    return made


def grid_axes(results: Results) -> tuple[str, str] | None:
    """Return dim and rank if the environments form a grid over both: each has its own pair of them."""
    settings = [results.about["settings"]["environments"][e] for e in results.environments]
    places = [(s["dim"], s["rank"]) for s in settings if "dim" in s and "rank" in s]
    alone = len(set(places)) == len(places) == len(settings)
    return ("dim", "rank") if alone and all(len(set(values)) > 1 for values in zip(*places, strict=True)) else None


def _seconds(results: Results) -> Array:
    """Return the median time of a round of each run, of shape (policies, environments, seeds)."""
    found = [
        [np.nanmedian(results.curve("seconds_median", p, e).values, axis=1) for e in results.environments]
        for p in results.policies
    ]
    return np.array(found)
