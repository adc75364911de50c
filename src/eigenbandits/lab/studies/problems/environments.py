"""Real decisions as environments, each on one file of `catalogue`: tables, texts, films, documents and prompts."""

from __future__ import annotations

import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits.environments import Classification, ClassificationInstance, Round
from eigenbandits.environments.base import DataInstance
from eigenbandits.inputs import Array
from eigenbandits.inputs.arrays import decision_set, in_blocks
from eigenbandits.lab.studies.problems import preparation

FILMS, LIKED = 10, 4
"""How many films are offered in a round, and the stars from which on a film counts as liked."""
USED_ITEM_NUMBERS = 16
"""The item's numbers that are multiplied with the user's, the strongest first."""
STRONG_COST = 0.13
"""What the answer of the strong model costs, in right answers."""
HIGHEST_RELEVANCE = 4.0


@dataclass(frozen=True)
class FileProblem(ABC):
    """A problem whose examples are in one .npz file; a seed is an order of them."""

    file: str
    names: ClassVar[tuple[str, ...]]

    @cached_property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of the file that the problem uses."""
        return read_arrays(self.file, self.names)

    @property
    def name(self) -> str:
        """Its class and its file."""
        return f"{type(self).__name__}({Path(self.file).stem})"

    @property
    @abstractmethod
    def dim(self) -> int:
        """The length d of an action."""

    @abstractmethod
    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Yield rounds without end."""

    def instance(self, seed: int) -> FileInstance:
        """Draw the rounds that belong to a seed."""
        return FileInstance(self, seed, self.dim)


class FileInstance(DataInstance):
    """The rounds of a `FileProblem` that belong to one seed."""

    environment: FileProblem

    def rounds(self) -> Iterator[Round]:
        """Start the stream from its first round; it never ends."""
        return self.environment.rounds(np.random.default_rng(self.seed))


def read_arrays(file: str, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Return some arrays of a .npz file."""
    try:
        with np.load(file, allow_pickle=False) as opened:
            return {name: opened[name] for name in names}
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {file}.") from None
    except (KeyError, ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{file} is truncated, or does not hold the arrays {', '.join(names)} ({error}).") from error


def orders(count: int, rng: np.random.Generator) -> Iterator[int]:
    """Yield the numbers 0 to `count` − 1 in one random order after another, without end."""
    while True:
        yield from rng.permutation(count)


class Table(ABC):
    """A table with a label for each row, as `Classification` takes it; subclasses are frozen dataclasses."""

    @property
    def name(self) -> str:
        """The class and its settings."""
        return repr(self)

    @cached_property
    def examples(self) -> Classification:
        """The table in memory."""
        return Classification(*self.read())

    @abstractmethod
    def read(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the features (n, p) and the labels (n,)."""

    def instance(self, seed: int) -> ClassificationInstance:
        """Put the rows in the order of a seed."""
        return self.examples.instance(seed)


@dataclass(frozen=True)
class LabeledTable(Table):
    """A table in a file that holds X (n, p) and y (n,)."""

    file: str

    def read(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Read the file."""
        found = read_arrays(self.file, ("X", "y"))
        return found["X"], found["y"]


@dataclass(frozen=True)
class ShippedTable(Table):
    """A table that comes with scikit-learn, standardized; see `preparation.SHIPPED`."""

    table: str

    def read(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Ask scikit-learn for it."""
        return preparation.shipped(self.table)


@dataclass(frozen=True)
class LabeledTexts(FileProblem):
    """Texts to be given one of K labels, by embeddings of both: action k is text ⊙ (label k − mean of the labels).

    Actions are divided by one number that gives them a root mean square length of 1 over all texts and labels. The
    right label is worth 1. The file holds the texts Q (n, d), the labels C (K, d) and the right label y (n,).
    """

    names: ClassVar[tuple[str, ...]] = ("Q", "C", "y")

    @property
    def dim(self) -> int:
        """The length of an embedding."""
        return int(self.arrays["C"].shape[1])

    @cached_property
    def labels(self) -> Array:
        """The centered labels (K, d), scaled."""
        centered = self.arrays["C"].astype(np.float64)
        centered -= centered.mean(axis=0)
        # The mean over texts and labels of ‖q ⊙ c‖² = Σ_j q_j² c_j² is the product of the two means, summed over j.
        energy = np.square(self.arrays["Q"], dtype=np.float64).mean(axis=0) @ np.square(centered).mean(axis=0)
        return np.asarray(centered / np.sqrt(energy))

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Yield the texts in one random order after another."""
        worth = np.eye(len(self.labels))
        for i in orders(len(self.arrays["y"]), rng):
            yield Round(decision_set(self.arrays["Q"][i] * self.labels), worth[self.arrays["y"][i]], 0.0)


@dataclass(frozen=True)
class RatedFilms(FileProblem):
    """Ten of the films that a user has rated, one of which is to be recommended.

    In each round a user and ten of the user's films are drawn. 4 or 5 stars are worth 1. An action is user ⊗ (first 16
    item numbers, 1), or, without `users`, the item's numbers alone. The file holds items (films, p), user (users, q)
    and rating (users, films), 0 for no rating.
    """

    users: bool = True
    names: ClassVar[tuple[str, ...]] = ("items", "user", "rating")

    @property
    def name(self) -> str:
        """The file, and whether actions describe the user."""
        return f"RatedFilms({Path(self.file).stem}, users={self.users})"

    @property
    def dim(self) -> int:
        """The length of an action."""
        items = int(self.arrays["items"].shape[1])
        return int(self.arrays["user"].shape[1]) * (min(items, USED_ITEM_NUMBERS) + 1) if self.users else items

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Draw users and films."""
        for user, films in self.draws(rng, FILMS):
            yield self.offer(user, films)

    def draws(self, rng: np.random.Generator, count: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Draw users who have rated enough films, and `count` of these, without end."""
        rated = [np.flatnonzero(row > 0) for row in self.arrays["rating"]]
        asked = [user for user, films in enumerate(rated) if len(films) >= count]
        if not asked:
            raise ValueError(f"{self.file} has no user who has rated {count} films.")
        while True:
            user = asked[rng.integers(len(asked))]
            yield user, rng.choice(rated[user], count, replace=False)

    def offer(self, user: int, films: NDArray[np.int64]) -> Round:
        """Return the films as a decision set for a user."""
        described, users = self._numbers
        actions = (
            np.einsum("i,kj->kij", users[user], described[films]).reshape(len(films), -1)
            if self.users
            else described[films]
        )
        return Round(decision_set(actions), (self.arrays["rating"][user, films] >= LIKED).astype(np.float64), 0.0)

    @cached_property
    def _numbers(self) -> tuple[Array, Array]:
        """The numbers of each film, and of each user, that actions are made of."""
        items, users = (self.arrays[name].astype(np.float64) for name in ("items", "user"))
        return np.column_stack([items[:, :USED_ITEM_NUMBERS], np.ones(len(items))]) if self.users else items, users


@dataclass(frozen=True)
class RankedDocuments(FileProblem):
    """The documents of one query: which is the most relevant? A relevance of 0 to 4 is worth a quarter of it.

    The file holds F (documents, d), rel (documents,) and query, the number of documents of each query, in their order.
    """

    names: ClassVar[tuple[str, ...]] = ("F", "rel", "query")

    @property
    def dim(self) -> int:
        """The numbers that describe a document."""
        return int(self.arrays["F"].shape[1])

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Yield the queries in one random order after another."""
        ends = np.cumsum(self.arrays["query"], dtype=np.int64)
        starts = ends - self.arrays["query"]
        values = self.arrays["rel"] / HIGHEST_RELEVANCE
        for j in orders(len(ends), rng):
            own = slice(starts[j], ends[j])
            yield Round(decision_set(self.arrays["F"][own]), values[own], 0.0)


@dataclass(frozen=True)
class RoutedPrompts(FileProblem):
    """A strong or a weak language model for each prompt: a right answer is worth 1, the strong model costs 0.13.

    Action k is (prompt, 1) in block k of two. The file holds the prompts' principal numbers P64 (n, 64) and y (n, 2):
    whether the strong and the weak model are right.
    """

    names: ClassVar[tuple[str, ...]] = ("P64", "y")

    @property
    def dim(self) -> int:
        """Two blocks of the prompt's numbers and a 1."""
        return 2 * (int(self.arrays["P64"].shape[1]) + 1)

    def rounds(self, rng: np.random.Generator) -> Iterator[Round]:
        """Yield the prompts in one random order after another."""
        values = self.arrays["y"] - np.array([STRONG_COST, 0.0])
        for i in orders(len(values), rng):
            yield Round(in_blocks(np.append(self.arrays["P64"][i].astype(np.float64), 1.0), 2), values[i], 0.0)
