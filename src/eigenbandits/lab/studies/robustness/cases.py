"""The cases of the study: environments in rows, policies in columns."""

from dataclasses import dataclass
from typing import Any

from eigenbandits.algorithms import CBRAP, OFUL, SOFUL, EigenUCB, Greedy, LinTS, LinUCB
from eigenbandits.environments import Digits, LowRank
from eigenbandits.lab.studies.baselines import InformedCertified, InformedPSLB, RidgeOFUL
from eigenbandits.lab.studies.robustness.starts import AlteredStart, FixedSet

FLAGSHIP, CERTIFIED, INFORMED = "EigenUCB", "certified", "PSLB, informed"
OFUL_PLAIN, OFUL_RIDGE = "OFUL", "OFUL R²d"
ARMS, NOISE = 10, 0.5
BASE, LARGE_MEAN = "d=100 m=4 9×", "large common mean"
TIMES_1000, TIMES_0001 = "actions × 1,000", "actions × 0.001"

COLUMNS = {
    FLAGSHIP: "nothing set, not even the noise",
    CERTIFIED: "EigenUCB(certified=True) with the true noise and norm of θ*",
    INFORMED: "the paper's PSLB with the true noise, rank and projection error",
    OFUL_PLAIN: "log-det radius, λ = 1, S = 1",
    OFUL_RIDGE: "log-det radius, λ = R²d/S², S one over the size of the actions",
    "LinUCB": "one standard deviation, λ = 1",
    "LinTS": "Thompson sampling, λ = 1",
    "SOFUL": "OFUL with a sketch of 20 rows",
    "CBRAP": "a random projection on 20 dimensions",
    "Greedy": "the highest ridge estimate, λ = 1",
}


@dataclass(frozen=True)
class Case:
    """One environment of the table.

    `structure` says whether PSLB's assumption holds, that θ* lies in a subspace of large variance, and `adversarial`
    whether the case is built to mislead. `normal` is, for a case that differs only in its start, the label of the same
    case with an ordinary start.
    """

    label: str
    environment: LowRank | Digits | AlteredStart | FixedSet
    structure: bool = True
    adversarial: bool = False
    normal: str = ""


def cases(quick: bool = False) -> list[Case]:
    """Return the cases; `quick` skips those with d = 500.

    Examples
    --------
    >>> len(cases()), len(cases(quick=True))
    (37, 28)
    """
    grid = [
        Case(f"d={d} m={m} {energy:g}×", LowRank(d, m, ARMS, perturbation=energy))
        for d in ((100,) if quick else (100, 500))
        for m in (1, 4, 16)
        for energy in (0.1, 1.0, 9.0)
    ]

    def changed(**settings: Any) -> LowRank:
        return LowRank(**({"dim": 100, "rank": 4, "arms": ARMS} | settings))

    return [
        *grid,
        Case("λ₊/λ₋ = 100", changed(spread=100.0)),
        Case("slow decay, no gap", changed(rank=100, perturbation=0.0, spread=1000.0), structure=False),
        Case("θ* on the weakest", changed(theta="weakest", spread=10.0), adversarial=True),
        Case("θ* half outside", changed(theta="half-outside"), structure=False, adversarial=True),
        Case("θ* wholly outside", changed(theta="outside"), structure=False, adversarial=True),
        Case("no subspace, m = d", changed(rank=100), structure=False, adversarial=True),
        Case(LARGE_MEAN, changed(mean=10.0), adversarial=True),
        Case("near-duplicates", changed(vectors="duplicates"), adversarial=True),
        Case("heavy tails", changed(vectors="heavy"), adversarial=True),
        Case("50 fixed actions", FixedSet(), adversarial=True),
        Case("20 unrelated actions", FixedSet(20, 20, 20, unrelated=True), structure=False, adversarial=True),
        Case("digits", Digits()),
        Case("digits, ReLU", Digits(relu=True), adversarial=True),
        Case(TIMES_1000, changed(scale=1000.0, theta_norm=0.001)),
        Case(TIMES_0001, changed(scale=0.001, theta_norm=1000.0)),
        Case("first set: two near-duplicates", AlteredStart("pair"), normal=BASE),
        Case("first set: 1/100 of the size", AlteredStart("small"), normal=BASE),
        Case("large mean, first set: one action", AlteredStart("one", mean=10.0), normal=LARGE_MEAN),
        Case("200 equal rewards first", AlteredStart("equal"), structure=False, adversarial=True),
    ]


def policies() -> dict[str, Any]:
    """Return the policies; those that require a noise get that of the environments, 0.5 in all of them."""
    return {
        FLAGSHIP: EigenUCB(),
        CERTIFIED: InformedCertified(noise=NOISE),
        INFORMED: InformedPSLB(noise=NOISE),
        OFUL_PLAIN: OFUL(noise=NOISE),
        OFUL_RIDGE: RidgeOFUL(noise=NOISE),
        "LinUCB": LinUCB(),
        "LinTS": LinTS(noise=NOISE, samples=1),
        "SOFUL": SOFUL(noise=NOISE),
        "CBRAP": CBRAP(noise=NOISE),
        "Greedy": Greedy(),
    }
