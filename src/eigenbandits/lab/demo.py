"""The demonstration: PSLB with nothing but the noise set, against OFUL, LinTS and SOFUL, on images and on a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eigenbandits.algorithms import OFUL, PSLB, SOFUL, LinTS
from eigenbandits.environments import Digits, Instance, LowRank
from eigenbandits.lab.run import Learner

ROUNDS = 2000
SEEDS = 6
ENVIRONMENT = LowRank(dim=100, rank=4, arms=10, perturbation=9.0, noise=0.5)
IMAGES = Digits()
# Rewards are 0 or 1, for which ½ is safe.
IMAGES_NOISE = 0.5
IMAGES_TITLE = "Mistakes on real images: handwritten digits"
ONE_DIMENSION = "PSLB, m = 1"


def line_up(instance: Instance, seed: int) -> dict[str, Callable[[], Learner]]:
    """Return the four policies, each told the noise and nothing else."""
    noise = instance.noise
    return {
        "PSLB": lambda: PSLB(noise=noise, seed=seed),
        "OFUL": lambda: OFUL(noise=noise, seed=seed),
        "LinTS": lambda: LinTS(noise=noise, seed=seed),
        "SOFUL": lambda: SOFUL(noise=noise, seed=seed),
    }


def images_line_up(instance: Instance, seed: int) -> dict[str, Callable[[], Learner]]:
    """Return the same four, and PSLB as the paper has it, told that one dimension will do."""
    known: dict[str, Any] = {"noise": IMAGES_NOISE, "seed": seed}
    return {
        "PSLB": lambda: PSLB(**known),
        ONE_DIMENSION: lambda: PSLB(**known, rank=1),
        "OFUL": lambda: OFUL(**known),
        "LinTS": lambda: LinTS(**known),
        "SOFUL": lambda: SOFUL(**known),
    }


def images_setting(rounds: int, seeds: int) -> str:
    """Say in words what is played on the images."""
    return (
        f"In each of {rounds:,} rounds a policy is shown a handwritten digit: ten vectors of 100 numbers out of a "
        "small neural network,\none for each digit it might be. It points at one, and is told whether the network "
        f"would have pointed at it, too.\nEvery policy meets the same images in {seeds} orders."
    )


def images_meaning(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say in one sentence what the rows of `compare.summarise` mean on the images, whoever won."""
    mistakes = {row["policy"]: row["regret"] for row in rows}
    told = mistakes[ONE_DIMENSION]
    return (
        f"PSLB, told nothing, made {mistakes['PSLB']:.1f} mistakes; told that one dimension of the hundred will do, "
        f"{told:.1f}; OFUL, which explores all\nhundred, {mistakes['OFUL']:.1f} with the usual ridge of 1 (a ridge "
        "that fits brings it near: docs/robustness.md). The network was trained to\ntell digits apart, and that is the "
        "direction in which its vectors differ most."
    )


def setting(environment: LowRank, rounds: int, seeds: int) -> str:
    """Say in words what is played."""
    return (
        f"In each of {rounds:,} rounds a policy chooses one of {environment.arms} vectors of {environment.dim} numbers "
        f"and sees a noisy reward.\nThe reward depends on {environment.rank} hidden directions only; "
        f"{environment.perturbation:g} parts in {environment.perturbation + 1:g} of each vector are noise. "
        f"Nobody is told this.\nEvery policy meets the same {seeds} problems."
    )


COLUMNS = (
    "regret: expected reward lost to the best choices (on images: mistakes), less is better; ± s.e.: standard error.\n"
    "share of best: reward earned out of the best possible; choosing blindly earns 0 % (on images: 10 %).\n"
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
