"""The results table: one row for each policy on each block, from which the claims are checked."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from eigenbandits.inputs import Array
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import Results
from eigenbandits.lab.reporting.tables import aligned, percent, standard_error, write_csv
from eigenbandits.papers.lale2019.policies import groups
from eigenbandits.papers.lale2019.settings import Block, all_blocks
from eigenbandits.papers.lale2019.study import Study

# "The first rounds" of a run, the accuracy that counts as having learned, and the part that is called the end.
EARLY, LEARNED, END = 100, 0.9, 0.2


@dataclass(frozen=True)
class Row:
    """The results of one policy on one block: means over seeds.

    `mistakes` is the regret after all rounds, `early` that of the first 100 rounds and `late` that of the last fifth.
    `accuracy` is the share of images on which the policy's last model ranks the network's choice first; `accuracy_10`
    and `accuracy_100` are the same after 10 and 100 rounds, or the kept round before. `learned` is the first kept round
    from which the mean accuracy stays at 90 % or more; infinite if it never does.
    """

    block: str
    group: str
    policy: str
    rounds: int
    seeds: int
    mistakes: float
    standard_error: float
    early: float
    late: float
    accuracy: float
    accuracy_error: float
    accuracy_10: float
    accuracy_100: float
    learned: float
    microseconds: float

    @property
    def share(self) -> float:
        """Mistakes per round."""
        return self.mistakes / self.rounds


class ResultsTable:
    """The rows of all blocks that have been run; of one policy on one block, the last."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = {(row.block, row.policy): row for row in rows}

    @property
    def rows(self) -> list[Row]:
        """All rows, in their order."""
        return list(self._rows.values())

    def get(self, block: Block | str, policy: str) -> Row | None:
        """Return the row of a policy on a block, or None if it has not been run."""
        return self._rows.get((block.name if isinstance(block, Block) else block, policy))

    @classmethod
    def collect(cls, out: Path, scale: str) -> ResultsTable:
        """Collect what has been run at a scale."""
        return cls(
            row
            for block in all_blocks()
            for group in groups(block)
            if (results := Study(block, group, scale).results(out)) is not None
            for row in rows_of(results, block, group)
        )

    @classmethod
    def read(cls, path: str | PathLike[str]) -> ResultsTable:
        """Read what `write` wrote."""
        kinds: dict[str, Any] = {"str": str, "int": int, "float": float}
        convert = {field.name: kinds[str(field.type)] for field in fields(Row)}
        try:
            text = Path(path).read_text(encoding="utf-8")
            rows = list(csv.DictReader(io.StringIO(text)))
            return cls(Row(**{name: convert[name](value) for name, value in row.items()}) for row in rows)
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise LabError(f"{path} is not a results table of this paper ({error}); `--claims` writes one.") from None

    def write(self, path: str | PathLike[str]) -> None:
        """Write the rows as CSV, with five significant digits."""
        if not self._rows:
            raise LabError("there are no results yet; run a figure first, such as --figure digits.")
        write_csv(path, [{k: _short(v) for k, v in asdict(row).items()} for row in self.rows])


def rows_of(results: Results, block: Block, group: str) -> list[Row]:
    """Return the rows of one study."""
    return [_row(results, block, group, policy) for policy in results.policies]


def _row(results: Results, block: Block, group: str, policy: str) -> Row:
    environment = block.name
    regret = results.curve("regret", policy, environment)
    accuracy = results.curve("accuracy", policy, environment)
    times = results.curve("seconds_median", policy, environment).values
    rounds, final = int(regret.rounds[-1]), regret.values[:, -1]
    mean = accuracy.values.mean(axis=0)
    return Row(
        block=block.name,
        group=group,
        policy=policy,
        rounds=rounds,
        seeds=len(final),
        mistakes=float(final.mean()),
        standard_error=standard_error(final),
        early=_at(regret.rounds, regret.values, min(EARLY, rounds)),
        late=float(final.mean()) - _at(regret.rounds, regret.values, round((1.0 - END) * rounds)),
        accuracy=float(mean[-1]),
        accuracy_error=standard_error(accuracy.values[:, -1]),
        accuracy_10=float(mean[np.searchsorted(accuracy.rounds, 10, side="right") - 1]),
        accuracy_100=float(mean[np.searchsorted(accuracy.rounds, 100, side="right") - 1]),
        learned=first_from(accuracy.rounds, mean, LEARNED),
        microseconds=float(np.median(times)) * 1e6,
    )


def _at(rounds: Array, runs: Array, wanted: int) -> float:
    """Return the mean of cumulative runs after some round, on the straight line between the kept ones."""
    return float(np.interp(wanted, np.concatenate([[0.0], rounds]), np.concatenate([[0.0], runs.mean(axis=0)])))


def first_from(rounds: Array, values: Array, level: float) -> float:
    """Return the first round from which all values reach a level, or infinity.

    Examples
    --------
    >>> first_from(np.array([1, 2, 4, 8]), np.array([0.95, 0.2, 0.9, 1.0]), 0.9)
    4.0
    """
    below = np.flatnonzero(~(values >= level))  # where there is no model there is no accuracy
    start = 0 if not len(below) else int(below[-1]) + 1
    return float(rounds[start]) if start < len(rounds) else float("inf")


def _short(value: object) -> object:
    return f"{value:.5g}" if isinstance(value, float) else value


def as_text(rows: Sequence[Row]) -> str:
    """Return rows as aligned text."""
    headers = [
        "policy",
        "mistakes",
        "± s.e.",
        "first 100\nrounds",
        "last fifth",
        "accuracy\nat the end",
        "90 % from\nround",
    ]
    cells = [
        [
            row.policy,
            f"{row.mistakes:,.1f}",
            f"± {row.standard_error:.1f}" if np.isfinite(row.standard_error) else "–",
            f"{row.early:.1f}",
            f"{row.late:.1f}",
            percent(row.accuracy),
            f"{row.learned:,.0f}" if np.isfinite(row.learned) else "never",
        ]
        for row in rows
    ]
    return aligned(headers, cells)
