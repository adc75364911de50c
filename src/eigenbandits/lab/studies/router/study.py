"""The experiments of the study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eigenbandits.lab.experiments.experiment import Experiment
from eigenbandits.lab.experiments.recording import Record
from eigenbandits.lab.studies.router.players import ParetoPlayer, RouterPlayer
from eigenbandits.lab.studies.router.scenarios import Requests

OURS, PEER, PEER_PRIORS = "Router", "ParetoBandit", "ParetoBandit with priors"
# The scenarios, and the first seed of ParetoBandit's own runs of each.
SCENARIOS = {"pacing": 3000, "price": 8000, "degraded": 6000, "arrival": 9000, "bad-arrival": 9000, "pairs": 1000}


def experiment(file: Path, scenario: str, seeds: int = 20, peer: bool = False) -> Experiment:
    """Return the experiment of one scenario: every budget on every seed."""
    environment = Requests(str(file.absolute()), scenario)
    instance = environment.instance(0)
    first = SCENARIOS[scenario]
    kinds: dict[str, tuple[type[RouterPlayer], dict[str, Any]]] = {OURS: (RouterPlayer, {})}
    if peer and scenario != "pairs":
        kinds |= {PEER: (ParetoPlayer, {"priors": False}), PEER_PRIORS: (ParetoPlayer, {"priors": True})}
    return Experiment(
        name=f"router-{scenario}",
        policies={
            f"{name} {level}": {"kind": f"{kind.__module__}:{kind.__name__}", "level": level, **options}
            for name, (kind, options) in kinds.items()
            for level in range(len(instance.budgets))
        },
        environments={scenario: environment},
        seeds=range(first, first + seeds),
        rounds=sum(instance.phases),
        record=Record(points=1, accuracy=0),
        description=f"The router on the scenario {scenario}.",
    )
