"""The demonstration: PSLB with nothing but the noise set, against OFUL, LinTS and SOFUL, on the paper's model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eigenbandits.algorithms import OFUL, PSLB, SOFUL, LinTS
from eigenbandits.environments import Instance, LowRank
from eigenbandits.lab.run import Learner

ROUNDS = 2000
SEEDS = 8
ENVIRONMENT = LowRank(dim=100, rank=4, arms=10, perturbation=9.0, noise=0.5)


def line_up(instance: Instance, seed: int) -> dict[str, Callable[[], Learner]]:
    """Return the four policies, each told the noise and nothing else."""
    noise = instance.noise
    return {
        "PSLB": lambda: PSLB(noise=noise, seed=seed),
        "OFUL": lambda: OFUL(noise=noise, seed=seed),
        "LinTS": lambda: LinTS(noise=noise, seed=seed),
        "SOFUL": lambda: SOFUL(noise=noise, seed=seed),
    }


def setting(environment: LowRank, rounds: int, seeds: int) -> str:
    """Say in words what is played."""
    return (
        f"In each of {rounds:,} rounds a policy chooses one of {environment.arms} vectors of {environment.dim} numbers "
        f"and sees a noisy reward.\nThe reward depends on {environment.rank} hidden directions only; "
        f"{environment.perturbation:g} parts in {environment.perturbation + 1:g} of each vector are noise. "
        f"Nobody is told this.\nEvery policy meets the same {seeds} problems."
    )


COLUMNS = (
    "regret: expected reward lost to the best choices, less is better; ± s.e.: its standard error over the problems.\n"
    "share of best: reward earned out of the best possible; choosing blindly earns 0 %.\n"
    "time per round: as a multiple of one pass `actions @ theta` over the vectors, measured in the same run."
)


def meaning(rows: Sequence[Mapping[str, Any]], environment: LowRank) -> str:
    """Say in one sentence what the rows of `compare.summarise` mean, whoever won."""
    regret = {row["policy"]: row["regret"] for row in rows}
    pslb = next(row for row in rows if row["policy"] == "PSLB")
    rival = min((name for name in regret if name != "PSLB"), key=lambda name: float(regret[name]))
    found = f"{pslb['rank']:.0f} of {environment.dim} dimensions"
    if pslb["regret"] < regret[rival]:
        times = regret[rival] / max(pslb["regret"], 1e-12)
        return (
            f"PSLB lost {times:.1f} times less than {rival}, the best of the others: from all the vectors that it was "
            f"shown, chosen or not, it found that {found} stand out, and explored those first."
        )
    return (
        f"{rival} lost least here; for PSLB {found} stand out so far, and it needs more rounds for its subspace to "
        "pay off."
    )
