"""The libraries that people use today for lists, as recommenders of the study: mab2rec and Vowpal Wabbit's slates."""

from collections.abc import Callable
from typing import Any

import numpy as np

from eigenbandits.extras import need
from eigenbandits.inputs import Array
from eigenbandits.lab.studies.lists.environment import FilmListsInstance, Visit
from eigenbandits.lab.studies.lists.recommenders import Recommender


class Mab2Rec(Recommender):
    """LinUCB of mab2rec, by default with its multiplier: each film is an arm with a ridge regression on the user."""

    def __init__(self, alpha: float = 1.0, seed: int | None = None) -> None:
        super().__init__(seed)
        need("peers", "mab2rec", what="mab2rec")
        from mab2rec import BanditRecommender, LearningPolicy

        self.alpha = alpha
        self._make: Callable[[int], Any] = lambda count: BanditRecommender(
            LearningPolicy.LinUCB(alpha=alpha), top_k=count, seed=123456 if seed is None else seed
        )
        self._recommender: Any = None
        self._catalogue: set[int] = set()

    def reveal(self, instance: FilmListsInstance) -> None:
        """Take the visits, and make an arm of each film."""
        super().reveal(instance)
        self._catalogue = set(range(instance.catalogue))
        self._recommender = self._make(instance.count)
        self._recommender.set_arms(sorted(self._catalogue))
        self._fitted = False

    def recommend(self, visit: Visit) -> float:
        """Recommend what is on offer; it has to be fitted once before, to the first films of the first visit."""
        user, places = visit.user[None], {int(film): place for place, film in enumerate(visit.films)}
        chosen = [int(film) for film in visit.films[: self.count]]
        if self._fitted:
            excluded = [sorted(self._catalogue - places.keys())]
            chosen = [int(film) for film in self._recommender.recommend(user, excluded_arms=excluded)]
        liked = [float(visit.liked[places[film]]) for film in chosen]
        learn = self._recommender.partial_fit if self._fitted else self._recommender.fit
        learn(chosen, liked, np.repeat(user, self.count, axis=0))
        self._fitted = True
        return sum(liked)


class VowpalWabbitSlots(Recommender):
    """`vw --ccb_explore_adf` with a slot for each position, on the action vectors; `options` say how it explores."""

    def __init__(self, options: str = "", seed: int | None = None) -> None:
        super().__init__(seed)
        need("peers", "vowpalwabbit", what="Vowpal Wabbit")
        from vowpalwabbit import pyvw

        self.options = options
        # It takes a seed of 0 for none.
        self._vw: Any = pyvw.Workspace(f"--ccb_explore_adf {options} --quiet --random_seed {(seed or 0) + 1}")

    def recommend(self, visit: Visit) -> float:
        """Take the first action of each slot, which it has drawn, and label the slots with what they earned."""
        lines = ["ccb shared |", *(f"ccb action |a {_features(row)}" for row in visit.actions)]
        slots = [f"|s {position}" for position in range(self.count)]
        drawn = [slot[0] for slot in self._vw.predict([*lines, *(f"ccb slot {slot}" for slot in slots)])]
        labels = [f"ccb slot {index}:{-visit.liked[index]}:{chance}" for index, chance in drawn]
        self._vw.learn([*lines, *(f"{label} {slot}" for label, slot in zip(labels, slots, strict=True))])
        return float(visit.liked[[index for index, _ in drawn]].sum())


def _features(row: Array) -> str:
    """Return the numbers of a vector that are not 0, as text."""
    return " ".join(f"{place}:{row[place]:.6g}" for place in np.flatnonzero(row).tolist())
