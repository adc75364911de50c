"""A user and a hundred films that the user has rated, of which ten are to be recommended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenbandits.environments import Round
from eigenbandits.environments.base import DataInstance
from eigenbandits.inputs import Array
from eigenbandits.lab.studies.problems.environments import RatedFilms


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """One visit: what is known of the user (q,), and the films on offer by their numbers.

    For each film there is an action vector (K, d), made of user and film, and whether the user likes it (K,): 1 or 0.
    """

    user: Array
    films: NDArray[np.int64]
    actions: Array
    liked: Array


@dataclass(frozen=True)
class FilmLists:
    """Lists of `count` of `films` films for the users of MovieLens, which earn the number of films that the user likes.

    A policy gets the instance (`reveal`) and takes the visits from there, a list for each round; the choice in a round
    is how many films of its list were liked, so that rewards and regrets are those of lists. The file is that of
    `RatedFilms`.
    """

    file: str
    films: int = 100
    count: int = 10

    @property
    def name(self) -> str:
        """How many of how many."""
        return f"FilmLists({Path(self.file).stem}, {self.count} of {self.films})"

    @cached_property
    def rated(self) -> RatedFilms:
        """The films and their ratings."""
        return RatedFilms(self.file)

    def instance(self, seed: int) -> FilmListsInstance:
        """Draw the visits that belong to a seed."""
        return FilmListsInstance(self, seed, dim=1)


class FilmListsInstance(DataInstance):
    """The visits of `FilmLists` that belong to one seed."""

    environment: FilmLists

    @property
    def count(self) -> int:
        """How many films a list has."""
        return self.environment.count

    @property
    def catalogue(self) -> int:
        """How many films there are in all."""
        return len(self.environment.rated.arrays["items"])

    def visits(self) -> Iterator[Visit]:
        """Start the visits from the first; they never end."""
        rated = self.environment.rated
        for user, films in rated.draws(np.random.default_rng(self.seed), self.environment.films):
            offered = rated.offer(user, films)
            yield Visit(rated.arrays["user"][user].astype(np.float64), films, offered.actions, offered.values)

    def rounds(self) -> Iterator[Round]:
        """Yield rounds whose choice is how many films of a list were liked."""
        counts = np.arange(self.count + 1, dtype=np.float64)
        while True:
            yield Round(counts[:, None], counts, 0.0)
