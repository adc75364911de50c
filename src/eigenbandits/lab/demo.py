"""The demo: EigenUCB with nothing set, against the paper's PSLB and strong baselines, on images and on a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eigenbandits.algorithms import OFUL, PSLB, EigenUCB, LinTS, LinUCB
from eigenbandits.environments import Digits, Instance, LowRank
from eigenbandits.lab.robustness.players import RidgeOFUL
from eigenbandits.lab.run import Learner

ROUNDS = 2000
SEEDS = 6
FIRST_SEED = 1000
ENVIRONMENT = LowRank(dim=100, rank=4, arms=10, perturbation=9.0, noise=0.5)
IMAGES = Digits()
# Rewards are 0 or 1, for which ½ is safe.
IMAGES_NOISE = 0.5
IMAGES_TITLE = "Mistakes on real images: handwritten digits"
FLAGSHIP, PAPER, TUNED = "EigenUCB", "PSLB, rank told", "OFUL, tuned"


def line_up(instance: Instance, seed: int) -> dict[str, Callable[[], Learner]]:
    """Return the policies: EigenUCB told nothing, PSLB the noise and the rank, the others the noise where they ask."""
    return _line_up(instance.noise, instance.basis.shape[1], seed)


def images_line_up(instance: Instance, seed: int) -> dict[str, Callable[[], Learner]]:
    """Return the same, PSLB told that one dimension will do, as in the paper."""
    return _line_up(IMAGES_NOISE, 1, seed)


def _line_up(noise: float, rank: int, seed: int) -> dict[str, Callable[[], Learner]]:
    known: dict[str, Any] = {"noise": noise, "seed": seed}
    return {
        FLAGSHIP: lambda: EigenUCB(seed=seed),
        PAPER: lambda: PSLB(**known, rank=rank),
        "OFUL": lambda: OFUL(**known),
        TUNED: lambda: RidgeOFUL(**known),
        "LinUCB": lambda: LinUCB(seed=seed),
        "LinTS": lambda: LinTS(**known, propensity_draws=0),
    }


def images_setting(rounds: int, seeds: int) -> str:
    """Say in words what is played on the images."""
    return (
        f"In each of {rounds:,} rounds a policy is shown a handwritten digit: ten vectors of 100 numbers out of a "
        "small neural network,\none for each digit it might be. It points at one, and is told whether the network "
        f"would have pointed at it, too.\nEvery policy meets the same images in {seeds} orders."
    )


def images_meaning(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say in one sentence what the rows of `compare.summarize` mean on the images, whoever won."""
    mistakes = {row["policy"]: row["regret"] for row in rows}
    return (
        f"EigenUCB, told nothing, made {mistakes[FLAGSHIP]:.1f} mistakes; the paper's PSLB, told that one dimension of "
        f"the hundred will do, {mistakes[PAPER]:.1f};\nOFUL, which explores all hundred, {mistakes['OFUL']:.1f}, and "
        f"{mistakes[TUNED]:.1f} once its ridge is tuned. The network was trained to tell digits apart,\nand that is "
        "the direction in which its vectors differ most."
    )


def setting(environment: LowRank, rounds: int, seeds: int) -> str:
    """Say in words what is played."""
    return (
        f"In each of {rounds:,} rounds a policy chooses one of {environment.arms} vectors of {environment.dim} numbers "
        f"and sees a noisy reward.\nThe reward depends on {environment.rank} hidden directions only; "
        f"{environment.perturbation:g} parts in {environment.perturbation + 1:g} of each vector are noise. "
        f"Only PSLB is told how many.\nEvery policy meets the same {seeds} problems."
    )


COLUMNS = (
    "EigenUCB: nothing set, not even the noise. PSLB: the paper's algorithm, told the noise and the rank.\n"
    "OFUL: the usual ridge, λ = 1; tuned: λ = R²d, from the noise R and the vectors' size. LinUCB: multiplier 1.\n"
    "regret: expected reward lost to the best choices (on images: mistakes), less is better; ± s.e.: standard error.\n"
    "share of best: reward earned out of the best possible; choosing blindly earns 0 % (on images: 10 %).\n"
    "time per round: as a multiple of one pass `actions @ theta` over the vectors, measured in the same run."
)


def meaning(rows: Sequence[Mapping[str, Any]], environment: LowRank) -> str:
    """Say in one sentence what the rows of `compare.summarize` mean, whoever won."""
    regret = {row["policy"]: row["regret"] for row in rows}
    own = next(row for row in rows if row["policy"] == FLAGSHIP)
    rival = min((name for name in regret if name not in (FLAGSHIP, PAPER)), key=lambda name: float(regret[name]))
    found = f"{own['rank']:.0f} of {environment.dim} dimensions"
    if own["regret"] < regret[rival]:
        times = regret[rival] / max(own["regret"], 1e-12)
        return (
            f"EigenUCB lost {times:.1f} times less than {rival}, the best of those that know no subspace: from all the "
            f"vectors that it was\nshown, chosen or not, it found that {found} stand out, and the rewards told it to "
            "trust them."
        )
    return (
        f"{rival} lost least here; for EigenUCB {found} stand out so far, and it needs more rounds for its subspace to "
        "pay off."
    )
