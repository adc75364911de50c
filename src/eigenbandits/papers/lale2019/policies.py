"""The policies: as the paper ran them, with the intersection, in closed form, and in strong versions."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from eigenbandits.algorithms import OFUL, PSLB, SOFUL, EigenUCB, LinTS, ProjectedThompson
from eigenbandits.algorithms.base import Confident, Parts
from eigenbandits.belief import Ambient
from eigenbandits.inputs import Array
from eigenbandits.lab.errors import unknown
from eigenbandits.linalg import square_norms
from eigenbandits.papers.lale2019.settings import Block, constants, paper_figures, ranks
from eigenbandits.policy import Policy
from eigenbandits.rules import SampledOptimism
from eigenbandits.subspace import Whole

OFUL_PAPER, OFUL_SCALED, OFUL_CLOSED, OFUL_LOGDET = "OFUL", "OFUL scaled", "OFUL closed", "OFUL log-det"
OFUL_TUNED, OFUL_TUNED_SAMPLED = "OFUL λ=R²d", "OFUL λ=R²d, sampled"
EIGEN_PLAIN, LONGEST = "EigenUCB, nothing set", "longest action"
_PREFIX = {
    "paper": "PSLB",
    "intersection": "PSLB∩",
    "scaled": "PSLB scaled",
    "sharp": "PSLB sharp",
    "worst-case": "PSLB worst case",
    "closed": "PSLB closed",
    "uncentred": "PSLB uncentred",
}

GROUPS = {
    "paper": "as in the appendix: sampled optimism, the paper's radii, PSLB's projected set alone",
    "strong": "scaled actions: OFUL log-det with λ = 1 and with λ = R²d, EigenUCB with nothing set, no learning at all",
    "intersection": "as in the appendix with the intersection of both sets instead of the projected one",
    "sharp": "as in the appendix with the sharp radius of this library instead of the paper's",
    "closed": "as in the appendix with optimism in closed form instead of sampling",
    "uncentred": "as in the appendix on actions after a ReLU, without centering",
    "scaled": "as in the appendix with λ = 1 for actions scaled to a root mean square norm of 1",
    "others": "Thompson sampling in the subspace and in the whole space, the sketch, a sampled fitting ridge",
    "worst-case": "as in the appendix with the radius of the main text, which needs no matrix",
}


@dataclass(frozen=True)
class Longest:
    """The longest action, whatever was earned before: what the features reveal by their length alone.

    With `center` "differences" lengths are measured from the mean of the decision set.
    """

    center: str = "none"

    def choose(self, actions: Array) -> SimpleNamespace:
        """Choose the longest."""
        around = actions - actions.mean(axis=0) if self.center == "differences" else actions
        return SimpleNamespace(index=int(square_norms(around).argmax()))

    def learn(self, decision: object, reward: float) -> None:
        """Learn nothing."""


@dataclass(kw_only=True, repr=False, eq=False)
class SampledOFUL(Confident):
    """OFUL as section 5 runs it: many models from the boundary of the ellipsoid, and the most optimistic decides.

    The radius is "paper" for OFUL's own worst case, log(1 + tL²/(dλ)) under a factor d, or "logdet".
    """

    radius: str = "paper"
    samples: int = 1000

    def parts(self) -> Parts:
        """Return the whole space, the ellipsoid and the paper's rule."""
        belief = Ambient(self.noise, self.theta_bound, self.ridge, self.delta, self.radius)
        return Whole(), belief, SampledOptimism(self.samples)


def pslb_label(rank: int, group: str = "paper") -> str:
    """Return the label of PSLB with one m in a group.

    Examples
    --------
    >>> pslb_label(4), pslb_label(4, "intersection")
    ('PSLB m=4', 'PSLB∩ m=4')
    """
    return f"{_PREFIX[group]} m={rank}"


def groups(block: Block) -> list[str]:
    """Return the groups of a block, the most important first; those that only explain run at d = 100."""
    small, relu = block.dim == 100, block.layer == "relu"
    explained = _explained(block)
    wanted = {
        "intersection": not relu and (explained or block.name in _main_blocks()),
        "scaled": not relu,
        "others": not relu and (small or block.name == "mnist-d1000-linear"),
        "sharp": explained,
        "worst-case": explained,
        "closed": explained,
        "uncentred": explained and relu,
    }
    return ["paper", "strong", *(group for group, played in wanted.items() if played)]


def _explained(block: Block) -> bool:
    return block.dim == 100 and block.dataset != "imagenet"


def _main_ranks() -> list[int]:
    """Return the m of figures that show the intersection."""
    return sorted({rank for figure in paper_figures().values() if figure.intersection for rank in figure.ranks})


def _main_blocks() -> set[str]:
    """Return the names of the blocks of figures that show the intersection."""
    return {block.name for figure in paper_figures().values() if figure.intersection for block in figure.chosen(None)}


def line_up(block: Block, group: str, unit: float = 1.0) -> dict[str, Any]:
    """Return the policies of one of `GROUPS` on a block, by label.

    `unit` is the root mean square norm of the network's actions. The environment divides them by it: λ = 1 in the
    network's units is λ = 1/unit² here.
    """
    own = {"ridge": constants()["ridge"] / unit**2}

    def for_each_rank(of: Sequence[int] = (), **changed: Any) -> dict[str, Policy]:
        return {pslb_label(m, group): pslb(m, block, **(own | changed)) for m in of or ranks()}

    match group:
        case "paper":
            return {OFUL_PAPER: oful(block, **own)} | for_each_rank()
        case "scaled":
            return {OFUL_SCALED: oful(block)} | for_each_rank(ridge=constants()["ridge"])
        case "intersection":
            # Explanations run at d = 100; elsewhere the figure of the main text needs its own m only.
            return for_each_rank(ranks() if _explained(block) else _main_ranks(), intersect=True)
        case "closed":
            return {OFUL_CLOSED: OFUL(**(known(block) | own), radius="paper")} | for_each_rank(rule="optimism")
        case "sharp" | "worst-case":
            return for_each_rank(radius=group)
        case "uncentred":
            return for_each_rank(center="none")
        case "strong":
            return _strong(block)
        case "others":
            return _others(block)
        case _:
            raise unknown("group", group, GROUPS)


def oful(block: Block, **changed: Any) -> Policy:
    """Return OFUL with sampled optimism and its worst-case radius; by default λ = 1 for scaled actions."""
    return SampledOFUL(**(known(block) | {"samples": constants()["samples"]} | changed))


def pslb(rank: int, block: Block, **changed: Any) -> Policy:
    """Return PSLB with sampled optimism and the projected set alone; by default λ = 1 for scaled actions."""
    fixed = constants()
    run = {
        "radius": fixed["radius"],
        "projection_error": fixed["projection_error"],
        "ambient_radius": "paper",
        "intersect": False,
        "rule": "sampled",
        "samples": fixed["samples"],
    }
    return PSLB(rank=rank, **(known(block) | run | changed))


def known(block: Block) -> dict[str, Any]:
    """Return R, S, λ, δ and the centering, which all share."""
    fixed = constants()
    return {name: fixed[name] for name in ("noise", "theta_bound", "ridge", "delta")} | {"center": block.center}


def fitted_oful(dim: int, center: str = "none", seed: int | None = None) -> OFUL:
    """Return OFUL with λ = R²d, the ridge of a Gaussian prior that gives each coordinate of θ* the variance 1/d.

    A file of an experiment has one λ for all of its environments; this has the one that suits each of them.

    Examples
    --------
    >>> fitted_oful(dim=1000).ridge  # ½² · 1000
    250.0
    """
    noise = constants()["noise"]
    return OFUL(noise=noise, ridge=float(noise**2 * dim), center=center, seed=seed)


def _strong(block: Block) -> dict[str, Any]:
    return {
        OFUL_LOGDET: OFUL(**known(block)),
        OFUL_TUNED: OFUL(**(known(block) | {"ridge": fitted_oful(block.dim).ridge})),
        EIGEN_PLAIN: EigenUCB(),
        LONGEST: Longest(block.center),
    }


def _others(block: Block) -> dict[str, Any]:
    noise, center = constants()["noise"], block.center
    return {
        OFUL_TUNED_SAMPLED: oful(block, ridge=fitted_oful(block.dim).ridge),
        "ProjectedThompson": ProjectedThompson(noise=noise, center=center),
        "LinTS": LinTS(noise=noise, samples=1, center=center),
        "SOFUL": SOFUL(noise=noise, center=center),
    }
