"""What the router's constants lead to: the same experiments with other values, on seeds below 100."""

from functools import partial
from pathlib import Path

import numpy as np

from eigenbandits.lab.errors import unknown
from eigenbandits.lab.experiments.run import run
from eigenbandits.lab.studies.calibrate import Constant, compared
from eigenbandits.lab.studies.router.policies import RouterPolicy
from eigenbandits.lab.studies.router.scenarios import Requests

# Scenarios and budgets, by their place among the instance's: what is spent and earned, and what a change costs.
PLAYED = {"pacing": (2, 4), "degraded": (0, 2), "pairs": (2,)}


def quality(file: str, seeds: range) -> dict[str, float]:
    """Return mean quality and largest spend without changes, and quality after a silent change, by budget."""
    found: dict[str, float] = {}
    for scenario, levels in PLAYED.items():
        for level in levels:
            rows = [_play(file, scenario, level, seed) for seed in seeds]
            budget = f"{scenario}, {rows[0]['budget']:.2e}"
            phase = 2 if scenario == "degraded" else 1
            found[f"{budget}: quality"] = float(np.mean([row[f"quality_{phase}"] for row in rows]))
            if scenario == "pacing":
                spent = max(row["spent_1"] / row["budget"] for row in rows)
                found[f"{budget}: most spent, %"] = 100.0 * spent
    return found


def _play(file: str, scenario: str, level: int, seed: int) -> dict[str, float]:
    instance, policy = Requests(file, scenario).instance(seed), RouterPolicy(level, seed)
    run(policy, instance, sum(instance.phases), seed)
    return policy.diagnostics()


_POLICY, _CHANGES = "eigenbandits.router.model_policy", "eigenbandits.router.changes"
_COSTS = "eigenbandits.router.costs"
CONSTANTS = {
    "memory": (_POLICY, "MEMORY", (256.0, 1024.0, 4096.0)),
    "width": (_POLICY, "WIDTH", (1.0, 2.0, 4.0)),
    "reserve": (_POLICY, "RESERVE", (0.0, 0.0025, 0.01)),
    "spread": (_COSTS, "SPREAD", (0.0, 1.645, 2.326)),
    "horizon": (_POLICY, "HORIZON", (5.0, 15.0, 50.0)),
    "change": (_CHANGES, "CHANGE", (0.5, 1.0, 2.0)),
    "proved": (_CHANGES, "PROVED", (4.0, 8.0, 16.0)),
    "clip": (_CHANGES, "CLIP", (1.5, 2.5, 5.0)),
}


def table(file: Path, name: str, seeds: range) -> str:
    """Return what was measured with each value of one of `CONSTANTS` on the file that `data.prepare` wrote, as text."""
    if name not in CONSTANTS:
        raise unknown("constant", name, CONSTANTS)
    module, attribute, values = CONSTANTS[name]
    return compared(Constant(module, attribute, values, partial(quality, str(file.absolute()))), values, seeds)
