"""Every public policy, and the variants of it that behave differently, as cases for the generic checks."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import eigenbandits as eb
from eigenbandits.testing.play import truth

Options = dict[str, Any]
NOISE = 0.1


def discovered() -> list[type[eb.Policy]]:
    """Return the policies that `eigenbandits` exports."""
    exported = (getattr(eb, name) for name in eb.__all__)
    return [thing for thing in exported if inspect.isclass(thing) and issubclass(thing, eb.Policy)]


def _parts(dim: int) -> Options:
    basis = np.linalg.qr(np.vander(np.linspace(-1.0, 1.0, dim), min(2, dim)))[0]
    return {
        "subspace": eb.subspace.Known(basis, projection_error=0.2),
        "belief": eb.belief.Both(eb.belief.Projected(NOISE), eb.belief.Ambient(NOISE)),
        "rule": eb.rules.Optimism(),
    }


# What a constructor cannot do without, or should not be left to choose for small problems. A policy that is not
# listed is made with no arguments.
NEEDS: dict[type[eb.Policy], Callable[[int], Options]] = {
    eb.Policy: _parts,
    eb.Budgeted: lambda dim: {"policy": eb.EigenUCB(center="none", seed=0), "budget": 1.0},
    eb.CBRAP: lambda dim: {"noise": NOISE, "rank": min(3, dim)},
    eb.CBSCFD: lambda dim: {"noise": NOISE, "size": 3},
    eb.Guarded: lambda dim: {
        **{"policy": eb.EigenUCB(center="none", seed=0), "baseline": 0, "alpha": 0.5},
        **{"noise": NOISE, "theta_bound": 1.0},
    },
    eb.LinTS: lambda dim: {"noise": NOISE},
    eb.OFUL: lambda dim: {"noise": NOISE},
    eb.Oracle: lambda dim: {"theta": truth(dim)},
    eb.PSLB: lambda dim: {"noise": NOISE},
    eb.ProjectedThompson: lambda dim: {"noise": NOISE},
    eb.SOFUL: lambda dim: {"noise": NOISE, "size": 3},
}

SLIM = {"subspace": "streaming", "intersect": False}
STRUCTURE = eb.Structure(lambda_plus=1.0, lambda_minus=1.0, sigma2=1e-4, d_x=3.0, d_psi=6.0)

VARIANTS: list[tuple[type[eb.Policy], str, Options]] = [
    (eb.EigenUCB, "none", {"center": "none"}),
    (eb.EigenUCB, "set", {"center": "set"}),
    (eb.EigenUCB, "differences", {"center": "differences"}),
    (eb.EigenUCB, "noise", {"noise": NOISE}),
    (eb.EigenUCB, "prior", {"prior": 1.0}),
    (eb.EigenUCB, "prior-auto", {"prior": 1.0, "memory": "auto"}),
    (eb.EigenUCB, "prior-set", {"prior": 1.0, "center": "set"}),
    (eb.EigenUCB, "prior-differences", {"prior": 1.0, "center": "differences", "dtype": "float32"}),
    (eb.EigenTS, "prior", {"prior": 1.0}),
    (eb.EigenUCB, "float32", {"dtype": "float32"}),
    (eb.EigenUCB, "memory", {"memory": 16.0}),
    (eb.EigenUCB, "auto", {"memory": "auto"}),
    (eb.OFUL, "memory", {"memory": 16.0}),
    (eb.EigenUCB, "randomized", {"rule": "randomized", "floor": 0.05}),
    (eb.EigenUCB, "certified", {"certified": True, "noise": NOISE, "theta_bound": 1.0, "center": "none"}),
    (eb.Budgeted, "ceiling", {"ceiling": 2.0, "horizon": 8}),
    (eb.Guarded, "shadow", {"shadow": True}),
    (eb.Guarded, "value", {"value": 0.5}),
    (eb.PSLB, "rank", {"rank": 2}),
    (eb.PSLB, "exact", {"rank": 2, "rule": "exact"}),
    (eb.PSLB, "exact-set", {"rank": 2, "rule": "exact", "center": "set"}),
    (eb.PSLB, "randomized", {"rank": 2, "rule": "randomized"}),
    (eb.PSLB, "sampled", {"rank": 2, "rule": "sampled", "samples": 30}),
    (eb.PSLB, "sampled-projected", {"rank": 2, "rule": "sampled", "samples": 30, "intersect": False}),
    (eb.PSLB, "general", {"rank": 2, "radius": "general"}),
    (eb.PSLB, "worst-case", {"rank": 2, "radius": "worst-case"}),
    (eb.PSLB, "multiplier", {"rank": 2, "radius": 0.5, "ambient_radius": 0.5}),
    (eb.PSLB, "ambient-paper", {"rank": 2, "ambient_radius": "paper"}),
    (eb.PSLB, "mean", {"rank": 2, "center": "mean"}),
    (eb.PSLB, "set", {"rank": 2, "center": "set"}),
    (eb.PSLB, "auto-mean", {"center": "mean"}),
    (eb.PSLB, "auto-set", {"center": "set"}),
    (eb.PSLB, "differences", {"rank": 2, "center": "differences"}),
    (eb.PSLB, "auto-differences", {"center": "differences"}),
    (eb.PSLB, "streaming-both", {"subspace": "streaming"}),
    (eb.PSLB, "streaming", SLIM),
    (eb.PSLB, "streaming-set", SLIM | {"center": "set", "rank": 2}),
    (eb.PSLB, "streaming-differences", SLIM | {"center": "differences", "rank": 2}),
    (eb.PSLB, "float32-differences", {"dtype": "float32", "center": "differences"}),
    (eb.PSLB, "float32", {"dtype": "float32"}),
    (eb.PSLB, "float32-cut", {"dtype": "float32", "rank": 2, "center": "mean"}),
    (eb.PSLB, "projected", {"rank": 2, "intersect": False}),
    (eb.PSLB, "projected-set", {"rank": 2, "intersect": False, "center": "set"}),
    (eb.PSLB, "every-round", {"rank": 2, "refresh": "every-round"}),
    (eb.PSLB, "error-number", {"rank": 2, "projection_error": 0.05}),
    (eb.PSLB, "error-zero", {"rank": 2, "projection_error": 0.0, "intersect": False}),
    (eb.PSLB, "error-theorem", {"rank": 2, "projection_error": "theorem", "structure": STRUCTURE}),
    (eb.PSLB, "error-main-text", {"rank": 2, "projection_error": "theorem-main", "structure": STRUCTURE}),
    (eb.PSLB, "anytime", {"rank": 2, "anytime": True}),
    (eb.ProjectedThompson, "set", {"rank": 2, "center": "set"}),
    (eb.OFUL, "paper", {"radius": "paper"}),
    (eb.OFUL, "mixture", {"radius": "mixture"}),
    (eb.OFUL, "mean", {"center": "mean"}),
    (eb.OFUL, "set", {"center": "set"}),
    (eb.OFUL, "differences", {"center": "differences"}),
    (eb.OFUL, "float32", {"dtype": "float32"}),
    (eb.LinTS, "mean", {"center": "mean"}),
    (eb.CBRAP, "set", {"center": "set"}),
    (eb.SOFUL, "paper", {"radius": "paper"}),
    (eb.SOFUL, "set", {"center": "set"}),
    (eb.CBSCFD, "multiplier", {"radius": 0.5}),
]


@dataclass(frozen=True)
class Case:
    """One policy of the checks: a class and the options that make it the variant it is."""

    kind: type[eb.Policy]
    variant: str = ""
    options: Options = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.kind.__name__}-{self.variant}" if self.variant else self.kind.__name__

    @property
    def center(self) -> str:
        default = inspect.signature(self.kind.__init__).parameters.get("center")
        return str(self.options.get("center", "none" if default is None else default.default))

    @property
    def by_set(self) -> bool:
        return self.center in ("set", "differences")

    @property
    def sketched(self) -> bool:
        return self.kind in (eb.SOFUL, eb.CBSCFD)

    @property
    def single(self) -> bool:
        """Whether decision sets are read in single precision, so that seven digits are all there is."""
        return self.options.get("dtype") == "float32"

    @property
    def forgets(self) -> bool:
        """Whether rewards fade, so that replicas cannot be merged."""
        return self.options.get("memory") is not None

    @property
    def follows_a_draw(self) -> bool:
        """Whether every choice is the favorite of a model that was drawn."""
        return self.kind in (eb.LinTS, eb.EigenTS, eb.ProjectedThompson) and not self.options.get("floor")

    @property
    def left_to_chance(self) -> bool:
        """Whether some choices follow no model at all."""
        return self.kind in (eb.Random, eb.EpsilonGreedy, eb.SquareCB) or bool(self.options.get("floor"))

    def takes(self, option: str) -> bool:
        return option in inspect.signature(self.kind.__init__).parameters

    def read(self, actions: np.ndarray) -> np.ndarray:
        """Return actions as the policy reads them."""
        return actions.astype(np.float32) if self.single else actions

    def make(self, dim: int = 6, seed: int = 0, **more: Any) -> eb.Policy:
        """Return a fresh policy for actions of length `dim`; `more` options are left out where it has none such."""
        options = NEEDS.get(self.kind, lambda _: {})(dim) | self.options
        options |= {name: value for name, value in more.items() if self.takes(name)}
        if options.get("rank", "auto") not in ("auto", None):
            options["rank"] = min(options["rank"], dim)
        if self.takes("seed"):
            options["seed"] = seed
        return self.kind(**options)

    def skips(self, check: str) -> str:
        """Return why a check of `eigenbandits.testing` does not apply, or nothing."""
        if "lists" in check and self.kind in (eb.Budgeted, eb.Guarded):
            return "a policy with a guard or a budget chooses no lists"
        if check == "order_does_not_matter" and self.forgets:
            return "the latest reward weighs most: two orders are two beliefs"
        return ""

    def make_for(self, check: str, dim: int, seed: int) -> eb.Policy:
        """Return a fresh policy for a check of `eigenbandits.testing`."""
        # A sketch that holds everything: only then does what it forgets not depend on the order.
        exact = self.sketched and check in ("order_does_not_matter", "many_is_one_by_one", "many_lists_are_one_by_one")
        return self.make(dim, seed, **({"size": 8} if exact else {}))


CASES = [Case(kind) for kind in discovered()] + [Case(*variant) for variant in VARIANTS]
