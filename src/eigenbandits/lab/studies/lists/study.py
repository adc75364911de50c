"""The study of lists: its experiment, and the table that compares everybody with `choose_list` on the same visits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from eigenbandits.extras import MissingExtraError, need
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments.experiment import Experiment
from eigenbandits.lab.experiments.recording import Record
from eigenbandits.lab.experiments.results import Results
from eigenbandits.lab.folders import data_folder
from eigenbandits.lab.reporting.statistics import mean_interval
from eigenbandits.lab.reporting.tables import aligned
from eigenbandits.lab.studies.lists import peers, players
from eigenbandits.lab.studies.lists.environment import FilmLists
from eigenbandits.lab.studies.problems.catalogue import CATALOGUE, FOLDER

LISTED = "choose_list"
# Rewards are recorded after each of these parts of a run.
_PARTS = 4


@dataclass(frozen=True)
class Entrant:
    """One row of the table.

    Attributes
    ----------
    player : type
        Who makes the lists.
    description : str
        How.
    settings : mapping
        Arguments of the player.
    module : str
        The package that it needs, of the extra "peers".
    """

    player: type[players.Player]
    description: str
    settings: Mapping[str, Any] | None = None
    module: str = ""

    def policy(self) -> dict[str, Any]:
        """Return the player as an experiment takes it."""
        return {"kind": f"{self.player.__module__}:{self.player.__name__}", **(self.settings or {})}

    def skip(self) -> str | None:
        """Return why it cannot run here, or None if it can."""
        if not self.module:
            return None
        try:
            need("peers", self.module, what=self.module)
        except MissingExtraError as error:
            return str(error)
        return None


ENTRANTS = {
    LISTED: Entrant(players.Listed, "EigenUCB, nothing set; learns when the list is complete"),
    "choose, 10 times": Entrant(
        players.OneByOne, "EigenUCB().choose ten times, each time among the films not taken yet", {"at_once": False}
    ),
    "choose and learn, 10 times": Entrant(
        players.OneByOne,
        "the same, but each film is learned before the next is chosen: a list that is shown as a whole cannot be",
        {"at_once": True},
    ),
    "choose in 10 parts": Entrant(players.FromParts, "EigenUCB().choose one of ten films, in ten parts of the offer"),
    "mab2rec LinUCB": Entrant(peers.Mab2Rec, "alpha 1, its default; an arm for each film", module="mab2rec"),
    "mab2rec LinUCB 0.1": Entrant(peers.Mab2Rec, "the same with alpha 0.1", {"alpha": 0.1}, module="mab2rec"),
    "VW ccb": Entrant(peers.VowpalWabbitSlots, "--ccb_explore_adf, ε = 0.05, its default", module="vowpalwabbit"),
    "VW ccb squarecb": Entrant(
        peers.VowpalWabbitSlots,
        "--ccb_explore_adf --squarecb",
        {"options": "--squarecb"},
        module="vowpalwabbit",
    ),
    "chance": Entrant(players.Chance, "any ten films"),
    "choose, reward × 10": Entrant(
        players.Single, "EigenUCB().choose once, its reward counted ten times: one film, not a list"
    ),
}
"""Who makes lists, by label."""


def experiment(
    file: str | PathLike[str], entrants: Mapping[str, Entrant], seeds: int, rounds: int, first_seed: int
) -> Experiment:
    """Return the experiment whose results `table` reads."""
    return Experiment(
        name="lists",
        policies={label: entrant.policy() for label, entrant in entrants.items()},
        environments={"MovieLens, 10 of 100": FilmLists(str(file))},
        seeds=range(first_seed, first_seed + seeds),
        rounds=rounds,
        record=Record(points=_PARTS, diagnostics=False, accuracy=0),
        description="Lists of ten films for the users of MovieLens, by this library and by others on the same visits.",
    )


def find_file(data: str | PathLike[str] | None) -> Path:
    """Return the file of MovieLens in the folder of the data."""
    path = data_folder(data) / FOLDER / CATALOGUE["movielens"].file
    if not path.exists():
        raise LabError(f"there is no file {path}; run: eigenbandits data fetch movielens")
    return path


@dataclass(frozen=True)
class Row:
    """What an entrant's lists earned: films liked per list.

    Attributes
    ----------
    entrant
        Its label.
    mean
        Over all rounds and seeds.
    first, last
        In the first and in the last quarter of the rounds.
    behind, low, high
        How much `choose_list` earned more on the same seeds, and Student's 95 % interval.
    seconds
        Per list.
    """

    entrant: str
    mean: float
    first: float
    last: float
    behind: float
    low: float
    high: float
    seconds: float


def table(results: Results) -> list[Row]:
    """Return a row for each entrant."""
    (environment,) = results.environments
    curves = {label: results.curve("reward", label, environment) for label in results.policies}
    rounds = curves[LISTED].rounds
    lengths = np.diff(rounds, prepend=0)
    own = curves[LISTED].values[:, -1] / rounds[-1]
    found = []
    for label, curve in curves.items():
        parts = np.diff(curve.values, prepend=0.0, axis=1) / lengths
        early, late = parts.mean(axis=0)[[0, -1]].tolist()
        means = curve.values[:, -1] / rounds[-1]
        more = mean_interval(own - means)
        seconds = float(results.curve("seconds", label, environment).values[:, -1].mean() / rounds[-1])
        found.append(Row(label, float(means.mean()), early, late, more.mean, more.low, more.high, seconds))
    return found


def text(rows: list[Row]) -> str:
    """Return the table as text."""
    headers = [
        "lists by",
        "films liked\nper list",
        "first\nquarter",
        "last\nquarter",
        "choose_list has more\n(95 %)",
        "ms",
    ]
    shown = [
        [
            row.entrant,
            *(f"{value:.3f}" for value in (row.mean, row.first, row.last)),
            "" if row.entrant == LISTED else f"{row.behind:+.3f} ({row.low:+.3f} … {row.high:+.3f})",
            f"{1e3 * row.seconds:.1f}",
        ]
        for row in rows
    ]
    return aligned(headers, shown)


def as_rows(rows: list[Row]) -> list[dict[str, object]]:
    """Return the table for a file."""
    return [asdict(row) for row in rows]
