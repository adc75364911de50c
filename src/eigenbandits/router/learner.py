"""`Learner`: the library's own belief over (prompt, model) pairs, in the leading directions of all prompts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.algorithms import EigenUCB
from eigenbandits.files import Arrays, decode, encode
from eigenbandits.policy import Decision, files
from eigenbandits.router.answers import Answers
from eigenbandits.router.basis import Basis, blocks, decision_set
from eigenbandits.router.changes import ChangeDetector
from eigenbandits.router.costs import ModelCosts
from eigenbandits.wrappers.budgeted import Budgeted

Array = NDArray[np.float64]

# With few models, and answers of which a few are bad, the usual width of 1 sometimes gives up on a model too soon:
# it is 0.001 to 0.002 better where nothing changes and 0.015 worse after a silent change, 4 the other way round
# (`eigenbandits router calibrate width`).
WIDTH = 2.0
# Half-life of answers: what has not been tried for long is worth trying again. A quarter of it costs up to 0.006 where
# nothing changes, four times as much 0.013 after a silent change (`eigenbandits router calibrate memory`).
MEMORY = 1024.0
# The part of the budget that is held back, and decisions in which the spend returns to it: n requests in a row cost at
# most (1 − RESERVE)(n + 2 · HORIZON) budgets, as far as costs can be predicted, which for 2,000 of them or more is at
# most 0.5 % above the budget.
RESERVE, HORIZON = 0.01, 15
# Prompts that show a new policy where prompts lie: enough for a spectrum of some dozens of directions, after which
# the basis alone follows the prompts.
SHOWN = 512
# A model that starts from its family starts from so many of its answers.
INHERITED = 16
# What is saved: parts with a state of their own, and plain values.
_PARTS, _COUNTS = ("basis", "answers", "detector", "costs"), ("count", "changes", "epoch", "shown")


class Learner:
    """One `EigenUCB` over block features: the action of a model is the prompt's coordinates in the model's block.

    The policy is made anew from the latest answers when the directions of the prompts are found anew, when a model is
    added, withdrawn or repriced, and when a model has changed, in which case its older answers are dropped. In between
    it learns from one answer at a time.

    Parameters
    ----------
    count
        Number of models.
    budget
        What a request may cost on average, or None.
    rank, width, memory, seed
        As for `Router`.
    """

    def __init__(
        self, count: int, budget: float | None, rank: int, width: float, memory: float | None, seed: int | None
    ) -> None:
        self.count, self.budget = count, budget
        self.width, self.memory, self.seed = width, memory, seed
        self.basis, self.answers, self.detector = Basis(rank), Answers(), ChangeDetector()
        self.costs = ModelCosts(count, self.basis.size)
        self.changes = 0
        # Raised whenever the policy is made anew: decisions made before can only be learned as vectors.
        self.epoch = 0
        # Prompts that the policy has been shown.
        self.shown = 0
        self.policy: EigenUCB | Budgeted = self._new_policy()

    def observe(self, vectors: Array) -> None:
        """Take note of prompts (n, d)."""
        self.basis.observe(vectors)
        if self.basis.due and self.basis.refresh():
            self.rebuild()

    def choose(self, vector: Array, allowed: list[int] | None) -> Decision:
        """Choose a model for a prompt (d,) that was observed; what was never tried looks cheap, and so is tried."""
        row = self.basis.read(vector[None])[0]
        actions = decision_set(row, self.count)
        observe = self.shown < SHOWN
        self.shown += observe
        if isinstance(self.policy, Budgeted):
            return self.policy.choose(actions, observe, allowed=allowed, costs=self.costs.of(row))
        return self.policy.choose(actions, observe, allowed=allowed)

    def learn(
        self, decision: Decision | None, vector: Array, place: int, reward: float, cost: float, expected: float
    ) -> bool:
        """Learn from an answer, and return whether its model was found to have changed.

        Parameters
        ----------
        decision
            What `choose` gave, or None if the policy was made anew since.
        vector, place
            The prompt, and the place of the model.
        reward, cost
            What the answer was worth and has cost; NaN if that is not known.
        expected
            What it was expected to cost.
        """
        paid = None if math.isnan(cost) else cost
        action = self._action(vector, place) if decision is None else decision.action
        known = action if decision is None else decision
        if isinstance(self.policy, Budgeted):
            self.policy.learn(known, reward, cost=paid)
            if paid is not None:
                size = self.basis.size
                self.costs.learn(action[place * size : (place + 1) * size], place, paid)
                if decision is None:
                    self.policy.pacer.settle(expected, paid)
        else:
            self.policy.learn(known, reward)
        self.answers.add(vector, place, reward, cost)
        if self.answers.full:
            self.answers.trim()
            self.detector.reset()
        if decision is None:
            return False
        first = self.detector.note(place, reward - decision.estimate, len(self.answers) - 1)
        if first is None:
            return False
        models = np.array(self.answers.models)
        self.answers.keep(np.flatnonzero((models != place) | (np.arange(len(models)) >= first)))
        self.changes += 1
        self.rebuild()
        return True

    def cancel(self, expected: float) -> None:
        """Take back what a decision without an answer was expected to cost."""
        if isinstance(self.policy, Budgeted):
            self.policy.pacer.settle(expected, 0.0)

    def add_model(self, family: int | None, factor: float) -> None:
        """Add a model in the last place, where it has a family with some of that model's answers at its own price."""
        self.count += 1
        if family is not None:
            for row in self.answers.of(family)[-INHERITED:].tolist():
                vector = self.answers.vectors[row].astype(np.float64)
                reward, cost = self.answers.rewards[row], self.answers.costs[row]
                self.answers.add(vector, self.count - 1, reward, cost * factor)
        self.rebuild()

    def remove_model(self, place: int) -> None:
        """Remove a model and its answers; those behind it move up."""
        models = np.array(self.answers.models, dtype=np.intp)
        self.answers.keep(np.flatnonzero(models != place))
        self.answers.models = [model - (model > place) for model in self.answers.models]
        self.detector.select([other for other in range(self.count) if other != place])
        self.count -= 1
        self.rebuild()

    def scale_costs(self, place: int, factor: float) -> None:
        """Multiply the costs of a model by a factor."""
        self.answers.scale_costs(place, factor)
        self.rebuild()

    def rebuild(self) -> None:
        """Make the policy anew from the latest answers; what was spent, and the price of the moment, stay."""
        old, self.policy = self.policy, self._new_policy()
        if isinstance(self.policy, Budgeted) and isinstance(old, Budgeted):
            self.policy.pacer.restore(old.pacer.state())
        self.epoch += 1
        self.shown = 0
        self.detector.reset()
        self.answers.trim()
        self.costs = ModelCosts(self.count, self.basis.size)
        if not len(self.answers):
            return
        rows = self.basis.read(self.answers.vectors.astype(np.float64))
        for row in rows[-SHOWN:]:
            self.policy.observe(decision_set(row, self.count))
        self.shown = min(len(rows), SHOWN)
        places, costs = np.array(self.answers.models, dtype=np.intp), np.array(self.answers.costs)
        actions = blocks(rows, places, self.count)
        if isinstance(self.policy, Budgeted):
            self.policy.learn_many(actions, self.answers.rewards, costs)
            self.costs.learn_many(rows, places, costs)
        else:
            self.policy.learn_many(actions, self.answers.rewards)

    def packed(self, arrays: Arrays) -> Any:
        """Return all that changes while it runs as a JSON value, with its arrays put into `arrays`."""
        arrays["policy"] = np.frombuffer(files.to_bytes(self.policy), dtype=np.uint8)
        state = {name: getattr(self, name).state() for name in _PARTS} | {name: getattr(self, name) for name in _COUNTS}
        return encode(state, arrays)

    def unpack(self, packed: Any, arrays: Arrays) -> None:
        """Take back what `packed` gave."""
        policy = files.from_bytes(arrays["policy"].tobytes(), "its policy")
        if not isinstance(policy, EigenUCB | Budgeted):
            raise TypeError("its policy is of another kind")
        state = decode(packed, arrays)
        for name in _COUNTS:
            setattr(self, name, state[name])
        self.costs = ModelCosts(self.count, 0)
        for name in _PARTS:
            getattr(self, name).restore(state[name])
        self.costs.size = self.basis.size
        self.policy = policy

    def _new_policy(self) -> EigenUCB | Budgeted:
        policy = EigenUCB(width=self.width, memory=self.memory, seed=self.seed)
        if self.budget is None:
            return policy
        return Budgeted(policy, (1.0 - RESERVE) * self.budget, horizon=HORIZON, strict=True)

    def _action(self, vector: Array, place: int) -> Array:
        action: Array = blocks(self.basis.read(vector[None]), np.array([place]), self.count)[0]
        return action
