"""`ModelPolicy`: the library's own policy over (prompt, model) pairs, in the leading directions of all prompts."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigenbandits.algorithms import EigenUCB
from eigenbandits.belief import Finding, Spectral
from eigenbandits.files import Arrays, decode, encode
from eigenbandits.policy import files
from eigenbandits.router.answers import Answers
from eigenbandits.router.basis import Basis, blocks, decision_set, decision_sets
from eigenbandits.router.changes import WARM_UP, ChangeDetector
from eigenbandits.router.costs import ModelCosts
from eigenbandits.router.former import Former
from eigenbandits.rules import Pacer

Array = NDArray[np.float64]
Vector = NDArray[np.floating[Any]]

# With few models, and answers of which a few are bad, the usual width of 1 sometimes gives up on a model too soon, and
# 4 goes on trying for longer than needed (`eigenbandits router calibrate width`).
WIDTH = 2.0
# Half-life of answers: what was given up early and by bad luck is tried again (`eigenbandits router calibrate
# memory`). Changes are noticed without it.
MEMORY = 4096.0
# The part of the budget that is held back, so that spending within 0.5 % of the budget is on average in the middle of
# what is within and not above; and decisions in which the spend returns to it: n requests in a row cost at most
# (1 − RESERVE)(n + 2 · HORIZON) budgets, as far as costs can be predicted, and no answer more than 2 · HORIZON.
RESERVE, HORIZON = 0.0025, 15
# Prompts that show a new policy where prompts lie: enough for a spectrum of some dozens of directions, after which
# the basis alone follows the prompts.
SHOWN = 512
# A model that starts from its family starts from so many of its answers.
INHERITED = 16
# What is saved: parts with a state of their own, and plain values.
_PARTS, _COUNTS = ("basis", "answers", "detector", "former", "costs"), ("count", "changes", "epoch", "shown")


class Pick(NamedTuple):
    """The model chosen for a prompt, and what learning from its answer needs.

    Attributes
    ----------
    place
        The place of the model.
    estimate, cost
        What the answer is expected to be worth, and to cost; 0 without a budget.
    row, lifted, forecast
        The prompt as the basis reads it, the action as the belief sees it, and what the belief said of it.
    """

    place: int
    estimate: float
    cost: float
    row: Array
    lifted: Array
    forecast: Array | None


class ModelPolicy:
    """One `EigenUCB` over block features: the action of a model is the prompt's coordinates in the model's block.

    It goes the way of `Policy.choose` and of `Budgeted`, with parts of theirs: subspace, belief and pacer. What these
    check of input that comes from outside, and the costs that they learn from actions, are not needed here.

    The policy is rebuilt from the latest answers when the prompts' directions are recomputed, when a model is added,
    withdrawn or repriced, and when a model has changed, in which case its older answers are dropped. In between it
    learns from one answer at a time.

    Parameters
    ----------
    prices
        For each model, what it charges relative to the others; NaN if that is not known.
    budget
        What a request may cost on average, or None.
    rank, width, memory, seed
        As for `Router`.
    """

    def __init__(
        self, prices: list[float], budget: float | None, rank: int, width: float, memory: float | None, seed: int | None
    ) -> None:
        self.prices, self.count, self.budget = prices, len(prices), budget
        self.width, self.memory, self.seed = width, memory, seed
        self.basis, self.answers, self.detector = Basis(rank), Answers(), ChangeDetector()
        self.costs, self.former = ModelCosts(prices, self.basis.size), Former(self.count)
        self.changes = 0
        # Incremented whenever the policy is rebuilt: what was picked before can only be learned as a vector.
        self.epoch = 0
        # Prompts that the policy has been shown.
        self.shown = 0
        self.policy = self._new_policy()
        self.pacer = self._new_pacer()

    @property
    def belief(self) -> Spectral:
        """The belief of the policy."""
        belief = self.policy.belief
        assert isinstance(belief, Spectral)
        return belief

    def observe(self, vectors: Array) -> None:
        """Add prompts (n, d) to the basis."""
        self.basis.observe(vectors)
        if self.basis.due and self.basis.refresh():
            self.rebuild()

    def choose(self, vector: Array, allowed: list[int] | None) -> Pick:
        """Choose a model for a prompt (d,) that was observed; what was never tried looks cheap, and so is tried."""
        row = self.basis.read_one(vector)
        actions, policy = decision_set(row, self.count), self.policy
        if self.shown < SHOWN:
            policy.observe(actions)
            self.shown += 1
        lifted, _ = policy.lift(actions, None)
        if allowed is not None:
            lifted = lifted[allowed]
        belief = self.belief
        belief.follow(policy.subspace.frame())
        view = belief.view(lifted)
        values, shifts, cost = view.uppers(), None, 0.0
        self.former.requests += 1
        if self.former.known:
            kept = slice(None) if allowed is None else allowed
            chances, estimates = self.former.chances_now()[kept], view.estimates()
            gaps = self.former.estimates(vector)[kept] - estimates
            shifts = chances * gaps
            # The same multiple of the standard deviation, of both together.
            times = belief.omega_of(len(lifted)) / (belief.noise or 1.0)
            spread = (values - estimates) ** 2 + times**2 * chances * (1.0 - chances) * gaps**2
            values = estimates + shifts + np.sqrt(spread)
        if self.pacer is None:
            index = int(values.argmax())
        else:
            costs, least, most = self.costs.of(row)
            if allowed is not None:
                costs, least, most = costs[allowed], least[allowed], most[allowed]
            charges, dearest = self.pacer.charges(values, costs, least, most)
            index = int((values - charges).argmax())
            cost = float(costs[index])
            self.pacer.commit(cost, dearest)
        finding = view.finding(index) or Finding()
        belief.note(finding)
        # A row of its own: who keeps one must not keep all of them.
        action = lifted[index].copy() if finding.action is None else finding.action
        place = index if allowed is None else allowed[index]
        shift = 0.0 if shifts is None else float(shifts[index])
        return Pick(place, view.estimate(index) + shift, cost, row, action, finding.forecast)

    def learn(self, pick: Pick | None, vector: Vector, place: int, reward: float, cost: float, expected: float) -> bool:
        """Learn from an answer, and return whether its model was found to have changed.

        Parameters
        ----------
        pick
            What `choose` returned, or None if the policy has been rebuilt since.
        vector, place
            The prompt, and the place of the model.
        reward, cost
            What the answer was worth and has cost; NaN if that is not known.
        expected
            What it was expected to cost.
        """
        value = reward - self._shift(vector, place, reward)
        if pick is None:
            row = self.basis.read_one(vector.astype(np.float64))
            self.policy.learn(blocks(row[None], np.array([place]), self.count)[0], value)
        else:
            row, belief = pick.row, self.policy.belief
            try:
                belief.learn(pick.lifted, value, pick.forecast)
            except BaseException:
                belief.recover()
                raise
        if self.pacer is not None and not math.isnan(cost):
            self.costs.learn(row, place, cost)
            self.pacer.settle(expected, cost)
        self.answers.add(vector, place, reward, cost)
        if self.answers.full:
            self.answers.trim()
            self.detector.reset()
        if pick is None:
            return False
        first = self.detector.note(place, reward - pick.estimate, len(self.answers) - 1)
        if first is None:
            return False
        self._forget(place, first)
        self.changes += 1
        self.rebuild()
        return True

    def _shift(self, vector: Vector, place: int, reward: float) -> float:
        """Return the part of a reward that is there because a model is as before a change, which no belief learns."""
        if not self.former.counts[place]:
            return 0.0
        estimate, before = float(self._model(place) @ np.append(vector, 1.0)), self.former.estimates(vector)[place]
        return self.former.learn(place, reward, estimate, before, self.belief.noise) * float(before - estimate)

    def _model(self, place: int) -> Array:
        """Return the belief's estimate of a model as coefficients of the prompt and a number (d + 1,)."""
        size, belief = self.basis.size, self.belief
        belief.follow(self.policy.subspace.frame())
        # At 0 and at each unit vector, as lifting is affine.
        rows = blocks(np.eye(size + 1, size, -1), np.full(size + 1, place), self.count)
        values = self.policy.lift(rows, None)[0] @ belief.center
        found = values[1:] - values[0]
        found[-1] += values[0]
        return np.append(self.basis.reading @ found, self.basis.origin @ found)

    def _forget(self, place: int, first: int) -> None:
        """Drop the answers of a model that has changed, but for those since the first after the change."""
        own = self.answers.of(place)
        dropped = own[own < first]
        # What only few answers are from was no state of its own: the rest of a change that was found too early.
        if len(dropped) >= WARM_UP or not self.former.counts[place]:
            self.former.change(place, self._model(place))
        self.answers.keep(np.setdiff1d(np.arange(len(self.answers)), dropped))

    def cancel(self, expected: float) -> None:
        """Refund what a request without an answer was expected to cost."""
        if self.pacer is not None:
            self.pacer.settle(expected, 0.0)

    def add_model(self, price: float, family: int | None, factor: float) -> None:
        """Add a model in the last place, with some answers of its family, if it has one, at its own price."""
        self.prices.append(price)
        self.count += 1
        self.former.add()
        if family is not None:
            for row in self.answers.of(family)[-INHERITED:].tolist():
                vector = self.answers.vectors[row].astype(np.float64)
                reward = self.answers.rewards[row]
                cost = self.answers.costs[row]
                self.answers.add(vector, self.count - 1, reward, cost * factor)
        self.rebuild()

    def remove_model(self, place: int) -> None:
        """Remove a model and its answers; those behind it move up."""
        models = np.array(self.answers.models, dtype=np.intp)
        self.answers.keep(np.flatnonzero(models != place))
        self.answers.models = [model - (model > place) for model in self.answers.models]
        self.detector.select([other for other in range(self.count) if other != place])
        self.former.remove(place)
        del self.prices[place]
        self.count -= 1
        self.rebuild()

    def scale_costs(self, place: int, factor: float) -> None:
        """Multiply the costs of a model by a factor."""
        self.answers.scale_costs(place, factor)
        if self.pacer is not None and factor > 1.0:
            # Savings from the old price are dropped, or they would all be spent at once at the new one.
            self.pacer.credit = min(self.pacer.credit, 0.0)
        self.rebuild()

    def set_budget(self, budget: float | None) -> None:
        """Keep to another budget from now on, with neither debt nor savings."""
        old, self.budget = self.pacer, budget
        self.pacer = self._new_pacer()
        if self.pacer is not None and old is not None:
            self.pacer.spent, self.pacer.count = old.spent, old.count
        self.rebuild()

    def rebuild(self) -> None:
        """Rebuild the policy from the latest answers."""
        self.policy = self._new_policy()
        self.epoch += 1
        self.shown = 0
        self.detector.reset()
        self.answers.trim()
        self.costs = ModelCosts(self.prices, self.basis.size)
        if not len(self.answers):
            return
        rows = self.basis.read(self.answers.vectors.astype(np.float64))
        first, *others = decision_sets(rows[-SHOWN:], self.count)
        self.policy.observe(first)
        # The first set the policy up, and the others need no more checks than those of `choose`.
        center = self.policy.centering.center_of(first)
        for actions in others:
            self.policy.subspace.observe(actions, center)
        self.shown = min(len(rows), SHOWN)
        places, costs = np.array(self.answers.models, dtype=np.intp), np.array(self.answers.costs)
        self.policy.learn_many(blocks(rows, places, self.count), self.answers.rewards)
        if self.pacer is not None:
            self.costs.learn_many(rows, places, costs)

    def packed(self, arrays: Arrays) -> Any:
        """Return all that changes while it runs as a JSON value, with its arrays put into `arrays`."""
        arrays["policy"] = np.frombuffer(files.to_bytes(self.policy), dtype=np.uint8)
        state = {name: getattr(self, name).state() for name in _PARTS} | {name: getattr(self, name) for name in _COUNTS}
        if self.pacer is not None:
            state["pacer"] = self.pacer.state()
        return encode(state, arrays)

    def unpack(self, packed: Any, arrays: Arrays) -> None:
        """Restore what `packed` returned."""
        policy = files.from_bytes(arrays["policy"].tobytes(), "its policy")
        if not isinstance(policy, EigenUCB):
            raise TypeError("its policy is of another kind")
        state = decode(packed, arrays)
        for name in _COUNTS:
            setattr(self, name, state[name])
        self.costs = ModelCosts(self.prices, 0)
        for name in _PARTS:
            getattr(self, name).restore(state[name])
        self.costs.size = self.basis.size
        if self.pacer is not None:
            self.pacer.restore(state["pacer"])
        self.policy = policy

    def _new_pacer(self) -> Pacer | None:
        return None if self.budget is None else Pacer((1.0 - RESERVE) * self.budget, HORIZON, strict=True)

    def _new_policy(self) -> EigenUCB:
        return EigenUCB(width=self.width, memory=self.memory, seed=self.seed)
