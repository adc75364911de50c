"""Chooser: the half of a policy that chooses one action, one action in each of many decision sets, or a list."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits import inputs, linalg
from eigenbandits.belief.base import Finding, Rows
from eigenbandits.inputs import Array
from eigenbandits.policy import lists
from eigenbandits.policy.decision import Decision
from eigenbandits.policy.layout import Layout
from eigenbandits.policy.lists import ListDecision
from eigenbandits.rules.base import Choice, Rule

_NOTHING = Finding()


class Chooser(Layout):
    """The base of `Policy` that chooses; its parts are those of `Layout`, plus a rule."""

    rule: Rule
    rng: np.random.Generator
    round: int

    @linalg.one_thread
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
            Whether the subspace observes the actions. False leaves it unchanged, for replays and for hosts that have
            already shown it enough.
        allowed
            Which rows may be chosen, as a mask of K booleans or as row numbers; all of them by default. The others,
            sold out or already seen, still show the subspace where actions lie.
        scores
            How an existing ranker scores each action, in any unit; higher is better. Rewards are assumed to follow the
            scores, and the policy learns what rewards say beyond them. Give scores from the first call on, or never.
        """
        array = self._read(actions)
        candidates = None if allowed is None else inputs.as_allowed(allowed, len(array))
        ranks = self.scoring.read(array, scores)
        self._expect([array], [candidates])
        return self._choose(array, candidates, ranks, observe)

    def _choose(self, array: Array, candidates: Rows | None, ranks: Array | None, observe: bool) -> Decision:
        """Choose one of the allowed rows; the input has been checked."""
        lifted, belief = self._show(array, ranks, observe), self.belief
        # From here on, the allowed rows are the decision set: the belief and the rule see only them.
        rows = lifted if candidates is None else lifted[candidates]
        view = belief.view(rows)
        choice = self.rule.choose(view, rows.shape[0], self.rng)
        estimate = view.estimate(choice.index)
        belief.note(choice.finding)
        if candidates is not None:
            choice.spread(candidates, len(array))
        self.round += 1
        return self._decision(choice, array, lifted, estimate, self.round)

    @linalg.one_thread
    def choose_many(
        self,
        decision_sets: Iterable[ArrayLike],
        observe: bool | Sequence[bool] = True,
        *,
        allowed: Iterable[ArrayLike | None] | None = None,
        scores: Iterable[ArrayLike] | None = None,
    ) -> list[Decision]:
        """Choose one row in each of many independent decision sets, all against the current belief.

        This is the same as choosing in one after the other without learning in between, except that the subspace sees
        all sets first and the arithmetic is done at once: a page for 100 users costs little more than one.

        Parameters
        ----------
        decision_sets
            Arrays (K, d), where K may differ; or one array (n, K, d).
        observe
            As for `choose`: one value for all of them, or one for each.
        allowed
            As for `choose`, one for each; None for a set in which every row may be chosen.
        scores
            As for `choose`, one array for each.

        Returns
        -------
        list of Decision
            One for each decision set, in order.
        """
        arrays: list[Array] = []
        for actions in decision_sets:
            known = self.dim if not arrays else arrays[0].shape[1]
            arrays.append(self._read(actions, known, f"decision set {len(arrays)}"))
        observed = [observe] * len(arrays) if isinstance(observe, bool) else list(observe)
        if len(observed) != len(arrays):
            raise ValueError(f"observe has {len(observed)} entries; expected {len(arrays)}, one for each decision set.")
        candidates = inputs.as_allowed_many(allowed, [len(array) for array in arrays])
        ranks = self.scoring.read_many(arrays, scores)
        if not arrays:
            return []
        if not any(observed):
            self._refuse_unseen()
        self._expect(arrays, candidates)
        if self.scoring.used is None:
            self._set_up(arrays[0], ranks[0], offered=True)
        lifted, centers = zip(*map(self.lift, arrays, ranks), strict=True)
        for array, center, seen in zip(arrays, centers, observed, strict=True):
            if seen:
                self.subspace.observe(array, center)
        self.belief.follow(self.subspace.frame())
        rows = [
            whole if allowed_rows is None else whole[allowed_rows]
            for whole, allowed_rows in zip(lifted, candidates, strict=True)
        ]
        view = self.belief.view(np.concatenate(rows))
        sizes = [len(one) for one in rows]
        choices = self.rule.choose_many(view, sizes, self.rng)
        estimates = view.estimates()
        starts = np.cumsum([0, *sizes[:-1]]).tolist()
        decisions = []
        for choice, array, whole, allowed_rows, start in zip(choices, arrays, lifted, candidates, starts, strict=True):
            self.belief.note(choice.finding)
            self.round += 1
            estimate = float(estimates[start + choice.index])
            if allowed_rows is not None:
                choice.spread(allowed_rows, len(array))
            decisions.append(self._decision(choice, array, whole, estimate, self.round))
        return decisions

    @linalg.one_thread
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
            How many rows to choose, at most as many as are allowed.
        examination
            What the user looks at: "all" items of the list; "cascade", each item until the first click; or the
            probability, above 0, of looking at each position, where the best actions get the highest. `learn` uses it.
        diversity
            The value of an action beyond its own, in units of the reward, for each nat that it adds to log det(I + S),
            with S the cosines of the list's actions: log 2 if it is unlike all others, log 1.5 if it is a copy of one
            of them; see `lists.LogDeterminant`.
        """
        array = self._read(actions)
        candidates = np.arange(len(array)) if allowed is None else inputs.as_allowed(allowed, len(array))
        order = lists.Order.read(count, len(candidates), examination, diversity)
        lifted = self._show(array, self.scoring.read(array, scores), observe)
        rows = lifted[candidates]
        choices = lists.choose(order, self.rule, self.belief.view(rows), rows[:, : array.shape[1]], self.rng)
        self.round += 1
        decisions = []
        for choice, estimate in choices:
            self.belief.note(choice.finding)
            choice.spread(candidates, len(array))
            decisions.append(self._decision(choice, array, lifted, estimate, self.round))
        return ListDecision(tuple(decisions), order.examination)

    @linalg.one_thread
    def probabilities(
        self, actions: ArrayLike, *, allowed: ArrayLike | None = None, scores: ArrayLike | None = None
    ) -> Array:
        """Return the probability (K,) with which each action would be chosen now; nothing is observed or learned.

        A deterministic rule gives one action probability 1. If the rule draws models, the probabilities depend on the
        models drawn in this call and differ from call to call; their mean is the rule's own.

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
        array, _, choice, _ = self._preview(actions, self.rng, allowed, scores)
        return choice.certain(len(array)) if choice.chances is None else choice.chances

    @linalg.one_thread
    def propose(
        self,
        actions: ArrayLike,
        rng: np.random.Generator,
        *,
        allowed: ArrayLike | None = None,
        scores: ArrayLike | None = None,
    ) -> Decision:
        """Return the decision that `choose` would make next with this source of randomness, and record nothing.

        For replicas that only choose: the decision depends on the policy's current state and on the arguments, not on
        earlier proposals.

        Parameters
        ----------
        rng
            The source of randomness for a randomized rule.
        actions, allowed, scores
            As for `choose`.

        Examples
        --------
        >>> import eigenbandits as eb
        >>> policy = eb.EpsilonGreedy(epsilon=0.5, seed=0)
        >>> policy.observe([[1.0, 0.0], [0.0, 1.0]])
        >>> proposed = [policy.propose([[1.0, 0.0], [0.0, 1.0]], np.random.default_rng(7)) for _ in range(3)]
        >>> len({decision.index for decision in proposed}), policy.round
        (1, 0)
        """
        array, lifted, choice, estimate = self._preview(actions, rng, allowed, scores, recorded=False)
        if choice.finding is not None:
            # The factor depends only on the belief, and the next proposal would have to compute it again; the size of a
            # shortlist only affects how long the next one takes.
            self.belief.note(Finding(factor=choice.finding.factor, list_size=choice.finding.list_size))
        return self._decision(choice, array, lifted, estimate, self.round + 1)

    def _preview(
        self,
        actions: ArrayLike,
        rng: np.random.Generator,
        allowed: ArrayLike | None,
        scores: ArrayLike | None,
        recorded: bool = True,
    ) -> tuple[Array, Array, Choice, float]:
        """Return the actions, the lifted actions, the choice that would be made now, and its estimate.

        If it would not be `recorded`, the choice may not use what only recorded choices can pay for.
        """
        array = self._read(actions)
        candidates = None if allowed is None else inputs.as_allowed(allowed, len(array))
        ranks = self.scoring.read(array, scores)
        self._expect([array], [candidates])
        lifted = self._show(array, ranks, observe=False)
        rows = lifted if candidates is None else lifted[candidates]
        before, view = self.rule.state(), self.belief.view(rows)
        if not recorded:
            view = view.unrecorded()
        choice = self.rule.choose(view, len(rows), rng)
        self.rule.restore(before)
        estimate = view.estimate(choice.index)
        if candidates is not None:
            choice.spread(candidates, len(array))
        return array, lifted, choice, estimate

    def _expect(self, sets: Sequence[Array], candidates: Sequence[NDArray[np.intp] | None]) -> None:
        """Prepare for a choice in each set among its candidates; may refuse, since nothing has changed yet."""

    def _decision(self, choice: Choice, array: Array, lifted: Array, estimate: float, round_: int) -> Decision:
        found = choice.finding or _NOTHING
        row = lifted[choice.index].astype(np.float64) if found.action is None else found.action
        row.setflags(write=False)
        action = row
        if lifted is not array or array.dtype != np.float64:
            action = array[choice.index].copy()
            action.setflags(write=False)
        return Decision(
            choice.index, action, round_, estimate, choice.upper, choice.propensity, row, found.forecast, choice.model
        )
