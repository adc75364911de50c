"""Options that come together, declared once: those of an experiment's engine, and those of the paper's model."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

import typer

from eigenbandits.cli import options
from eigenbandits.environments import LowRank
from eigenbandits.extras import need
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import Experiment, Results
from eigenbandits.lab.reporting.tables import listed, write_csv


@dataclass(frozen=True)
class Runner:
    """Runs experiments as the options of the command line say."""

    engine: options.Engine = "processes"
    workers: options.Workers = None
    scheduler: options.Scheduler = None
    refresh: options.Refresh = False

    def __call__(self, experiment: Experiment, out: Path | None, progress: str = "auto") -> Results:
        """Run the missing cells; an error is one sentence with exit code 1, and an interrupt has exit code 130."""
        with options.failures(LabError):
            try:
                return experiment.run(
                    out,
                    self.engine,
                    workers=self.workers,
                    scheduler=self.scheduler,
                    refresh=self.refresh,
                    progress=progress,
                )
            except KeyboardInterrupt:
                typer.echo("Stopped. Finished cells are kept; the same command continues from here.", err=True)
                raise typer.Exit(130) from None


@dataclass(frozen=True)
class LowRankOptions:
    """The options of `LowRank`."""

    dim: options.Dim = 100
    rank: options.Rank = 4
    arms: options.Arms = 10
    perturbation: options.Perturbation = 9.0
    spread: options.Spread = 1.0
    noise: options.Noise = 0.5

    def environment(self, **more: Any) -> LowRank:
        """Return the environment; a setting that it refuses is a bad option."""
        with options.refusals():
            return LowRank(**asdict(self), **more)


def runs_experiments(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its parameter ``run: Runner``, and of any other that is a dataclass."""
    own = inspect.signature(command, eval_str=True).parameters
    kinds: dict[str, Any] = {one.name: one.annotation for one in own.values()}
    groups: dict[str, Any] = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}
    fields = {name: inspect.signature(group, eval_str=True).parameters for name, group in groups.items()}
    parameters = [
        one
        for name, plain in own.items()
        if name != "run"
        for one in (fields[name].values() if name in fields else [plain])
    ]

    def wrapped(**given: Any) -> None:
        need("lab", "pyarrow", "matplotlib", "threadpoolctl", what="This command")
        made = {name: group(**{field: given.pop(field) for field in fields[name]}) for name, group in groups.items()}
        command(**given, **made)

    return options.with_parameters(wrapped, command, [*parameters, *fields["run"].values()])


def write_table(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows to a CSV file, and print its path."""
    write_csv(path, rows)
    wrote([path])


def wrote(paths: Sequence[Path]) -> None:
    """Print which files were written."""
    typer.echo(f"\nWrote {listed([str(path) for path in paths])}")
