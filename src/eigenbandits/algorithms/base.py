"""Algorithm: a policy declared by its fields and by the parts built from them."""

import inspect
from dataclasses import InitVar, dataclass, fields
from typing import Any

from eigenbandits import inputs
from eigenbandits.belief import Belief
from eigenbandits.policy import Policy
from eigenbandits.rules import Optimism, RandomizedOptimism, Rule
from eigenbandits.rules.floor import floored
from eigenbandits.subspace import Subspace

Parts = tuple[Subspace, Belief, Rule]


@dataclass(kw_only=True, repr=False, eq=False)
class Algorithm(Policy):
    """Base of the named algorithms: a dataclass whose fields are its keyword arguments, and `parts`.

    An argument that names a part by a word, such as ``rule="optimism"``, is an `InitVar`: ``self.words["rule"]`` is the
    word, and ``self.rule`` the part.

    Parameters
    ----------
    seed
        Seed of the policy's own randomness.
    """

    seed: int | None = None

    def __post_init__(self, *words: str) -> None:
        """Compose the policy from its parts."""
        kept = {field.name for field in fields(self)}
        # The class whose constructor the dataclass decorator wrote; a subclass may define its own.
        declared = next(kind for kind in type(self).__mro__ if "__dataclass_fields__" in vars(kind))
        names = (name for name in inspect.signature(declared).parameters if name not in kept)
        self.words = dict(zip(names, words, strict=True))
        self._compose(*self.parts(), center=self.center, seed=self.seed, dtype=self.dtype, prior=self.prior)

    def parts(self) -> Parts:
        """Return the subspace, the belief and the rule, newly built from the fields."""
        raise NotImplementedError

    def params(self) -> dict[str, Any]:
        """Return the arguments: the required ones, then the algorithm's own, then those shared with other algorithms.

        A part that was given by a word is returned as that word.
        """
        arguments = inspect.signature(type(self)).parameters
        declared = dict.fromkeys(name for kind in type(self).__mro__ for name in inspect.get_annotations(kind))
        order = list(declared | dict.fromkeys(arguments))
        names = sorted(arguments, key=order.index)
        names.sort(key=lambda name: arguments[name].default is not inspect.Parameter.empty)
        return {name: self.words[name] if name in self.words else getattr(self, name) for name in names}


@dataclass(kw_only=True, repr=False, eq=False)
class Centered(Algorithm):
    """Base of algorithms that can center the actions.

    Parameters
    ----------
    center
        What is subtracted from the actions: "none", "mean", "set" or "differences"; see `policy.centering.Centering`.
    """

    center: str = "none"


@dataclass(kw_only=True, repr=False, eq=False)
class Confident(Centered):
    """Base of algorithms that keep a confidence set with a proven radius.

    Parameters
    ----------
    noise, theta_bound, ridge, delta
        R, S, λ and δ; see `PSLB`.
    """

    noise: float
    theta_bound: float = 1.0
    ridge: float = 1.0
    delta: float = 0.01


@dataclass(kw_only=True, repr=False, eq=False)
class Floored(Algorithm):
    """Base of algorithms that can give every action a minimum probability.

    Parameters
    ----------
    floor
        ε: with this probability, an action drawn uniformly; see `rules.Floor`.
    """

    floor: float = 0.0


@dataclass(kw_only=True, repr=False, eq=False)
class Optimistic(Floored):
    """Base of algorithms that choose by a form of optimism.

    Parameters
    ----------
    rule
        "optimism" or "randomized"; see `EigenUCB`.
    """

    rule: InitVar[str] = "optimism"

    def forms(self) -> dict[str, Rule]:
        """Return the available forms of optimism, by name."""
        return {"optimism": Optimism(), "randomized": RandomizedOptimism()}

    def optimism(self) -> Rule:
        """Return the selected form, with the floor."""
        forms = self.forms()
        return floored(forms[inputs.one_of(self.words["rule"], "rule", tuple(forms))], self.floor)
