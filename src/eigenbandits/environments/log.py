"""Logged decisions: what was offered, what was chosen, how likely that was, and what it earned."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.environments.data import Data, decision_set, open_array, open_indices, open_numbers
from eigenbandits.inputs import Array

Sets = NDArray[Any] | Sequence[NDArray[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """Events of some system that chose before us.

    Parameters
    ----------
    actions : array of shape (n, K, d), sequence of n arrays (Kᵢ, d), or path
        The decision set of each event; the path of a .npy file is mapped from disk.
    choices : array of shape (n,), or path
        The row that was chosen.
    rewards : array of shape (n,), or path
        What it earned.
    propensities : array of shape (n,), or path, optional
        The probability with which it was chosen. None says that every row was equally likely.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbandits.environments import Log
    >>> log = Log(np.ones((3, 2, 4)), choices=[0, 1, 1], rewards=[0.0, 1.0, 0.0])
    >>> len(log), log.uniform, log.probabilities
    (3, True, array([0.5, 0.5, 0.5]))
    """

    actions: Data | Sequence[Any]
    choices: Data
    rewards: Data
    propensities: Data | None = None

    def __post_init__(self) -> None:
        """Open the files and refuse what does not fit together."""
        if len(self.sets) == 0:
            raise ValueError("the log is empty; expected at least one event.")
        if any(np.ndim(actions) != 2 for actions in self.sets[:1]):
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
    def read(cls, path: str | PathLike[str]) -> Log:
        """Read a log from a .npz or a Parquet file with the columns actions, choices, rewards and propensities."""
        file = Path(path)
        try:
            found = _read_parquet(file) if file.suffix == ".parquet" else dict(np.load(file, allow_pickle=False))
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no file {file}; expected a log in .npz or Parquet form.") from None
        except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
            raise ValueError(f"{file} cannot be read as a log, or is cut short ({error}).") from error
        return cls.of(found, str(file))

    @classmethod
    def of(cls, log: Log | Mapping[str, Any] | str | PathLike[str], what: str = "the log") -> Log:
        """Return a log from what users hand in: a log, a mapping with its four entries, or a path."""
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
        """The decision sets: one array, mapped from disk if a path was given, or a list of arrays."""
        if isinstance(self.actions, Sequence) and not isinstance(self.actions, str):
            return [np.asarray(actions) for actions in self.actions]
        return open_array(self.actions, "actions")

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many rows each event offered."""
        if isinstance(self.sets, np.ndarray):
            return np.full(len(self.sets), self.sets.shape[1])
        return np.array([len(actions) for actions in self.sets])

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


def _read_parquet(path: Path) -> dict[str, Any]:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    found = {name: table[name].to_numpy() for name in table.column_names if name != "actions"}
    if "actions" in table.column_names:
        found["actions"] = [np.array(rows, dtype=np.float64) for rows in table["actions"].to_pylist()]
    return found
