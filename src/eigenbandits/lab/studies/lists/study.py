"""The study of lists: its experiment, and the table that compares all candidates with `choose_list`."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import Experiment, Record, Results, entry
from eigenbandits.lab.folders import data_folder
from eigenbandits.lab.reporting.statistics import mean_interval
from eigenbandits.lab.reporting.tables import aligned
from eigenbandits.lab.studies.candidates import Candidate
from eigenbandits.lab.studies.lists import peers, recommenders
from eigenbandits.lab.studies.lists.environment import FilmLists
from eigenbandits.lab.studies.problems.catalogue import CATALOGUE, FOLDER

LISTED = "choose_list"
# Rewards are recorded after each of these parts of a run.
_PARTS = 4


CANDIDATES = {
    LISTED: Candidate(entry(recommenders.ListRecommender), "EigenUCB, nothing set; learns when the list is complete"),
    "choose, 10 times": Candidate(
        entry(recommenders.SequentialRecommender, at_once=False),
        "EigenUCB().choose ten times, each time among the films not taken yet",
    ),
    "choose and learn, 10 times": Candidate(
        entry(recommenders.SequentialRecommender, at_once=True),
        "the same, but each film is learned before the next is chosen: a list that is shown as a whole cannot be",
    ),
    "choose in 10 parts": Candidate(
        entry(recommenders.PartsRecommender), "EigenUCB().choose one of ten films, in ten parts of the offer"
    ),
    "mab2rec LinUCB": Candidate(entry(peers.Mab2Rec), "alpha 1, its default; an arm for each film", module="mab2rec"),
    "mab2rec LinUCB 0.1": Candidate(entry(peers.Mab2Rec, alpha=0.1), "the same with alpha 0.1", module="mab2rec"),
    "VW ccb": Candidate(
        entry(peers.VowpalWabbitSlots), "--ccb_explore_adf, ε = 0.05, its default", module="vowpalwabbit"
    ),
    "VW ccb squarecb": Candidate(
        entry(peers.VowpalWabbitSlots, options="--squarecb"), "--ccb_explore_adf --squarecb", module="vowpalwabbit"
    ),
    "chance": Candidate(entry(recommenders.RandomRecommender), "any ten films"),
    "choose, reward × 10": Candidate(
        entry(recommenders.SingleRecommender),
        "EigenUCB().choose once, its reward counted ten times: one film, not a list",
    ),
}
"""The candidates, by label."""


def experiment(
    file: str | PathLike[str], candidates: Mapping[str, Candidate], seeds: int, rounds: int, first_seed: int
) -> Experiment:
    """Return the experiment whose results `table` reads."""
    return Experiment(
        name="lists",
        policies={label: candidate.policy for label, candidate in candidates.items()},
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
class Earnings:
    """What a candidate's lists earned: films liked per list, over all rounds and in their first and last quarter.

    `behind` is how much more `choose_list` earned on the same seeds, with Student's 95 % interval from `low` to `high`;
    `seconds` is the time per list.
    """

    candidate: str
    mean: float
    first: float
    last: float
    behind: float
    low: float
    high: float
    seconds: float


def table(results: Results) -> list[Earnings]:
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
        found.append(Earnings(label, float(means.mean()), early, late, more.mean, more.low, more.high, seconds))
    return found


def text(rows: list[Earnings]) -> str:
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
