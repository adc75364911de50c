"""The study: an experiment of all that can be played here, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eigenbandits.lab.experiment import Experiment
from eigenbandits.lab.problems.policies import Player
from eigenbandits.lab.recording import Record

# Points of a regret curve: the table needs only the last.
_POINTS = 100


def experiment(
    players: Mapping[str, Player], environments: Mapping[str, Any], seeds: int, rounds: int, first_seed: int = 0
) -> Experiment:
    """Return the experiment whose results the tables and the figure are made from.

    Parameters
    ----------
    players, environments
        Who plays where; see `policies.able` and `catalogue.playable`.
    seeds, first_seed
        How many seeds, and the first of them.
    rounds
        How long each run is.
    """
    return Experiment(
        name="problems",
        policies={label: player.policy for label, player in players.items()},
        environments=environments,
        seeds=range(first_seed, first_seed + seeds),
        rounds=rounds,
        record=Record(points=min(rounds, _POINTS), diagnostics=False, accuracy=0),
        description="Real decision problems: our policies and the peers' at their defaults on the same rounds.",
    )
