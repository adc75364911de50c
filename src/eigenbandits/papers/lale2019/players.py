"""The policies: as the paper ran them, with the intersection, in closed form, and the strong versions beside them."""

from __future__ import annotations

from typing import Any

from eigenbandits.algorithms import OFUL, PSLB, SOFUL, LinTS, ProjectedThompson
from eigenbandits.belief import Ambient
from eigenbandits.lab.words import unknown
from eigenbandits.papers.lale2019.settings import Block, constants, ranks
from eigenbandits.policy import Policy
from eigenbandits.rules import SampledOptimism
from eigenbandits.subspace import Whole

OFUL_PAPER, OFUL_LOGDET, OFUL_TUNED, OFUL_TUNED_SAMPLED = "OFUL", "OFUL log-det", "OFUL λ=R²d", "OFUL λ=R²d, sampled"
PSLB_PLAIN, PSLB_SOFT = "PSLB, nothing set", "PSLB, soft"

GROUPS = {
    "paper": "as in the appendix: sampled optimism, the paper's radii, PSLB's projected set alone",
    "intersection": "as in the main text: sampled optimism over the intersection of both sets",
    "closed": "the same radii with optimism in closed form",
    "strong": "OFUL with its log-det radius, with and without a ridge that fits; PSLB with nothing set; and others",
    "uncentred": "as in the appendix on actions behind a ReLU, with nothing taken off",
}


class SampledOFUL(Policy):
    """OFUL as section 5 runs it: many models from the boundary of the ellipsoid, and the most optimistic decides.

    Parameters
    ----------
    noise, theta_bound, ridge, delta, center, seed
        As for `OFUL`.
    radius
        "paper" for OFUL's own worst case, log(1 + tL²/(dλ)) under a factor d; "logdet".
    samples
        Models drawn in each round.
    """

    def __init__(
        self,
        *,
        noise: float,
        theta_bound: float = 1.0,
        ridge: float = 1.0,
        delta: float = 0.01,
        radius: str = "paper",
        samples: int = 1000,
        center: str = "none",
        seed: int | None = None,
    ) -> None:
        self.noise = noise
        self.theta_bound = theta_bound
        self.ridge = ridge
        self.delta = delta
        self.radius = radius
        self.samples = samples
        self.center = center
        self.seed = seed
        self._compose(Whole(center), Ambient(noise, theta_bound, ridge, delta, radius), SampledOptimism(samples), seed)


def pslb_label(rank: int, group: str = "paper") -> str:
    """Return what PSLB with one m is called in a group.

    Examples
    --------
    >>> pslb_label(4), pslb_label(4, "intersection")
    ('PSLB m=4', 'PSLB∩ m=4')
    """
    words = {"paper": "PSLB", "intersection": "PSLB∩", "closed": "PSLB closed", "uncentred": "PSLB uncentred"}
    return f"{words[group]} m={rank}"


def groups(block: Block) -> list[str]:
    """Return the groups that play on a block; what only explains the others is left to d = 100."""
    found = ["paper", "intersection", "strong"]
    if block.dim == 100:
        found.append("closed")
    if block.layer == "relu":
        found.append("uncentred")
    return found


def line_up(block: Block, group: str) -> dict[str, Policy]:
    """Return the policies of one group on a block, by label."""
    match group:
        case "paper":
            return {OFUL_PAPER: oful(block)} | {pslb_label(m): pslb(m, block) for m in ranks()}
        case "intersection":
            chosen = ranks() if block.dim == 100 else [1]
            return {pslb_label(m, group): pslb(m, block, intersect=True) for m in chosen}
        case "closed":
            closed = {pslb_label(m, group): pslb(m, block, rule="optimism") for m in ranks()}
            return {"OFUL closed": OFUL(**known(block), radius="paper"), **closed}
        case "uncentred":
            return {pslb_label(m, group): pslb(m, block, center="none") for m in ranks()}
        case "strong":
            return _strong(block)
        case _:
            raise unknown("group", group, GROUPS)


def oful(block: Block, **changed: Any) -> Policy:
    """Return OFUL as the paper ran it."""
    return SampledOFUL(**(known(block) | {"samples": constants()["samples"]} | changed))


def pslb(rank: int, block: Block, **changed: Any) -> Policy:
    """Return PSLB as the paper ran it; the projected set alone, as in the appendix, unless told."""
    fixed = constants()
    run = {
        "outside": "cut",
        "radius": fixed["radius"],
        "projection_error": fixed["projection_error"],
        "ambient_radius": "paper",
        "intersect": False,
        "rule": "sampled",
        "samples": fixed["samples"],
    }
    return PSLB(rank=rank, **(known(block) | run | changed))


def known(block: Block) -> dict[str, Any]:
    """Return R, S, λ, δ and the centring, which all share."""
    fixed = constants()
    return {name: fixed[name] for name in ("noise", "theta_bound", "ridge", "delta")} | {"center": block.center}


def _strong(block: Block) -> dict[str, Policy]:
    fixed = constants()
    noise, center = fixed["noise"], block.center
    # What a Gaussian prior asks for that gives each of the d coordinates of θ* the variance S²/d, for S = 1.
    fitting = noise**2 * block.dim
    return {
        OFUL_LOGDET: OFUL(**known(block)),
        OFUL_TUNED: OFUL(**(known(block) | {"ridge": fitting})),
        OFUL_TUNED_SAMPLED: oful(block, ridge=fitting),
        PSLB_PLAIN: PSLB(noise=noise),
        PSLB_SOFT: PSLB(noise=noise, outside=fixed["soft_power"]),
        "ProjectedThompson": ProjectedThompson(noise=noise, center=center),
        "LinTS": LinTS(noise=noise, propensity_draws=0, center=center),
        "SOFUL": SOFUL(noise=noise, center=center),
    }
