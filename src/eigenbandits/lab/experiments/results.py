"""The results of an experiment: the tables on disk as arrays by policy, environment, seed and round."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenbandits.inputs import Array
from eigenbandits.lab.errors import LabError, unknown
from eigenbandits.lab.experiments import parquet
from eigenbandits.lab.experiments.store import RESULTS, TIMING, Store

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Curve:
    """One column of one policy on one environment: the kept rounds (n,), and values (seeds, n), NaN where missing."""

    rounds: Array
    values: Array


@dataclass(frozen=True, eq=False)
class Results:
    """The results of an experiment.

    Attributes
    ----------
    folder : Path
        Their folder.
    found, times : pyarrow.Table
        The tables of results.parquet and timing.parquet: the same rows, the second with times.
    about : dict
        What is stored with them: settings, versions, machine.
    """

    folder: Path
    found: pa.Table
    times: pa.Table
    about: dict[str, Any] = field(repr=False)

    @classmethod
    def open(cls, folder: str | PathLike[str]) -> Results:
        """Open the folder of an experiment that has been run."""
        path = Path(folder)
        tables = []
        for name in (RESULTS, TIMING):
            try:
                tables.append(parquet.read(path / name)[0])
            except FileNotFoundError:
                raise LabError(
                    f"{path} holds no {name}; expected the folder of an experiment that has been run."
                ) from None
            except parquet.DamagedFileError as error:
                raise LabError(f"{error}; `eigenbandits run` rebuilds it from the cells next to it.") from None
        about = Store(path).settings()
        if "settings" not in about:
            raise LabError(f"{path / 'experiment.json'} is missing or damaged; `eigenbandits run` writes it again.")
        found, times = tables
        return cls(path, found, times, about)

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return str(self.about["settings"]["name"])

    @cached_property
    def policies(self) -> list[str]:
        """The labels of the policies, in their order."""
        return list(dict.fromkeys(self._columns["policy"].tolist()))

    @cached_property
    def environments(self) -> list[str]:
        """The labels of the environments, in their order."""
        return list(dict.fromkeys(self._columns["environment"].tolist()))

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds, in their order."""
        return list(dict.fromkeys(self._columns["seed"].tolist()))

    @property
    def columns(self) -> list[str]:
        """What was measured: regret, reward, the diagnostics and the times."""
        return [name for name in self._columns if name not in parquet.KEYS]

    def table(self) -> pa.Table:
        """Return everything as one table: the keys, the results, and the times."""
        whole = self.found
        for name in parquet.time_columns(self.times.column_names):
            whole = whole.append_column(name, self.times[name])
        return whole

    def to_pandas(self) -> Any:
        """Return everything as one pandas data frame."""
        return self.table().to_pandas()

    def part(self, environments: Collection[str], policies: Collection[str]) -> Results:
        """Return the results of some environments and policies only."""
        import pyarrow as pa
        import pyarrow.compute as pc

        def among(column: str, labels: Collection[str]) -> Any:
            return pc.is_in(self.found[column], value_set=pa.array(list(labels), pa.string()))

        keep = pc.and_(among("environment", environments), among("policy", policies))
        return replace(self, found=self.found.filter(keep), times=self.times.filter(keep))

    def curve(self, column: str, policy: str, environment: str) -> Curve:
        """Return one column over rounds and seeds."""
        if column not in self.columns:
            raise unknown("column", column, self.columns)
        runs = [self._runs[policy, environment, seed] for seed in self.seeds]
        kept = np.unique(np.concatenate([self._columns["round"][run] for run in runs]))
        values = np.full((len(runs), len(kept)), np.nan)
        for row, run in enumerate(runs):
            values[row, np.searchsorted(kept, self._columns["round"][run])] = self._columns[column][run]
        return Curve(kept, values)

    def final(self, column: str) -> Array:
        """Return the last value that each run has in a column, of shape (policies, environments, seeds)."""
        if column not in self.columns:
            raise unknown("column", column, self.columns)
        shape = (len(self.policies), len(self.environments), len(self.seeds))
        ends = [
            self._columns[column][self._runs[p, e, s]][-1]
            for p in self.policies
            for e in self.environments
            for s in self.seeds
        ]
        return np.array(ends, dtype=np.float64).reshape(shape)

    def outcome(self, environment: str) -> str:
        """Return what policies are compared by on an environment: regret, or reward if regret is not known."""
        return "regret" if self.has("regret", environment) else "reward"

    def outcomes(self) -> Array:
        """Return the final outcome of each run, of shape (policies, environments, seeds); see `outcome`."""
        final = {column: self.final(column) for column in ("regret", "reward")}
        return np.stack([final[self.outcome(e)][:, i] for i, e in enumerate(self.environments)], axis=1)

    def has(self, column: str, environment: str | None = None) -> bool:
        """Return whether any run, or any on one environment, has a value in a column."""
        if column not in self._columns:
            return False
        values = self._columns[column]
        where = np.ones(len(values), dtype=bool) if environment is None else self._columns["environment"] == environment
        return bool(np.isfinite(values[where]).any())

    @cached_property
    def _columns(self) -> dict[str, Any]:
        whole = self.table()
        return {name: whole[name].to_numpy(zero_copy_only=False) for name in whole.column_names}

    @cached_property
    def _runs(self) -> dict[tuple[str, str, int], slice]:
        """The rows of each run, which are contiguous."""
        keys = list(zip(*(self._columns[name].tolist() for name in ("policy", "environment", "seed")), strict=True))
        starts = [i for i in range(len(keys)) if i == 0 or keys[i] != keys[i - 1]]
        return {keys[a]: slice(a, b) for a, b in zip(starts, [*starts[1:], len(keys)], strict=True)}
