"""Policy: the one loop that every algorithm shares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits import files, inputs, lists
from eigenbandits.belief.base import Belief, Finding
from eigenbandits.carryover import Translation, translate
from eigenbandits.centering import Centering
from eigenbandits.decision import Decision
from eigenbandits.diagnostics import Diagnostics
from eigenbandits.layout import Layout
from eigenbandits.lists import ListDecision
from eigenbandits.replicas import merge
from eigenbandits.rules.base import Choice, Rule
from eigenbandits.scoring import Prior, Scoring
from eigenbandits.subspace.base import Subspace
from eigenbandits.translation import Encoder

Array = NDArray[np.float64]


class Policy(Layout):
    """A subspace, a belief and a rule, which together choose and learn.

    Parameters
    ----------
    subspace
        Where θ* lives.
    belief
        What θ* can still be.
    rule
        Which action follows from the belief.
    center
        What is subtracted from the actions: "none", "mean", "set" or "differences"; see `centering.Centering`.
    seed
        Seed of the policy's own randomness.
    dtype
        "float32" reads decision sets in single precision, at half the memory traffic; sums, factors and radii stay in
        double precision, as rounding there would add up over rounds.

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
    # What a policy that does not take them as arguments goes by.
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

    def observe(self, vectors: ArrayLike) -> None:
        """Sharpen the subspace with vectors (n, d) that have no reward: a catalogue, yesterday's traffic."""
        array = self._read(vectors, what="vectors")
        if self.dim is None:
            self._start(array)
        self.subspace.observe(array, self.centering.center_of(array))

    def choose(
        self,
        actions: ArrayLike,
        observe: bool = True,
        *,
        allowed: ArrayLike | None = None,
        scores: ArrayLike | None = None,
    ) -> Decision:
        """Choose one row of a decision set (K, d); K may differ from round to round.

        Parameters
        ----------
        actions
            The decision set.
        observe
            Whether the subspace observes the actions; False leaves it unchanged, for replays and for hosts that have
            shown it enough.
        allowed
            Which rows may be chosen, as a mask of K truth values or as row numbers; all of them by default. The
            others, sold out or seen already, still show the subspace where the actions lie.
        scores
            How an existing ranker scores each action, in any unit; higher is better. Rewards are assumed to follow the
            scores, and what they say beyond them is learned. Given from the first call on, or never.
        """
        array = self._read(actions)
        kept = None if allowed is None else inputs.as_allowed(allowed, len(array))
        ranks = self.scoring.read(array, scores)
        lifted, belief = self._show(array, ranks, observe), self.belief
        # From here on, the allowed rows are the decision set: the belief and the rule see no others.
        rows = lifted if kept is None else lifted[kept]
        view = belief.view(rows)
        choice = self.rule.choose(view, rows.shape[0], self.rng)
        estimate = view.estimate(choice.index)
        belief.note(choice.finding)
        if kept is not None:
            choice.spread(kept, len(array))
        self.round += 1
        return self._decision(choice, array, lifted, estimate, self.round)

    def choose_many(
        self,
        decision_sets: Iterable[ArrayLike],
        observe: bool | Sequence[bool] = True,
        *,
        allowed: Iterable[ArrayLike | None] | None = None,
        scores: Iterable[ArrayLike] | None = None,
    ) -> list[Decision]:
        """Choose one row of each of many independent decision sets, all against the belief as it is now.

        The same as choosing in one after the other without learning in between, except that the subspace sees all of
        them first and that the arithmetic is done at once: a page of 100 users costs little more than one.

        Parameters
        ----------
        decision_sets
            Arrays (K, d), of which K may differ; or one array (n, K, d).
        observe
            As for `choose`, for all of them or one for each.
        allowed
            As for `choose`, one for each; None for a set of which every row may be chosen.
        scores
            As for `choose`, one array for each.

        Returns
        -------
        list of Decision
            One for each set, in order.
        """
        arrays: list[Array] = []
        for actions in decision_sets:
            known = self.dim if not arrays else arrays[0].shape[1]
            arrays.append(self._read(actions, known, f"decision set {len(arrays)}"))
        shown = [observe] * len(arrays) if isinstance(observe, bool) else list(observe)
        if len(shown) != len(arrays):
            raise ValueError(f"observe has {len(shown)} entries; expected {len(arrays)}, one for each decision set.")
        kept = inputs.as_allowed_many(allowed, [len(array) for array in arrays])
        ranks = self.scoring.read_many(arrays, scores)
        if not arrays:
            return []
        if not any(shown):
            self._refuse_unseen()
        if self.scoring.used is None:
            self._settle(arrays[0], ranks[0])
        lifted, centers = zip(*map(self.lift, arrays, ranks), strict=True)
        for array, center, seen in zip(arrays, centers, shown, strict=True):
            if seen:
                self.subspace.observe(array, center)
        self.belief.follow(self.subspace.frame())
        rows = [one if left is None else one[left] for one, left in zip(lifted, kept, strict=True)]
        view = self.belief.view(np.concatenate(rows))
        sizes = [len(one) for one in rows]
        choices = self.rule.choose_many(view, sizes, self.rng)
        estimates = view.estimates()
        starts = np.cumsum([0, *sizes[:-1]]).tolist()
        decisions = []
        for choice, array, whole, left, start in zip(choices, arrays, lifted, kept, starts, strict=True):
            self.belief.note(choice.finding)
            self.round += 1
            estimate = float(estimates[start + choice.index])
            if left is not None:
                choice.spread(left, len(array))
            decisions.append(self._decision(choice, array, whole, estimate, self.round))
        return decisions

    def choose_list(
        self,
        actions: ArrayLike,
        count: int,
        observe: bool = True,
        *,
        examination: str | Sequence[float] = "all",
        diversity: float = 0.0,
        allowed: ArrayLike | None = None,
        scores: ArrayLike | None = None,
    ) -> ListDecision:
        """Choose `count` distinct rows of a decision set (K, d), in order.

        Parameters
        ----------
        actions, observe, allowed, scores
            As for `choose`.
        count
            How many, at most as many as may be chosen.
        examination
            What the user looks at: "all" of the list; "cascade", each item until the first click; or the probability
            of each position, above 0, which the best actions get the highest of. `learn` goes by it.
        diversity
            What an action is worth beyond its value, in units of the reward, for each nat that it adds to
            log det(I + S), S the cosines of the list's actions: log 2 if it is unlike all others, log 1.5 if it is a
            copy of one; see `lists.LogDeterminant`.
        """
        array = self._read(actions)
        kept = np.arange(len(array)) if allowed is None else inputs.as_allowed(allowed, len(array))
        order = lists.Order.read(count, len(kept), examination, diversity)
        lifted = self._show(array, self.scoring.read(array, scores), observe)
        rows = lifted[kept]
        found = lists.choose(order, self.rule, self.belief.view(rows), rows[:, : array.shape[1]], self.rng)
        self.round += 1
        decisions = []
        for choice, estimate in found:
            self.belief.note(choice.finding)
            choice.spread(kept, len(array))
            decisions.append(self._decision(choice, array, lifted, estimate, self.round))
        return ListDecision(tuple(decisions), order.examination)

    def probabilities(
        self, actions: ArrayLike, *, allowed: ArrayLike | None = None, scores: ArrayLike | None = None
    ) -> Array:
        """Return the probability (K,) with which each action would be chosen now; nothing is observed or learned.

        A deterministic rule gives one action probability 1. If the rule draws models, the probabilities are those
        that the models drawn now lead to, and differ from call to call; their mean is the rule's own.

        Parameters
        ----------
        actions, allowed, scores
            As for `choose`.

        Examples
        --------
        >>> import eigenbandits as eb
        >>> eb.EpsilonGreedy(epsilon=0.2, seed=0).probabilities([[1.0, 0.0], [0.0, 1.0]]).round(3).tolist()
        [0.9, 0.1]
        """
        array, _, choice, _ = self._look(actions, self.rng, allowed, scores)
        return choice.certain(len(array)) if choice.chances is None else choice.chances

    def propose(
        self,
        actions: ArrayLike,
        rng: np.random.Generator,
        *,
        allowed: ArrayLike | None = None,
        scores: ArrayLike | None = None,
    ) -> Decision:
        """Return the decision that `choose` would make next with this source of randomness, and take note of nothing.

        For replicas that only choose: the decision depends on the policy as it is, on the arguments, and on nothing
        that was proposed before.

        Parameters
        ----------
        rng
            What a randomized rule draws from.
        actions, allowed, scores
            As for `choose`.

        Examples
        --------
        >>> import eigenbandits as eb
        >>> policy = eb.EpsilonGreedy(epsilon=0.5, seed=0)
        >>> policy.observe([[1.0, 0.0], [0.0, 1.0]])
        >>> [policy.propose([[1.0, 0.0], [0.0, 1.0]], np.random.default_rng(7)).index for _ in range(3)]
        [1, 1, 1]
        """
        array, lifted, choice, estimate = self._look(actions, rng, allowed, scores)
        if choice.finding is not None and choice.finding.factor is not None:
            # It follows from the belief, and the next proposal would have to make it again.
            self.belief.note(Finding(factor=choice.finding.factor))
        return self._decision(choice, array, lifted, estimate, self.round + 1)

    def _look(
        self, actions: ArrayLike, rng: np.random.Generator, allowed: ArrayLike | None, scores: ArrayLike | None
    ) -> tuple[Array, Array, Choice, float]:
        """Return the actions, the actions lifted, and the choice that would be made now, with its estimate."""
        array = self._read(actions)
        kept = None if allowed is None else inputs.as_allowed(allowed, len(array))
        lifted = self._show(array, self.scoring.read(array, scores), observe=False)
        rows = lifted if kept is None else lifted[kept]
        before, view = self.rule.state(), self.belief.view(rows)
        choice = self.rule.choose(view, len(rows), rng)
        self.rule.restore(before)
        estimate = view.estimate(choice.index)
        if kept is not None:
            choice.spread(kept, len(array))
        return array, lifted, choice, estimate

    def _decision(self, choice: Choice, array: Array, lifted: Array, estimate: float, round_: int) -> Decision:
        action = array[choice.index].copy()
        action.setflags(write=False)
        row = action if lifted is array and action.dtype == np.float64 else lifted[choice.index].astype(np.float64)
        row.setflags(write=False)
        said = None if choice.finding is None else choice.finding.forecast
        return Decision(
            choice.index, action, round_, estimate, choice.upper, choice.propensity, row, said, choice.model
        )

    def learn(self, action: Decision | ListDecision | ArrayLike, reward: Any, *, score: float | None = None) -> None:
        """Learn the reward of a decision, or of an action vector (d,) and its score; the order does not matter.

        Of a list: the reward of each item, or the position of the only click, the first being 0, or None for no click.
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

    def learn_many(
        self,
        actions: Sequence[Decision] | Sequence[ListDecision] | ArrayLike,
        rewards: ArrayLike | Sequence[Any],
        *,
        scores: ArrayLike | None = None,
    ) -> None:
        """Learn from a batch: n decisions, n lists, or (n, d) action vectors and their scores, and n rewards."""
        actions, rewards = lists.flat(actions, rewards)
        if lists.are(actions, Decision):
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
        """Add what other replicas of this policy have seen and learned, as if one process had.

        Sums and counts add up exactly, and everything else follows from them: the subspace is found and the posterior
        recomputed. Sketches and streaming subspaces are joined within their own error. Decisions that are still waiting
        for their rewards belong to the replica that made them. Refused replicas leave this policy as it was.

        Parameters
        ----------
        others
            Policies made with the same arguments, except for the seed.
        base
            The snapshot that this policy and the others started from, if they did: what it knows is counted once.
        """
        merge(self, list(others), base)

    def restore(self, state: dict[str, Any]) -> None:
        """Set what `state` returned; older files know nothing of encoders, and their policies had one."""
        super().restore({"encoder": Encoder().state()} | state)

    def translate(
        self,
        old_vectors: ArrayLike,
        new_vectors: ArrayLike,
        *,
        old_scores: ArrayLike | None = None,
        new_scores: ArrayLike | None = None,
    ) -> Translation:
        """Carry over what was learned to the vectors of another encoder, through items that both have embedded.

        From then on the policy expects the new vectors. Decisions made before are refused by `learn`, and so are
        vectors that are recognized as the old encoder's; see `Translation.guarded`. Refused input changes nothing.

        Parameters
        ----------
        old_vectors, new_vectors
            The same items (n, d) and (n, d′), row by row, as actions are handed to `choose`: better thousands of them,
            and such as are offered.
        old_scores, new_scores
            The scores of these items with either encoder, where the policy is given scores.

        Returns
        -------
        Translation
            How the map was found, and what is estimated to be lost.

        Examples
        --------
        >>> import eigenbandits as eb
        >>> rng = np.random.default_rng(0)
        >>> items, theta = rng.standard_normal((200, 4)), np.array([1.0, -1.0, 0.5, 0.0])
        >>> policy = eb.EigenUCB(seed=0)
        >>> policy.learn_many(items, items @ theta)
        >>> turned = items @ np.linalg.qr(rng.standard_normal((4, 4)))[0]
        >>> done = policy.translate(items, turned)
        >>> round(done.loss, 6), policy.choose(turned[:9]).index == (items[:9] @ theta).argmax()
        (0.0, np.True_)
        """
        if set(self._state_names) != set(Policy._state_names):
            raise ValueError(
                f"a {type(self).__name__} policy cannot be translated; translate the one that it is made of."
            )
        return translate(self, old_vectors, new_vectors, old_scores, new_scores)

    def diagnostics(self) -> Diagnostics:
        """Return what the policy knows about itself: rank, spectrum, noise, warnings, and a summary in sentences.

        Looking changes nothing.
        """
        found: dict[str, Any] = {"policy": repr(self), "rounds": self.round, "dim": self.dim}
        if self.dim is not None:
            found |= self.subspace.diagnostics() | self.belief.diagnostics(self.subspace.current())
        return Diagnostics.gather(found | {"center": self.centering.kind})

    def save(self, path: str | PathLike[str]) -> None:
        """Write the policy to a file, whole or not at all; `eigenbandits.load` goes on bit for bit."""
        files.save(self, path)

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("policies are not pickled: use policy.save(path) and eigenbandits.load(path).")
