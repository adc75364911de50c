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
from eigenbandits.lab.studies.lists import peers, recommenders
from eigenbandits.lab.studies.lists.environment import FilmLists
from eigenbandits.lab.studies.problems.catalogue import CATALOGUE, FOLDER

LISTED = "choose_list"
# Rewards are recorded after each of these parts of a run.
_PARTS = 4


@dataclass(frozen=True)
class Candidate:
    """One row of the table.

    Attributes
    ----------
    recommender : type
        Who makes the lists.
    description : str
        How.
    settings : mapping
        Arguments of the recommender.
    module : str
        The package that it needs, of the extra "peers".
    """

    recommender: type[recommenders.Recommender]
    description: str
    settings: Mapping[str, Any] | None = None
    module: str = ""

    def policy(self) -> dict[str, Any]:
        """Return the recommender as an experiment takes it."""
        return {"kind": f"{self.recommender.__module__}:{self.recommender.__name__}", **(self.settings or {})}

    def skip(self) -> str | None:
        """Return why it cannot run here, or None if it can."""
        if not self.module:
            return None
        try:
            need("peers", self.module, what=self.module)
        except MissingExtraError as error:
            return str(error)
        return None


CANDIDATES = {
    LISTED: Candidate(recommenders.Listed, "EigenUCB, nothing set; learns when the list is complete"),
    "choose, 10 times": Candidate(
        recommenders.OneByOne,
        "EigenUCB().choose ten times, each time among the films not taken yet",
        {"at_once": False},
    ),
    "choose and learn, 10 times": Candidate(
        recommenders.OneByOne,
        "the same, but each film is learned before the next is chosen: a list that is shown as a whole cannot be",
        {"at_once": True},
    ),
    "choose in 10 parts": Candidate(
        recommenders.FromParts, "EigenUCB().choose one of ten films, in ten parts of the offer"
    ),
    "mab2rec LinUCB": Candidate(peers.Mab2Rec, "alpha 1, its default; an arm for each film", module="mab2rec"),
    "mab2rec LinUCB 0.1": Candidate(peers.Mab2Rec, "the same with alpha 0.1", {"alpha": 0.1}, module="mab2rec"),
    "VW ccb": Candidate(peers.VowpalWabbitSlots, "--ccb_explore_adf, ε = 0.05, its default", module="vowpalwabbit"),
    "VW ccb squarecb": Candidate(
        peers.VowpalWabbitSlots,
        "--ccb_explore_adf --squarecb",
        {"options": "--squarecb"},
        module="vowpalwabbit",
    ),
    "chance": Candidate(recommenders.Chance, "any ten films"),
    "choose, reward × 10": Candidate(
        recommenders.Single, "EigenUCB().choose once, its reward counted ten times: one film, not a list"
    ),
}
"""Who makes lists, by label."""


def experiment(
    file: str | PathLike[str], candidates: Mapping[str, Candidate], seeds: int, rounds: int, first_seed: int
) -> Experiment:
    """Return the experiment whose results `table` reads."""
    return Experiment(
        name="lists",
        policies={label: candidate.policy() for label, candidate in candidates.items()},
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
    """What a candidate's lists earned: films liked per list.

    Attributes
    ----------
    candidate
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

    candidate: str
    mean: float
    first: float
    last: float
    behind: float
    low: float
    high: float
    seconds: float


def table(results: Results) -> list[Row]:
    """Return a row for each candidate."""
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
            row.candidate,
            *(f"{value:.3f}" for value in (row.mean, row.first, row.last)),
            "" if row.candidate == LISTED else f"{row.behind:+.3f} ({row.low:+.3f} … {row.high:+.3f})",
            f"{1e3 * row.seconds:.1f}",
        ]
        for row in rows
    ]
    return aligned(headers, shown)


def as_rows(rows: list[Row]) -> list[dict[str, object]]:
    """Return the table for a file."""
    return [asdict(row) for row in rows]
