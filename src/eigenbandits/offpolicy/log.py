"""Logged decisions: what was offered, what was chosen, how likely that was, and what it earned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits.inputs import Array
from eigenbandits.inputs.arrays import Data, decision_set, open_array, open_indices, open_numbers
from eigenbandits.offpolicy import log_files


@runtime_checkable
class Sets(Protocol):
    """Decision sets by number: an array (n, K, d), one mapped from disk, or anything that makes them on demand."""

    def __len__(self) -> int:
        """How many."""

    def __getitem__(self, event: int, /) -> Any:
        """The decision set (K, d) of one event."""


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """Logged events: what was offered, chosen and earned.

    Parameters
    ----------
    actions : array of shape (n, K, d), sequence of n arrays (Kᵢ, d), or path
        The decision set of each event; the path of a .npy file is mapped from disk. An object with an item for each
        event, and a `shape` of three numbers if all sets have one size, is read one set at a time, so that the sets
        need not fit into memory.
    choices : array of shape (n,), or path
        The row that was chosen.
    rewards : array of shape (n,), or path
        What it earned.
    propensities : array of shape (n,), or path, optional
        The probability with which it was chosen: `Decision.propensity`, for a log of this library's policies. None
        means that every row was equally likely.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbandits.offpolicy import Log
    >>> log = Log(np.ones((3, 2, 4)), choices=[0, 1, 1], rewards=[0.0, 1.0, 0.0])
    >>> len(log), log.uniform, log.probabilities
    (3, True, array([0.5, 0.5, 0.5]))
    """

    actions: Data | Sequence[Any] | Sets
    choices: Data
    rewards: Data
    propensities: Data | None = None

    def __post_init__(self) -> None:
        """Open the files and refuse what does not fit together."""
        if len(self.sets) == 0:
            raise ValueError("the log is empty; expected at least one event.")
        if np.ndim(self.sets[0]) != 2:
            raise ValueError("actions holds no decision sets; expected an array of shape (events, choices, dimension).")
        count = len(self.sets)
        open_numbers(self.rewards, "rewards", count)
        wrong = np.flatnonzero(self.chosen >= self.sizes)
        if len(wrong):
            event = int(wrong[0])
            raise ValueError(
                f"event {event} chose row {self.chosen[event]} of {self.sizes[event]}; expected a row of its set."
            )
        if self.probabilities.min() <= 0.0 or self.probabilities.max() > 1.0:
            raise ValueError("propensities holds a number outside (0, 1]; expected the probability of each choice.")

    @classmethod
    def read(cls, path: str | PathLike[str], vectors: Callable[[Mapping[str, Any]], ArrayLike] | None = None) -> Log:
        """Read a log from a file: .npz or .parquet with its entries, or else the dsjson of Vowpal Wabbit.

        The decision sets of a Parquet file are read when they are needed, and the file may be larger than the memory.
        In dsjson every line is an event. Its reward is its cost with the sign changed. Lines that carry no decision
        (late rewards without their event) and those marked `_skipLearn` are skipped.

        Parameters
        ----------
        path
            The file.
        vectors
            For dsjson: gives the decision set (K, d) of an event from its context, the object under "c" with the
            features of each action in the list "_multi" and those that all of them share next to it. None makes a
            column of every feature in the file, those of the actions first and then those that are shared, in
            alphabetical order: numbers as they are, words and switches as 0 or 1, what begins with "_" left out, as
            Vowpal Wabbit does. Words with many values make many columns; embed them yourself then. A list of numbers
            that is all that each action has, as `write` leaves it, is its vector.
        """
        return cls.of(log_files.read(Path(path), vectors), str(path))

    def write(self, path: str | PathLike[str]) -> None:
        """Write the log to a .npz, .parquet or .dsjson file, whole or not at all.

        Vowpal Wabbit learns from the last: ``vw --dsjson --cb_explore_adf -d <path>``.
        """
        log_files.write(self, Path(path))

    @classmethod
    def of(cls, log: Log | Mapping[str, Any] | str | PathLike[str], what: str = "the log") -> Log:
        """Return a log from what users pass: a log, a mapping with its four entries, or a path."""
        if isinstance(log, Log):
            return log
        if isinstance(log, str | PathLike):
            return cls.read(log)
        names = [field.name for field in fields(cls)]
        unknown = sorted(set(log) - set(names))
        missing = sorted(set(names[:3]) - set(log))
        if unknown or missing:
            fault = f"has no entry {missing[0]!r}" if missing else f"has an entry {unknown[0]!r}"
            raise ValueError(f"{what} {fault}; expected {', '.join(names)}, of which the last may be left out.")
        return cls(**log)

    @cached_property
    def sets(self) -> Sets:
        """The decision sets: one array, mapped from disk if a path was given, a list of arrays, or what makes them."""
        given: Any = self.actions
        if isinstance(given, Sequence) and not isinstance(given, str):
            return [np.asarray(actions) for actions in given]
        if isinstance(given, Sets) and not isinstance(given, str) and len(getattr(given, "shape", (0, 0, 0))) == 3:
            return given
        return open_array(given, "actions")

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """The numbers n, K and d where every event offered as many rows, and they are held together; else None."""
        shape = getattr(self.sets, "shape", None)
        return None if shape is None else (shape[0], shape[1], shape[2])

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many rows each event offered."""
        if self.shape is not None:
            return np.full(len(self.sets), self.shape[1])
        return np.array([len(self.sets[event]) for event in range(len(self.sets))])

    @cached_property
    def chosen(self) -> NDArray[np.int64]:
        """The row that each event chose."""
        return open_indices(self.choices, "choices", len(self.sets))

    @cached_property
    def earned(self) -> Array:
        """The reward of each event."""
        return open_numbers(self.rewards, "rewards", len(self.sets))

    @cached_property
    def probabilities(self) -> Array:
        """The probability with which each event chose what it chose."""
        if self.propensities is None:
            return 1.0 / self.sizes
        return open_numbers(self.propensities, "propensities", len(self.sets))

    @property
    def uniform(self) -> bool:
        """Whether every row of every event was equally likely."""
        return bool(np.allclose(self.probabilities * self.sizes, 1.0, rtol=1e-6))

    def __len__(self) -> int:
        return len(self.sets)

    def __repr__(self) -> str:
        return f"Log({len(self)} events)"

    def decision_set(self, event: int) -> Array:
        """Return what one event offered, of shape (K, d)."""
        return decision_set(self.sets[event])
