"""The figures of an experiment: each returns its data as a `Plot`, or the reason why there is nothing to show."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from eigenbandits.files import write_whole
from eigenbandits.inputs import Array
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import Results
from eigenbandits.lab.reporting.plots import Axis, Line, Mark, Panel, Plot, Points, band_line
from eigenbandits.lab.reporting.renderer import to_bytes
from eigenbandits.lab.reporting.statistics import band, mean_interval

STANDARD_ERROR = "standard error"
_COLUMNS = 3
_BANDS = {STANDARD_ERROR: "mean ± standard error", "bootstrap": "mean, 95 % bootstrap interval"}


class ExperimentFigure(ABC):
    """One figure of an experiment; `name` is that of its file, `description` a sentence for the report."""

    name: str
    description: str

    @abstractmethod
    def skip(self, results: Results) -> str | None:
        """Return why there is nothing to show, or None if there is."""

    @abstractmethod
    def plot(self, results: Results, bands: str = STANDARD_ERROR) -> Plot:
        """Return what is shown; `bands` is "standard error" or "bootstrap"."""


@dataclass(frozen=True)
class OverRounds(ExperimentFigure):
    """Columns of the results over rounds with bands over seeds: one panel for each column and environment.

    Parameters
    ----------
    name, description : str
        See `ExperimentFigure`.
    columns : sequence of str
        The columns of the table.
    labels : sequence of str
        The labels of their vertical axes.
    scale : float
        A factor on the values.
    log : bool
        Whether the vertical axis is logarithmic.
    floor : float, optional
        The vertical axis does not go below it.
    stretches : int, optional
        Shows the median over this many stretches of the rounds, where single values are too noisy.
    truth : str, optional
        A column that is drawn as thin dots of the same color.
    outcome : str, optional
        Only environments whose outcome this is are shown: "regret" or "reward".
    note : str
        Added to the caption.
    """

    name: str
    description: str
    columns: Sequence[str]
    labels: Sequence[str]
    scale: float = 1.0
    log: bool = False
    floor: float | None = None
    stretches: int | None = None
    truth: str | None = None
    outcome: str | None = None
    note: str = ""

    def skip(self, results: Results) -> str | None:
        """Return that no run has a value, if so."""
        return None if self._shown(results) else f"no run has a value for {', '.join(self.columns)}."

    def plot(self, results: Results, bands: str = STANDARD_ERROR) -> Plot:
        """Return the curves."""
        shown = self._shown(results)
        if not shown:
            raise LabError(f"no run has a value for {', '.join(self.columns)}, so there is nothing to draw.")
        panels = [
            Panel(
                environment,
                Axis("round"),
                Axis(label, log=self.log, floor=self.floor),
                [
                    mark
                    for policy in results.policies
                    for mark in self._marks(results, column, policy, environment, bands)
                ],
            )
            for column, label, environment in shown
        ]
        drawn = {mark.name for panel in panels for mark in panel.marks if isinstance(mark, Line)}
        return Plot(
            panels,
            columns=min(_COLUMNS, len({environment for *_, environment in shown})),
            caption=caption(results, bands) + self.note,
            names=results.policies,
            legend=[policy for policy in results.policies if policy in drawn],
        )

    def _shown(self, results: Results) -> list[tuple[str, str, str]]:
        return [
            (column, label, environment)
            for column, label in zip(self.columns, self.labels, strict=True)
            for environment in results.environments
            if results.has(column, environment) and self.outcome in (None, results.outcome(environment))
        ]

    def _marks(self, results: Results, column: str, policy: str, environment: str, bands: str) -> list[Mark]:
        rounds, runs = stretched(*values(results, column, policy, environment, self.scale), self.stretches)
        marks: list[Mark] = [band_line(policy, rounds, runs, band(runs, bands))] if len(rounds) else []
        if self.truth is not None:
            rounds, runs = values(results, self.truth, policy, environment)
            marks += [Line(policy, rounds, runs.mean(axis=0), thin=True)] if len(rounds) else []
        return marks


class Cost(ExperimentFigure):
    """The final regret, or reward, against the time of a round, with 95 % intervals over seeds."""

    name = "cost"
    description = "Final result against the time of a round: fewer microseconds to the left."

    def skip(self, results: Results) -> str | None:
        """Return nothing: every run has an outcome."""
        return None

    def plot(self, results: Results, bands: str = STANDARD_ERROR) -> Plot:
        """Return a point for each policy on each environment; its intervals are always Student's."""
        final, seconds = results.outcomes(), _seconds(results)
        panels = []
        for e, environment in enumerate(results.environments):
            marks: list[Mark] = []
            for p, policy in enumerate(results.policies):
                found = mean_interval(final[p, e])
                half = found.high - found.mean if found.count > 1 else 0.0
                time = float(np.median(seconds[p, e])) * 1e6
                # A marker on top of another leaves its rim visible.
                marks.append(Points(policy, [time], [found.mean], y_error=[half], size=max(5.0, 10.0 - p)))
            panels.append(
                Panel(
                    environment,
                    Axis("microseconds per round", log=True),
                    Axis(f"final {results.outcome(environment)}"),
                    marks,
                )
            )
        return Plot(
            panels,
            columns=min(_COLUMNS, len(panels)),
            caption=f"{results.name}: mean and 95 % interval over {len(results.seeds)} seeds",
            names=results.policies,
            legend=results.policies,
        )


@dataclass(frozen=True)
class Grid(ExperimentFigure):
    """Small multiples of a column over rounds: one setting of the environments down, another across, such as d × m."""

    rows: str = "dim"
    columns: str = "rank"
    column: str = "regret"
    name = "grid"
    description = "Cumulative regret over a grid of settings."

    def skip(self, results: Results) -> str | None:
        """Return that the environments form no grid, if so: each must have its own pair of the two settings."""
        places = self._places(results)
        alone = len(places) == len(results.environments)
        varied = all(len(set(found)) > 1 for found in zip(*places, strict=True)) if places else False
        return None if alone and varied and results.has(self.column) else "the environments form no grid."

    def plot(self, results: Results, bands: str = STANDARD_ERROR) -> Plot:
        """Return a panel for each pair of values."""
        places = self._places(results)
        if not places:
            raise LabError(
                f"no environment has both {self.rows!r} and {self.columns!r}; expected two of their settings."
            )
        down, across = (sorted({place[axis] for place in places}) for axis in (0, 1))
        panels = [self._panel(results, places.get((r, c)), r, c, bands) for r in down for c in across]
        return Plot(
            panels,
            columns=len(across),
            caption=caption(results, bands),
            names=results.policies,
            legend=results.policies,
            width=2.9,
            height=2.3,
        )

    def _panel(self, results: Results, environment: str | None, row: object, column: object, bands: str) -> Panel:
        if environment is None:
            return Panel(empty=True)
        marks: list[Mark] = []
        for policy in results.policies:
            rounds, runs = values(results, self.column, policy, environment)
            if len(rounds):
                marks.append(band_line(policy, rounds, runs, band(runs, bands)))
        title = f"{self.rows} = {row}, {self.columns} = {column}"
        return Panel(title, Axis("round"), Axis(self.column), marks)

    def _places(self, results: Results) -> dict[tuple[float, float], str]:
        settings = results.about["settings"]["environments"]
        return {
            (settings[e][self.rows], settings[e][self.columns]): e
            for e in results.environments
            if self.rows in settings[e] and self.columns in settings[e]
        }


REGRET = OverRounds(
    "regret",
    "Cumulative regret: the best action's value less the chosen one's, summed over rounds.",
    ["regret"],
    ["cumulative regret"],
)
FIGURES: tuple[ExperimentFigure, ...] = (
    Grid(),
    REGRET,
    OverRounds(
        "reward",
        "Cumulative reward; the regret of logged data is not known.",
        ["reward"],
        ["cumulative reward"],
        outcome="reward",
    ),
    OverRounds(
        "accuracy",
        "How often the policy's model ranks a best action first.",
        ["accuracy"],
        ["accuracy"],
        stretches=40,
    ),
    Cost(),
    OverRounds(
        "time_per_round",
        "Median time of choosing and learning in one round.",
        ["seconds_median"],
        ["microseconds per round"],
        scale=1e6,
        log=True,
        stretches=25,
    ),
    OverRounds(
        "projection_error",
        "The bound on the projection error that each policy uses, and the true error.",
        ["projection_error"],
        ["projection error"],
        log=True,
        floor=1e-3,  # smaller values are rounding
        truth="projection_error_true",
        note=". Lines with markers: the bound; thin dots: the true error",
    ),
    OverRounds(
        "radii",
        "Radii of the confidence sets.",
        ["radius_projected", "radius_ambient"],
        ["projected radius β", "ambient radius Ω"],
    ),
    OverRounds("rank", "The rank of the subspace in use.", ["rank"], ["rank in use"]),
)
"""The figures of every experiment, in the order of the report."""


def plots(results: Results, bands: str = STANDARD_ERROR) -> dict[str, Plot]:
    """Return every figure that these results have data for, by name."""
    return {figure.name: figure.plot(results, bands) for figure in FIGURES if figure.skip(results) is None}


def write_regret(results: Results, folder: Path, titles: Mapping[str, str] | None = None) -> Path:
    """Write the regret figure with bootstrap bands as regret.png, and return its path.

    `titles` are shown instead of the names of environments.
    """
    path = folder / "regret.png"
    plot = REGRET.plot(results, "bootstrap")
    panels = [replace(panel, title=(titles or {}).get(panel.title, panel.title)) for panel in plot.panels]
    write_whole(path, to_bytes(replace(plot, panels=panels), "png"))
    return path


def caption(results: Results, bands: str) -> str:
    """Return what the lines and bands are."""
    return f"{results.name}: {_BANDS[bands]} over {len(results.seeds)} seeds"


def values(results: Results, column: str, policy: str, environment: str, scale: float = 1.0) -> tuple[Array, Array]:
    """Return the rounds at which every seed has a value, and the values (seeds, n)."""
    if not results.has(column, environment):
        return np.empty(0), np.empty((0, 0))
    found = results.curve(column, policy, environment)
    known = np.isfinite(found.values).all(axis=0)
    return found.rounds[known], found.values[:, known] * scale


def stretched(rounds: Array, runs: Array, stretches: int | None) -> tuple[Array, Array]:
    """Return the median over stretches of the rounds, at the end of each."""
    if stretches is None or len(rounds) <= stretches:
        return rounds, runs
    parts = np.array_split(np.arange(len(rounds)), stretches)
    return rounds[[part[-1] for part in parts]], np.stack([np.median(runs[:, part], axis=1) for part in parts], axis=1)


def _seconds(results: Results) -> Array:
    """Return the median time of a round of each run, of shape (policies, environments, seeds)."""
    found = [
        [np.nanmedian(results.curve("seconds_median", p, e).values, axis=1) for e in results.environments]
        for p in results.policies
    ]
    return np.array(found)
