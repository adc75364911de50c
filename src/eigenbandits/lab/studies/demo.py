"""The demo: EigenUCB with nothing set against the paper's PSLB and strong baselines, on images and on the model."""

from collections.abc import Mapping, Sequence
from typing import Any

from eigenbandits.lab.experiments import Experiment, Record
from eigenbandits.lab.studies.compare import RIDGE_OFUL, MeasuredDigits, MeasuredLowRank

ROUNDS = 2000
SEEDS = 6
FIRST_SEED = 1000
MODEL = MeasuredLowRank(dim=100, rank=4, arms=10, perturbation=9.0, noise=0.5)
IMAGES = MeasuredDigits()
ENVIRONMENTS = {"digits": IMAGES, "model": MODEL}
TITLES = {"digits": "handwritten digits: mistakes", "model": "the paper's random model: reward lost"}
FLAGSHIP, PAPER, TUNED = "EigenUCB", "PSLB, rank known", "OFUL, tuned"
POLICIES: Mapping[str, Mapping[str, Any]] = {
    FLAGSHIP: {},
    PAPER: {"kind": "PSLB", "noise": "$noise", "rank": "$rank"},
    "OFUL": {"noise": "$noise"},
    TUNED: {"kind": RIDGE_OFUL, "noise": "$noise"},
    "LinUCB": {},
    "LinTS": {"noise": "$noise", "samples": 1},
}
COLUMNS = (
    "EigenUCB: nothing set, not even the noise. PSLB: the paper's algorithm with the true noise and rank.\n"
    "OFUL: the usual ridge, λ = 1; tuned: λ = R²d, from the noise R and the vectors' size. LinUCB: multiplier 1.\n"
    "regret: expected reward lost to the best choices (on images: mistakes), lower is better; ± s.e.: standard error.\n"
    "share of best: reward earned out of the best possible; random choices earn 0 % (on images: 10 %).\n"
    "time per round: to choose and to learn, on this machine; passes: the same as a multiple of one pass\n"
    "`actions @ theta` over the vectors, which no policy can do without, measured in the same run."
)


def experiment(rounds: int = ROUNDS, seeds: int = SEEDS, *, images: bool = True) -> Experiment:
    """Return the demo's experiment; `images` needs scikit-learn."""
    environments = {name: made for name, made in ENVIRONMENTS.items() if images or made is not IMAGES}
    return Experiment(
        name="demo",
        policies=POLICIES,
        environments=environments,
        seeds=range(FIRST_SEED, FIRST_SEED + seeds),
        rounds=rounds,
        record=Record(accuracy=0),
        description="EigenUCB with nothing set compared with the paper's PSLB and strong baselines.",
    )


def images_setting(rounds: int, seeds: int) -> str:
    """Describe the problem on images."""
    return (
        f"In each of {rounds:,} rounds a policy sees a handwritten digit as ten vectors of 100 numbers from a small "
        "neural network,\none vector for each digit it might be. It picks one, and earns 1 if the network would have "
        f"picked it too.\nEvery policy sees the same images, in {seeds} orders."
    )


def images_meaning(rows: Sequence[Mapping[str, Any]]) -> str:
    """Explain in a few sentences the rows of `compare.rows` on images, whichever policy won."""
    mistakes = {row["policy"]: row["regret"] for row in rows}
    return (
        f"EigenUCB, with nothing set, made {mistakes[FLAGSHIP]:.1f} mistakes; the paper's PSLB, which knows that one "
        f"dimension of the hundred is enough, {mistakes[PAPER]:.1f};\nOFUL, which explores all hundred, "
        f"{mistakes['OFUL']:.1f}, and {mistakes[TUNED]:.1f} once its ridge is tuned. The network was trained to "
        "distinguish digits,\nand that is the direction in which its vectors differ most."
    )


def setting(rounds: int, seeds: int) -> str:
    """Describe the problem on the model."""
    return (
        f"In each of {rounds:,} rounds a policy chooses one of {MODEL.arms} vectors of {MODEL.dim} numbers and sees a "
        f"noisy reward.\nThe reward depends on {MODEL.rank} hidden directions only; {MODEL.perturbation:g} parts in "
        f"{MODEL.perturbation + 1:g} of each vector are noise. Only PSLB knows how many.\n"
        f"Every policy sees the same {seeds} problems."
    )


def meaning(rows: Sequence[Mapping[str, Any]]) -> str:
    """Explain in one sentence the rows of `compare.rows` on the model, whichever policy won."""
    regret = {row["policy"]: row["regret"] for row in rows}
    own = next(row for row in rows if row["policy"] == FLAGSHIP)
    rival = min((name for name in regret if name not in (FLAGSHIP, PAPER)), key=lambda name: float(regret[name]))
    found = f"{own['rank']:.0f} of {MODEL.dim} dimensions"
    if own["regret"] < regret[rival]:
        times = regret[rival] / max(own["regret"], 1e-12)
        return (
            f"{rival}, the best policy that looks for no subspace, lost {times:.1f} times as much as EigenUCB,\n"
            f"which found from all the vectors it saw, chosen or not, that {found} stand out.\n"
            "The rewards confirmed that they matter."
        )
    return (
        f"{rival} lost least here; EigenUCB has found so far that {found} stand out, and it needs more rounds to "
        "benefit from them."
    )
