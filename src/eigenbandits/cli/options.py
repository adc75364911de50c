"""Options that several commands share, so that the same word means the same thing everywhere."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenbandits.cli.version import versions
from eigenbandits.environments.vectors import VectorKind
from eigenbandits.inputs import whole
from eigenbandits.lab.experiments.engines import EngineName


@contextmanager
def refusals() -> Iterator[None]:
    """Report a setting that the library refuses as a bad option: the same sentence, and exit code 2."""
    try:
        yield
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


@contextmanager
def failures(*kinds: type[Exception]) -> Iterator[None]:
    """Report an error that the user can fix in one sentence, with exit code 1."""
    try:
        yield
    except kinds as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None


def group(summary: str) -> typer.Typer:
    """Return a command that only has commands of its own."""
    return typer.Typer(help=summary, no_args_is_help=True, rich_markup_mode=None)


def with_parameters(
    made: Callable[..., None], command: Callable[..., None], parameters: Iterable[inspect.Parameter]
) -> Callable[..., None]:
    """Return a function with the description of another one and with these options, as typer reads them."""
    options = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    made.__doc__ = command.__doc__
    made.__annotations__ = {one.name: one.annotation for one in options}
    made.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return made


def names(given: list[str] | None) -> list[str] | None:
    """Return the values of an option that may be repeated and may hold several separated by commas; None if none."""
    if not given:
        return None
    return [name.strip() for part in given for name in part.split(",") if name.strip()]


def _counted(parameter: typer.CallbackParam, value: int | None) -> int | None:
    with refusals():
        return None if value is None else whole(value, str(parameter.name))


def _count(text: str, **more: Any) -> Any:
    return typer.Option(help=text, callback=_counted, **more)


_PER_USER = "or a folder in the user's cache"

Rounds = Annotated[int, _count("Number of rounds in each run.")]
_NAMES = "Their names; for several, repeat the option or use commas."
Names = Annotated[list[str] | None, typer.Option(help=_NAMES, show_default="all")]
AvailableNames = Annotated[list[str] | None, typer.Option(help=_NAMES, show_default="all in the folder of the data")]
Seeds = Annotated[int, _count("Number of runs, each with its own seed.")]
FirstSeed = Annotated[int, typer.Option(help="The first seed; the others follow it.", min=0)]
Dim = Annotated[int, _count("d, the length of each vector.")]
Rank = Annotated[int, _count("m, the dimension of the hidden subspace.")]
Arms = Annotated[int, _count("K, the number of vectors to choose from in each round.")]
Perturbation = Annotated[float, typer.Option(help="The perturbation's energy, as a multiple of the signal's.")]
Spread = Annotated[float, typer.Option(help="Largest over smallest eigenvalue of the signal, λ₊/λ₋.")]
Vectors = Annotated[VectorKind, typer.Option("--vectors", help="How the vectors are distributed.")]
Noise = Annotated[float, typer.Option(help="R, the standard deviation of the reward noise.")]
Out = Annotated[Path, typer.Option(help="Folder of the results; finished cells are not run again.")]
Data = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of the raw data.", show_default=f"EIGENBANDITS_DATA, {_PER_USER}"),
]
Cache = Annotated[
    Path | None, typer.Option(help="Folder of cached features.", show_default=f"EIGENBANDITS_CACHE, {_PER_USER}")
]
Engine = Annotated[EngineName, typer.Option(help="Where cells run: in this process, in several, or on a Dask cluster.")]
Workers = Annotated[int | None, _count("Number of processes.", show_default="one per processor")]
Scheduler = Annotated[
    str | None,
    typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786.", show_default="a local cluster"),
]
Refresh = Annotated[
    bool, typer.Option("--refresh", help="Rerun cells that were made by a different state of this library's code.")
]
Url = Annotated[str, typer.Option(help="Where the service listens.")]
Config = Annotated[Path | None, typer.Option(help="TOML file of settings; environment and options override it.")]


def _print_versions(wanted: bool) -> None:
    if wanted:
        typer.echo(versions())
        raise typer.Exit


def of_the_application(
    version: Annotated[
        bool, typer.Option("--version", help="Print the versions, and exit.", callback=_print_versions, is_eager=True)
    ] = False,
) -> None:
    """Linear bandits that find the subspace in which the actions live, and explore only there."""
