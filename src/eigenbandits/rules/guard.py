"""A guard for another rule: its choice is followed only if that provably keeps enough of the baseline's reward."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits import inputs, merging
from eigenbandits.belief.ambient import Ambient
from eigenbandits.belief.base import View
from eigenbandits.inputs import Array
from eigenbandits.merging import Replica
from eigenbandits.rules.base import Choice, Rule, parts_of


class Guard(Rule):
    """Follow another rule while the account stays nonnegative for every θ in a confidence set; else, the baseline.

    The account is Σ_s (x_s − (1 − α)b_s)ᵀθ* over all rounds so far, with x_s the action chosen and b_s the baseline's:
    the expected reward so far, minus a share 1 − α of what the baseline would have earned. An action x is safe if the
    account can afford it, that is, if the minimum over the set of (D + x − (1 − α)b)ᵀθ is at least 0, with D the sum so
    far (Kazerouni et al. 2017, with the baseline's rewards unknown). If the baseline's expected reward v is known, it
    replaces bᵀθ.

    Parameters
    ----------
    rule
        The rule to guard.
    proved
        The confidence set, which its owner updates with rewards.
    alpha
        α in [0, 1].
    value
        v, or None.
    shadow
        Always choose what the baseline chooses.

    References
    ----------
    Kazerouni, Ghavamzadeh, Abbasi-Yadkori, Van Roy. Conservative Contextual Linear Bandits. NeurIPS 2017.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("rule", "account", "known", "lead", "kept", "agreed")

    def __init__(self, rule: Rule, proved: Ambient, alpha: float, value: float | None, shadow: bool) -> None:
        self.rule = rule
        self.proved = proved
        self.alpha = inputs.share(alpha, "alpha")
        self.value = None if value is None else inputs.size(value, "value", zero=True)
        self.shadow = shadow
        self.needs = rule.needs
        # D, the part of the account that is a known number, and Σ (x − b) over the actions that the rule preferred.
        self.account: Array = np.zeros(0)
        self.known = 0.0
        self.lead: Array = np.zeros(0)
        # Rounds in which the baseline overruled the rule, and rounds in which the rule agreed with it.
        self.kept = 0
        self.agreed = 0
        # The next decision sets to choose from, and the baseline's row in each; set by `Guarded`.
        self.ahead: list[tuple[Array, int]] = []

    def start(self, dim: int) -> None:
        """Set up the set and the account for vectors of length `dim`."""
        self.proved.start(dim)
        self.account, self.lead = np.zeros(dim), np.zeros(dim)

    def choose(self, view: View, size: int, rng: np.random.Generator) -> Choice:
        """Choose as the rule does if that is safe, otherwise as the baseline does."""
        return self._guard(self.rule.choose(view, size, rng), view, size)

    def choose_many(self, view: View, sizes: list[int], rng: np.random.Generator) -> list[Choice]:
        """Let the rule choose in all parts at once, then guard the choices one by one."""
        chosen = zip(self.rule.choose_many(view, sizes, rng), parts_of(view, sizes), sizes, strict=True)
        return [self._guard(choice, part, size) for choice, part, size in chosen]

    def _guard(self, choice: Choice, view: View, size: int) -> Choice:
        actions, baseline = self.ahead.pop(0)
        preferred = choice.index
        if choice.chances is None:
            safe = preferred == baseline or self.safe(actions[[preferred]], actions[baseline])[0]
        else:
            likely = choice.chances > 0.0
            likely[baseline] = False
            unsafe = np.zeros(size, dtype=bool)
            unsafe[likely] = ~self.safe(actions[likely], actions[baseline])
            chances = np.where(unsafe, 0.0, choice.chances)
            if unsafe.any():
                chances[baseline] = 0.0
                chances[baseline] = max(1.0 - float(chances.sum()), 0.0)
            choice.chances = chances
            safe = not unsafe[preferred]
        if not safe:
            choice = Choice(baseline, view.estimate(baseline), view.believer(), view.finding(baseline), choice.chances)
        self._record(actions, baseline, preferred, choice.index)
        return choice

    def safe(self, actions: Array, baseline: Array) -> NDArray[np.bool_]:
        """Return which of these actions (n, d), other than the baseline's, the account can afford."""
        if self.shadow:
            return np.zeros(len(actions), dtype=bool)
        share = 1.0 - self.alpha
        if self.value is None:
            sums, known = self.account + actions - share * baseline, 0.0
        else:
            sums, known = self.account + actions, self.known - share * self.value
        return np.asarray(self.proved.view(sums).lowers() + known >= 0.0)

    def _record(self, actions: Array, baseline: int, preferred: int, chosen: int) -> None:
        # New arrays, since `state` does not copy.
        share = 1.0 - self.alpha
        row = actions[baseline]
        self.lead = self.lead + actions[preferred] - row
        if self.value is None:
            self.account = self.account + actions[chosen] - share * row
        elif chosen == baseline:
            self.known += self.alpha * self.value
        else:
            self.account = self.account + actions[chosen]
            self.known -= share * self.value
        self.kept += chosen != preferred
        self.agreed += preferred == baseline

    def merge(self, replicas: Sequence[Replica[Any]]) -> None:
        """Add up the accounts, and the sums behind the confidence sets."""
        merging.refuse_unknown(self.rule)
        self.rule.merge([replica.inside(replica.part.rule) for replica in replicas])
        # The account is in terms of vectors as given, regardless of what is subtracted for the belief.
        used = [Replica(replica.part, replica.weight) for replica in replicas if len(replica.part.account)]
        if not len(self.account):
            self.start(len(used[0].part.account))
        for name in ("account", "known", "lead"):
            setattr(self, name, merging.total(used, name))
        self.kept, self.agreed = merging.count(used, "kept"), merging.count(used, "agreed")
        self.proved.merge([replica.inside(replica.part.proved) for replica in used], None)

    def reserve(self) -> float:
        """Return the minimum of the account over the set."""
        return float(self.proved.view(self.account[None]).lowers()[0]) + self.known

    def gain(self) -> tuple[float, float]:
        """Return bounds on how much more than the baseline the rule would have earned if followed in every round."""
        view = self.proved.view(self.lead[None])
        return float(view.lowers()[0]), float(view.uppers()[0])
