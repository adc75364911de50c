"""Policy: the one loop that every algorithm shares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from eigenbandits import inputs, linalg
from eigenbandits.belief.base import Belief
from eigenbandits.policy import files, lists
from eigenbandits.policy.carryover import Translation, translate
from eigenbandits.policy.centering import Centering
from eigenbandits.policy.choosing import Chooser
from eigenbandits.policy.decision import Decision
from eigenbandits.policy.diagnostics import Diagnostics
from eigenbandits.policy.lists import ListDecision
from eigenbandits.policy.replicas import merge
from eigenbandits.policy.scoring import Prior, Scoring
from eigenbandits.rules.base import Rule
from eigenbandits.subspace.base import Subspace
from eigenbandits.translation import Encoder


class Policy(Chooser):
    """A subspace, a belief and a rule that together choose and learn.

    Parameters
    ----------
    subspace
        Where θ* lives.
    belief
        What θ* can still be.
    rule
        Which action follows from the belief.
    center
        What is subtracted from the actions: "none", "mean", "set" or "differences"; see `policy.centering.Centering`.
    seed
        Seed of the policy's own randomness.
    dtype
        "float32" reads decision sets in single precision, at half the memory traffic; sums, factors and radii stay in
        double precision, since rounding errors there would accumulate.

    Examples
    --------
    >>> import eigenbandits as eb
    >>> policy = eb.Policy(eb.subspace.Whole(), eb.belief.Ambient(noise=0.1), eb.rules.Optimism())
    >>> decision = policy.choose([[1.0, 0.0], [0.0, 2.0]])
    >>> decision.index
    1
    >>> policy.learn(decision, 0.5)
    """

    _state_names: ClassVar[tuple[str, ...]] = (
        *("dim", "round", "centering", "scoring", "subspace", "belief", "rule", "rng", "encoder"),
    )
    # Defaults for policies that do not take these as arguments.
    center: str = "none"
    dtype: str = "float64"
    prior: Prior | None = None

    def __init__(
        self,
        subspace: Subspace,
        belief: Belief,
        rule: Rule,
        center: str = "none",
        seed: int | None = None,
        dtype: str = "float64",
    ) -> None:
        self.center = center
        self.seed = seed
        self._compose(subspace, belief, rule, center=center, seed=seed, dtype=dtype)

    def _compose(
        self,
        subspace: Subspace,
        belief: Belief,
        rule: Rule,
        *,
        center: str = "none",
        seed: int | None = None,
        dtype: str = "float64",
        prior: Prior | None = None,
    ) -> None:
        self.dtype = inputs.one_of(dtype, "dtype", ("float64", "float32"))
        self.centering = Centering(center)
        if self.centering.around_mean and not subspace.finds_around_mean:
            raise ValueError(
                f"center is 'mean', but {type(subspace).__name__} cannot follow a running mean; "
                "expected 'none', 'set' or 'differences'."
            )
        missing = [name for name in rule.needs if name not in belief.offers]
        if missing:
            raise ValueError(
                f"{type(rule).__name__} needs {' and '.join(missing)}, but {type(belief).__name__} offers only "
                f"{', '.join(belief.offers)}."
            )
        if prior is not None and not belief.takes_scores:
            raise self._no_scores(belief)
        self.scoring = Scoring(prior)
        self.encoder = Encoder()
        self.subspace = subspace
        self.belief = belief
        self.rule = rule
        self.rng = inputs.generator(seed)
        self.dim: int | None = None
        self.round = 0

    @linalg.one_thread
    def observe(self, vectors: ArrayLike) -> None:
        """Improve the subspace with vectors (n, d) that have no reward, such as a catalogue or yesterday's traffic."""
        array = self._read(vectors, what="vectors")
        if self.dim is None:
            self._start(array)
        self.subspace.observe(array, self.centering.center_of(array))

    @linalg.one_thread
    def learn(self, action: Decision | ListDecision | ArrayLike, reward: Any, *, score: float | None = None) -> None:
        """Learn the reward of a decision, or of an action vector (d,) and its score; the order does not matter.

        For a list: the reward of each item, or the position of the only click, counting from 0, or None for no click.
        """
        if isinstance(action, ListDecision):
            self.learn_many([action], [reward])
            return
        value = inputs.as_reward(reward)
        forecast = None
        if isinstance(action, Decision):
            lifted, forecast = self._lifted(action), action.forecast
        else:
            vector = inputs.as_action(action, self.dim, dtype=self.dtype)
            self.encoder.check(vector[None], "action")
            lifted = self.lift_vectors(vector[None], None if score is None else [score])[0]
        try:
            self.belief.learn(lifted, value, forecast)
        except BaseException:
            self.belief.recover()
            raise

    @linalg.one_thread
    def learn_many(
        self,
        actions: Sequence[Decision] | Sequence[ListDecision] | ArrayLike,
        rewards: ArrayLike | Sequence[Any],
        *,
        scores: ArrayLike | None = None,
    ) -> None:
        """Learn from a batch: n decisions, n lists, or (n, d) action vectors and their scores, each with a reward."""
        actions, rewards = lists.flat(actions, rewards)
        if lists.is_sequence_of(actions, Decision):
            values = inputs.as_rewards(rewards, len(actions))
            lifted = np.array([self._lifted(decision) for decision in actions])
            forecasts = [decision.forecast for decision in actions]
        else:
            array = self._read(actions)
            values = inputs.as_rewards(rewards, len(array))
            lifted = self.lift_vectors(array, scores)
            forecasts = None
        try:
            self.belief.learn_many(lifted, values, forecasts)
        except BaseException:
            self.belief.recover()
            raise

    def merge(self, others: Iterable[Policy], base: Policy | None = None) -> None:
        """Add what other replicas of this policy have seen and learned, as if a single process had.

        Sums and counts add up exactly, and everything else follows from them: the subspace and the posterior are
        recomputed. Sketches and streaming subspaces are merged within their own error. Pending decisions belong to the
        replica that made them. If a replica is refused, this policy is unchanged.

        Parameters
        ----------
        others
            Policies made with the same arguments, except for the seed.
        base
            The snapshot that this policy and the others started from, if any; what it knows is counted once.
        """
        merge(self, list(others), base)

    def translate(
        self,
        old_vectors: ArrayLike,
        new_vectors: ArrayLike,
        *,
        old_scores: ArrayLike | None = None,
        new_scores: ArrayLike | None = None,
    ) -> Translation:
        """Carry over what was learned to the vectors of another encoder, using items that both have embedded.

        From then on the policy expects the new vectors. It refuses to learn from decisions made before, and refuses
        vectors that it recognizes as the old encoder's; see `Translation.guarded`. Invalid input changes nothing.

        Parameters
        ----------
        old_vectors, new_vectors
            The same items (n, d) and (n, d′), row by row, in the form that `choose` takes: ideally thousands, and
            typical of the actions offered.
        old_scores, new_scores
            The scores of these items with either encoder, if the policy is given scores.

        Returns
        -------
        Translation
            How the map was fitted, and an estimate of what is lost.

        Examples
        --------
        >>> import eigenbandits as eb
        >>> rng = np.random.default_rng(0)
        >>> items, theta = rng.standard_normal((200, 4)), np.array([1.0, -1.0, 0.5, 0.0])
        >>> policy = eb.EigenUCB(seed=0)
        >>> policy.learn_many(items, items @ theta)
        >>> turned = items @ np.linalg.qr(rng.standard_normal((4, 4)))[0]
        >>> translation = policy.translate(items, turned)
        >>> round(translation.loss, 6), policy.choose(turned[:9]).index == (items[:9] @ theta).argmax()
        (0.0, np.True_)
        """
        if set(self._state_names) != set(Policy._state_names):
            raise ValueError(
                f"a {type(self).__name__} policy cannot be translated; translate the policy that it wraps."
            )
        return translate(self, old_vectors, new_vectors, old_scores, new_scores)

    def diagnostics(self) -> Diagnostics:
        """Return what the policy knows about itself: rank, spectrum, noise, warnings, and a summary in sentences.

        The call changes nothing.
        """
        report: dict[str, Any] = {"policy": repr(self), "rounds": self.round, "dim": self.dim}
        if self.dim is not None:
            report |= self.subspace.diagnostics() | self.belief.diagnostics(self.subspace.current())
        return Diagnostics.gather(report | {"center": self.centering.kind})

    def save(self, path: str | PathLike[str]) -> None:
        """Write the policy to a file, atomically; `eigenbandits.load` continues it bit for bit."""
        files.save(self, path)

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("policies are not pickled: use policy.save(path) and eigenbandits.load(path).")
