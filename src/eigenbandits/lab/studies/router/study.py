"""The experiments of the study."""

from pathlib import Path
from typing import Any

from eigenbandits.lab.experiments import Experiment, Record, entry
from eigenbandits.lab.studies.router.policies import BudgetedPolicy, ParetoPolicy, RouterPolicy
from eigenbandits.lab.studies.router.scenarios import Requests

PEER, PEER_PRIORS = "ParetoBandit", "ParetoBandit with priors"
# The scenarios, and the first seed of ParetoBandit's own runs of each. "budgets" are the requests of "pacing", answered
# by `Budgeted` without a router.
SCENARIOS = {
    "pacing": 3000,
    "budgets": 3000,
    "price": 8000,
    "degraded": 6000,
    "arrival": 9000,
    "bad-arrival": 9000,
    "pairs": 1000,
}


def experiment(
    file: Path, scenario: str, seeds: int = 20, peer: bool = False, first_seed: int | None = None
) -> Experiment:
    """Return the experiment of one scenario: every budget on every seed."""
    alone = scenario == "budgets"
    environment = Requests(str(file.absolute()), "pacing" if alone else scenario)
    instance = environment.instance(0)
    first = SCENARIOS[scenario] if first_seed is None else first_seed
    kinds: dict[str, tuple[type[RouterPolicy], dict[str, Any]]] = (
        {"Budgeted": (BudgetedPolicy, {})} if alone else {"Router": (RouterPolicy, {})}
    )
    if peer and scenario != "pairs":
        kinds[PEER] = (ParetoPolicy, {"priors": False})
        if not alone:
            kinds[PEER_PRIORS] = (ParetoPolicy, {"priors": True})
    return Experiment(
        name=f"router-{scenario}",
        policies={
            f"{name} {level}": entry(kind, level=level, **options)
            for name, (kind, options) in kinds.items()
            for level in range(len(instance.budgets))
        },
        environments={environment.name: environment},
        seeds=range(first, first + seeds),
        rounds=sum(instance.phases),
        record=Record(points=1, accuracy=0),
        description=f"The router on the scenario {scenario}.",
    )
