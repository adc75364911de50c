"""An experiment: policies × environments × seeds, in a file or in Python, of which only missing cells are run."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenbandits.inputs import whole
from eigenbandits.lab.errors import LabError, check_names
from eigenbandits.lab.experiments.cells import PlannedCell
from eigenbandits.lab.experiments.data_files import DataFiles
from eigenbandits.lab.experiments.recording import Record
from eigenbandits.lab.experiments.specs import Spec, specs
from eigenbandits.lab.experiments.store import Store

if TYPE_CHECKING:
    from eigenbandits.lab.experiments.results import Results

_SETTINGS = ("name", "policies", "environments", "seeds", "rounds", "record", "description")


class Experiment:
    """Policies × environments × seeds: a plan of cells, each run once and kept under the hash of its settings.

    Parameters
    ----------
    name : str
        The name of the results.
    policies : mapping
        For each label a policy (`PSLB`, …) or a table of settings, such as
        ``{"kind": "PSLB", "noise": 0.5, "rank": "$rank"}``: ``kind`` is one of this library's policies or
        ``"module:Class"``, by default the label; ``"$rank"`` is read from the environment;
        ``each = {"rank": [1, 4]}`` makes one policy per combination. The experiment seeds the policies.
    environments : mapping
        The same for environments. Strings that end in .npy, .npz or .parquet are data files, known by their content.
    seeds : int or sequence of int
        The number of seeds (0, 1, 2, …), or the seeds.
    rounds : int
        The length of each run.
    record : Record or mapping, optional
        What is recorded; see `Record`.
    description : str
        A sentence or two for the report.
    base : path, optional
        The folder that relative paths of data files start from, by default the current one.

    Examples
    --------
    >>> import tempfile
    >>> import eigenbandits as eb
    >>> experiment = eb.Experiment(
    ...     name="first",
    ...     policies={"PSLB": eb.PSLB(noise=0.5), "OFUL": eb.OFUL(noise=0.5)},
    ...     environments={"paper": eb.environments.LowRank(dim=10, rank=2, arms=5)},
    ...     seeds=2,
    ...     rounds=50,
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = experiment.run(folder, progress="none")
    >>> results.final("regret").shape  # policies, environments, seeds
    (2, 1, 2)
    """

    def __init__(
        self,
        name: str,
        policies: Mapping[str, Any],
        environments: Mapping[str, Any],
        seeds: int | Iterable[int],
        rounds: int,
        record: Record | Mapping[str, Any] | None = None,
        description: str = "",
        base: str | PathLike[str] = ".",
    ) -> None:
        if not isinstance(name, str) or not name or set(name) & set('/\\\0:*?"<>|'):
            raise LabError(f"name is {name!r}; expected a word that can be the name of a folder.")
        self.name = name
        self.policies = _table(policies, "policies")
        self.environments = _table(environments, "environments")
        self.seeds = _seeds(seeds)
        self.rounds = _whole(rounds, "rounds")
        self.record = Record.of(record)
        self.description = str(description)
        self.base = Path(base)
        self.source: str | None = None

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Experiment:
        """Read an experiment from a TOML file, or from the experiment.json next to its results.

        Modules in the folder of the file can be named in ``kind = "module:Class"``.
        """
        file = Path(path)
        try:
            text = file.read_bytes().decode()
            parsed = json.loads(text)["settings"] if file.suffix == ".json" else tomllib.loads(text)
        except FileNotFoundError:
            raise LabError(f"there is no file {file}; expected an experiment in TOML.") from None
        except IsADirectoryError:
            raise LabError(f"{file} is a folder; expected an experiment in TOML.") from None
        except (UnicodeDecodeError, tomllib.TOMLDecodeError, json.JSONDecodeError, KeyError, TypeError) as error:
            kind = "an experiment.json of this lab" if file.suffix == ".json" else "TOML"
            raise LabError(f"{file} is not {kind}: {error}.") from None
        check_names(str(file), parsed, _SETTINGS)
        for needed in ("policies", "environments", "seeds", "rounds"):
            if needed not in parsed:
                raise LabError(f"{file} has no {needed!r}; add it.")
        folder = str(file.parent.absolute())
        if folder not in sys.path:
            sys.path.append(folder)
        try:
            experiment = cls(**({"name": file.stem} | parsed), base=file.parent)
        except LabError as error:
            raise LabError(f"{file}: {error}") from None
        experiment.source = text if file.suffix != ".json" else None
        return experiment

    def plan(self, store: Store) -> list[PlannedCell]:
        """Return all cells in the order of the table, after checking that each can be made."""
        data_files = DataFiles(store.data)
        policies = _expand(self.policies, "policy", data_files, self.base)
        environments = _expand(self.environments, "environment", data_files, self.base)
        self._try(policies, environments)
        return [
            PlannedCell(policies[p], environments[e], seed, self.rounds, self.record, (p, e))
            for p in policies
            for e in environments
            for seed in self.seeds
        ]

    def run(
        self,
        out: str | PathLike[str] | None = None,
        engine: str = "serial",
        *,
        workers: int | None = None,
        scheduler: str | None = None,
        refresh: bool = False,
        progress: str = "auto",
    ) -> Results:
        """Run the missing cells, and nothing else, and return the results.

        Parameters
        ----------
        out : path, optional
            The folder of the results, by default ``results/<name>``.
        engine : {"serial", "processes", "dask"}
            Where cells run: in this process, in several, or on a cluster. The results are the same, bit for bit.
        workers : int, optional
            The number of processes, by default one per processor.
        scheduler : str, optional
            The address of a Dask scheduler; None starts a cluster on this machine.
        refresh : bool
            Rerun cells that were made by a different state of this library's code.
        progress : {"auto", "lines", "none"}
            A live view in a terminal and lines elsewhere; lines; or only warnings.
        """
        from eigenbandits.lab.experiments.runner import run_experiment

        return run_experiment(self, out, engine, workers, scheduler, refresh, progress)

    def settings(self) -> dict[str, Any]:
        """Return the experiment as the table that a TOML file would hold."""
        found: dict[str, Any] = {"name": self.name, "seeds": self.seeds, "rounds": self.rounds}
        return found | {"record": vars(self.record), "description": self.description}

    def _try(self, policies: Mapping[str, Spec], environments: Mapping[str, Spec]) -> None:
        """Make everything once, so that a wrong value is reported before anything runs."""
        for e, environment_spec in environments.items():
            try:
                environment = environment_spec.make()
                # Policies are the same on all environments unless they read something from the environment.
                asking = {p for p, r in policies.items() if any(str(v).startswith("$") for v in r.params.values())}
                wanted = [p for p in policies if p in asking or e == next(iter(environments))]
                instance = environment.instance(self.seeds[0]) if asking & set(wanted) else None
            except (ValueError, TypeError, OSError) as error:
                raise LabError(f"environments.{e}: {error}") from None
            for p in wanted:
                try:
                    policies[p].make_policy(self.seeds[0], environment, instance)
                except (ValueError, TypeError, OSError) as error:
                    raise LabError(f"policies.{p}: {error}") from None


def _expand(given: Mapping[str, Any], what: str, data_files: DataFiles, base: Path) -> dict[str, Spec]:
    found: dict[str, Spec] = {}
    for label, entry in given.items():
        for name, spec in specs(label, entry, what, data_files, base).items():
            if name in found:
                raise LabError(f"the label {name!r} is used twice; rename one of the two.")
            found[name] = spec
    return found


def _table(given: Any, what: str) -> dict[str, Any]:
    if not isinstance(given, Mapping) or not given:
        raise LabError(f"{what} is {given!r}; expected a table with at least one entry, a label for each.")
    return {str(label): entry for label, entry in given.items()}


def _seeds(given: Any) -> list[int]:
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        return list(range(_whole(given, "seeds")))
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise LabError(f"seeds is {given!r}; expected a number of seeds, or a list of whole numbers.")
    seeds: Sequence[int] = [_whole(seed, "a seed", least=0) for seed in given]
    if not seeds or len(set(seeds)) < len(seeds):
        raise LabError(f"seeds is {list(given)!r}; expected at least one, and none of them twice.")
    return list(seeds)


def _whole(value: Any, name: str, least: int = 1) -> int:
    try:
        return whole(value, name, least=least)
    except ValueError as error:
        raise LabError(str(error)) from None
