"""Guarded: a policy that never risks more than a given share of a baseline's reward."""

import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits import inputs
from eigenbandits.belief.certified.whole_set import WholeSet
from eigenbandits.inputs import Array
from eigenbandits.policy import Decision, Diagnostics, Policy
from eigenbandits.policy.lists import ListDecision, flat
from eigenbandits.rules.guard import Guard

Baseline = int | Callable[[Array], int] | Policy | ArrayLike


class Guarded(Policy):
    """A policy that never falls more than a share α below a baseline's cumulative expected reward.

    With probability at least 1 − δ, at every round t, Σ_{s≤t} E[reward] ≥ (1 − α) Σ_{s≤t} E[baseline's reward]. Before
    the policy may depart from the baseline, a confidence set that belongs to the guard must prove that the account can
    afford it; see `rules.Guard`. The set depends only on the rewards learned here, not on what the guarded policy
    believes. It costs O(d²) per choice and per reward.

    Assumptions: rewards are linear in the actions as given, E[reward] = xᵀθ* (add a column of ones if there is an
    intercept), with R-sub-Gaussian noise; ‖θ*‖ ≤ S; and the baseline's expected reward is never negative, so that
    following it cannot drain the account.

    Parameters
    ----------
    policy
        The policy to guard. It becomes part of this one; do not use it on its own afterward.
    baseline
        How you choose today: a row number (0 for the row that your system ranks first); a vector, which chooses the row
        with the highest inner product; an existing policy, which makes its most likely choice and from now on neither
        observes nor learns; or a function that takes the rows (K, d) allowed and returns a row number. A row number
        counts only the rows allowed. A policy whose baseline is a function cannot be saved.
    alpha
        α in [0, 1], the share of the baseline's reward that may be put at risk. With 0 the policy departs from the
        baseline only where this provably loses nothing.
    noise, theta_bound, delta
        R > 0 (½ is safe for rewards in [0, 1]), S, and δ.
    value
        The baseline's expected reward per round, if it is known and constant; by default it is bounded by the same set.
    shadow
        Always choose as the baseline does, and learn; `diagnostics()` reports what the policy would have gained.

    References
    ----------
    Kazerouni, Ghavamzadeh, Abbasi-Yadkori, Van Roy. Conservative Contextual Linear Bandits. NeurIPS 2017.

    Examples
    --------
    >>> import numpy as np, eigenbandits as eb
    >>> policy = eb.Guarded(eb.EigenUCB(seed=0), baseline=2, alpha=0.1, noise=0.5, theta_bound=1.0)
    >>> decision = policy.choose(np.eye(3))
    >>> decision.index  # nothing is proved yet
    2
    >>> policy.learn(decision, 1.0)
    >>> policy.diagnostics().details["kept_to_baseline"]
    1
    """

    _state_names: ClassVar[tuple[str, ...]] = (*Policy._state_names, "proved", "baseline_policy")

    def __init__(
        self,
        policy: Policy,
        baseline: Baseline = 0,
        alpha: float = 0.1,
        *,
        noise: float,
        theta_bound: float,
        delta: float = 0.01,
        value: float | None = None,
        shadow: bool = False,
    ) -> None:
        if not isinstance(policy, Policy) or isinstance(policy, Guarded):
            raise ValueError(f"policy is a {type(policy).__name__}; expected a policy that is not guarded yet.")
        self.policy = policy
        self.alpha = alpha
        self.noise = noise
        self.theta_bound = theta_bound
        self.delta = delta
        self.value = value
        self.shadow = shadow
        self.baseline, self.baseline_policy = _as_baseline(baseline)
        self.proved = WholeSet(noise, theta_bound, delta)
        self.guard = Guard(policy.rule, self.proved, alpha, value, shadow)
        self._adopt(policy)
        self.rule, self.rng, self.round = self.guard, policy.rng, policy.round
        if self.dim is not None:
            self.guard.start(self.dim)

    def choose_list(self, actions: ArrayLike, count: int, *arguments: Any, **options: Any) -> ListDecision:
        """Raise an error: the account covers one choice per round, and a baseline is one choice."""
        raise ValueError(
            "a guarded policy cannot choose lists; guard single choices, or use the policy without a guard."
        )

    def learn(self, action: Decision | ListDecision | ArrayLike, reward: Any, *, score: float | None = None) -> None:
        """Learn the reward of a decision, of a list, or of an action vector (d,) with its score."""
        if isinstance(action, ListDecision):
            self.learn_many([action], [reward])
            return
        value = inputs.as_reward(reward)
        super().learn(action, value, score=score)
        self._teach(np.atleast_2d(self._vectors([action] if isinstance(action, Decision) else action)), [value])

    def learn_many(
        self,
        actions: Sequence[Decision] | Sequence[ListDecision] | ArrayLike,
        rewards: ArrayLike | Sequence[Any],
        *,
        scores: ArrayLike | None = None,
    ) -> None:
        """Learn a batch: n decisions, n lists, or (n, d) action vectors with their scores, and n rewards."""
        actions, rewards = flat(actions, rewards)
        super().learn_many(actions, rewards, scores=scores)
        vectors = self._vectors(actions)
        self._teach(vectors, inputs.as_rewards(rewards, len(vectors)))

    def diagnostics(self) -> Diagnostics:
        """Return what the policy knows about itself; the details say what the guard did and can prove."""
        found = super().diagnostics()
        if self.dim is None:
            return found
        least, most = self.guard.gain()
        found.details.update(
            kept_to_baseline=int(self.guard.kept),
            agreed_with_baseline=int(self.guard.agreed),
            reserve=self.guard.reserve(),
            gain_least=least,
            gain_most=most,
        )
        return found

    def _vectors(self, actions: Any) -> Array:
        """Return the actions (n, d) behind decisions or vectors that `Policy` has learned."""
        given = [one.action if isinstance(one, Decision) else one for one in actions]
        return np.asarray(given if given else actions, dtype=np.float64)

    def _teach(self, vectors: Array, rewards: ArrayLike) -> None:
        try:
            self.proved.learn_many(vectors, np.asarray(rewards, dtype=np.float64))
        except BaseException:
            self.proved.recover()
            raise

    def _expect(self, sets: Sequence[Array], kept: Sequence[NDArray[np.intp] | None]) -> None:
        """Compute the choices of the baseline ahead."""
        offered = [array if rows is None else array[rows] for array, rows in zip(sets, kept, strict=True)]
        offered = [rows.astype(np.float64, copy=False) for rows in offered]
        self.guard.ahead = [(rows, self._choice_of_baseline(rows)) for rows in offered]

    def _choice_of_baseline(self, rows: Array) -> int:
        """Return the row that the baseline would choose."""
        baseline = self.baseline
        if isinstance(baseline, Policy):
            if baseline.dim is None:
                raise ValueError("the baseline has seen nothing yet; expected a policy that knows how it chooses.")
            return int(baseline.probabilities(rows).argmax())
        if isinstance(baseline, np.ndarray):
            if len(baseline) != rows.shape[1]:
                raise ValueError(f"baseline is a vector of {len(baseline)} numbers; the actions have {rows.shape[1]}.")
            return int((rows @ baseline).argmax())
        # Of a single row every row number is that one.
        found: Any = baseline(rows) if callable(baseline) else 0 if len(rows) == 1 else baseline
        try:
            index = operator.index(found)
        except TypeError:
            raise ValueError(f"the baseline returned {found!r}; expected a row number.") from None
        if not 0 <= index < len(rows):
            raise ValueError(f"the baseline returned row {index}; expected one from 0 to {len(rows) - 1}.")
        return index

    def _start(self, array: Array, scores: Array | None = None, offered: bool = False) -> None:
        fresh = self.dim is None
        super()._start(array, scores, offered)
        if fresh:
            self.guard.start(array.shape[1])


def _as_baseline(given: Any) -> tuple[int | Array | Policy | Callable[[Array], int], Policy | None]:
    """Return the baseline, and again if it is a policy, since its state then belongs to the state saved."""
    if isinstance(given, Policy):
        return given, given
    if callable(given):
        return given, None
    if isinstance(given, int | np.integer):
        return inputs.whole(given, "baseline", least=0), None
    return inputs.as_action(given, None, what="baseline"), None
