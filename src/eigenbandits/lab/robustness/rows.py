"""The rows, which are environments, and the columns, which are policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eigenbandits.algorithms import CBRAP, OFUL, SOFUL, EigenUCB, Greedy, LinTS, LinUCB
from eigenbandits.environments import Digits, LowRank
from eigenbandits.lab.experiment import Experiment
from eigenbandits.lab.recording import Record
from eigenbandits.lab.robustness.openings import Opening
from eigenbandits.lab.robustness.players import RidgeOFUL, ToldCertified, ToldPSLB

FLAGSHIP, CERTIFIED, TOLD = "EigenUCB", "certified", "PSLB told"
OFUL_PLAIN, OFUL_RIDGE = "OFUL", "OFUL R²d"
ARMS, NOISE = 10, 0.5
BASE, LARGE_MEAN = "d=100 m=4 9×", "large common mean"
TIMES_1000, TIMES_0001 = "actions × 1,000", "actions × 0.001"

COLUMNS = {
    FLAGSHIP: "told nothing, not even the noise",
    CERTIFIED: "EigenUCB(certified=True), told the noise and the norm of θ*",
    TOLD: "the paper's PSLB, told the noise, the true rank and the true projection error",
    OFUL_PLAIN: "log-det radius, λ = 1, S = 1",
    OFUL_RIDGE: "log-det radius, λ = R²d/S², S one over the size of the actions",
    "LinUCB": "one standard deviation, λ = 1",
    "LinTS": "Thompson sampling, λ = 1",
    "SOFUL": "OFUL with a sketch of 20 rows",
    "CBRAP": "a random projection on 20 dimensions",
    "Greedy": "the highest ridge estimate, λ = 1",
}


@dataclass(frozen=True)
class Row:
    """One environment of the table.

    Attributes
    ----------
    label : str
        What it is called.
    environment : LowRank, Digits or Opening
        What is played.
    structure : bool
        Whether the assumption holds that PSLB makes: θ* lies in a subspace of large variance.
    adversarial : bool
        Whether it is made to mislead.
    normal : str
        For a row that only begins differently, the label of the same with an ordinary beginning.
    """

    label: str
    environment: LowRank | Digits | Opening
    structure: bool = True
    adversarial: bool = False
    normal: str = ""


def rows(quick: bool = False) -> list[Row]:
    """Return the rows; a quick table leaves those with d = 500 out.

    Examples
    --------
    >>> len(rows()), len(rows(quick=True))
    (35, 26)
    """
    grid = [
        Row(f"d={d} m={m} {energy:g}×", LowRank(d, m, ARMS, perturbation=energy))
        for d in ((100,) if quick else (100, 500))
        for m in (1, 4, 16)
        for energy in (0.1, 1.0, 9.0)
    ]

    def changed(**settings: Any) -> LowRank:
        return LowRank(**({"dim": 100, "rank": 4, "arms": ARMS} | settings))

    return [
        *grid,
        Row("λ₊/λ₋ = 100", changed(spread=100.0)),
        Row("slow decay, no gap", changed(rank=100, perturbation=0.0, spread=1000.0), structure=False),
        Row("θ* on the weakest", changed(theta="weakest", spread=10.0), adversarial=True),
        Row("θ* half outside", changed(theta="half-outside"), structure=False, adversarial=True),
        Row("θ* wholly outside", changed(theta="outside"), structure=False, adversarial=True),
        Row("no subspace, m = d", changed(rank=100), structure=False, adversarial=True),
        Row(LARGE_MEAN, changed(mean=10.0), adversarial=True),
        Row("near-duplicates", changed(vectors="duplicates"), adversarial=True),
        Row("heavy tails", changed(vectors="heavy"), adversarial=True),
        Row("digits", Digits()),
        Row("digits, ReLU", Digits(relu=True), adversarial=True),
        Row(TIMES_1000, changed(scale=1000.0, theta_norm=0.001)),
        Row(TIMES_0001, changed(scale=0.001, theta_norm=1000.0)),
        Row("first set: two near-duplicates", Opening("pair"), normal=BASE),
        Row("first set: 1/100 of the size", Opening("small"), normal=BASE),
        Row("large mean, first set: one action", Opening("one", mean=10.0), normal=LARGE_MEAN),
        Row("200 equal rewards first", Opening("equal"), structure=False, adversarial=True),
    ]


def columns() -> dict[str, Any]:
    """Return the policies; those that ask are told the noise of the environment, which is 0.5 in all of these."""
    return {
        FLAGSHIP: EigenUCB(),
        CERTIFIED: ToldCertified(noise=NOISE),
        TOLD: ToldPSLB(noise=NOISE),
        OFUL_PLAIN: OFUL(noise=NOISE),
        OFUL_RIDGE: RidgeOFUL(noise=NOISE),
        "LinUCB": LinUCB(),
        "LinTS": LinTS(noise=NOISE, propensity_draws=0),
        "SOFUL": SOFUL(noise=NOISE),
        "CBRAP": CBRAP(noise=NOISE),
        "Greedy": Greedy(),
    }


def experiment(chosen: Sequence[Row], seeds: int, rounds: int, first_seed: int = 0) -> Experiment:
    """Return the experiment whose results the tables, the verdicts and the figure are made from."""
    return Experiment(
        name="robustness",
        policies=columns(),
        environments={row.label: row.environment for row in chosen},
        seeds=range(first_seed, first_seed + seeds),
        rounds=rounds,
        record=Record(points=min(rounds, 300), accuracy=0),
        description="EigenUCB with nothing set where low rank holds, half holds and fails.",
    )
