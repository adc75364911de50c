"""The recommenders of this library: `choose_list`, single choices in several ways, and chance."""

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np

from eigenbandits.algorithms import EigenUCB
from eigenbandits.inputs import Array
from eigenbandits.lab.studies.lists.environment import FilmListsInstance, Visit


class Recommender:
    """Makes one list for each visit of an instance, and learns from it."""

    count = 0

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed
        self._visits: Iterator[Visit] = iter(())

    def reveal(self, instance: FilmListsInstance) -> None:
        """Take the visits."""
        self.count = instance.count
        self._visits = instance.visits()

    def choose(self, actions: Array) -> SimpleNamespace:
        """Play the next visit, and say how many films were liked."""
        return SimpleNamespace(index=round(self.recommend(next(self._visits))))

    def learn(self, decision: object, reward: float) -> None:
        """Learn nothing more than `recommend` has."""

    def recommend(self, visit: Visit) -> float:
        """Make a list, learn from it, and return how many of its films are liked."""
        raise NotImplementedError


class ListRecommender(Recommender):
    """`EigenUCB().choose_list`, which learns when the list has been shown."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)
        self.policy = EigenUCB(seed=seed)

    def recommend(self, visit: Visit) -> float:
        """Choose a list and learn from all of it."""
        ranked = self.policy.choose_list(visit.actions, self.count)
        self.policy.learn(ranked, visit.liked[ranked.indices])
        return float(visit.liked[ranked.indices].sum())


class SequentialRecommender(ListRecommender):
    """`EigenUCB().choose` once for each film of a list, among the films not taken yet.

    With `at_once` each film is learned before the next is chosen: what the user thinks of a list's first films is known
    when the others are chosen, which no list that is shown as a whole can know. Otherwise all are learned when the list
    is complete.
    """

    def __init__(self, at_once: bool, seed: int | None = None) -> None:
        super().__init__(seed)
        self.at_once = at_once

    def recommend(self, visit: Visit) -> float:
        """Choose, exclude, and so on."""
        left = np.ones(len(visit.films), dtype=bool)
        waiting = []
        for position in range(self.count):
            decision = self.policy.choose(visit.actions, observe=position == 0, allowed=left)
            left[decision.index] = False
            waiting.append(decision)
            if self.at_once or len(waiting) == self.count:
                self.policy.learn_many(waiting, [float(visit.liked[one.index]) for one in waiting])
                waiting = []
        return float(visit.liked[~left].sum())


class PartsRecommender(ListRecommender):
    """`EigenUCB().choose` in each of as many equal parts of the offer as a list is long: ten times one of ten."""

    def recommend(self, visit: Visit) -> float:
        """Choose one film in each part."""
        parts = np.array_split(np.arange(len(visit.films)), self.count)
        decisions = self.policy.choose_many([visit.actions[part] for part in parts])
        rewards = [float(visit.liked[part[one.index]]) for part, one in zip(parts, decisions, strict=True)]
        self.policy.learn_many(decisions, rewards)
        return sum(rewards)


class SingleRecommender(ListRecommender):
    """`EigenUCB().choose` once, and its reward as often as a list is long, as if the film could be shown so often."""

    def recommend(self, visit: Visit) -> float:
        """Choose one film."""
        decision = self.policy.choose(visit.actions)
        liked = float(visit.liked[decision.index])
        self.policy.learn(decision, liked)
        return self.count * liked


class RandomRecommender(Recommender):
    """Any films."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)
        self._rng = np.random.default_rng(seed)

    def recommend(self, visit: Visit) -> float:
        """Draw a list."""
        return float(visit.liked[self._rng.permutation(len(visit.films))[: self.count]].sum())
