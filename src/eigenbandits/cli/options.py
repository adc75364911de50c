"""Options that several commands share, so that the same word means the same thing everywhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenbandits.inputs import whole


class Vectors(StrEnum):
    """How the vectors of `LowRank` are distributed."""

    sphere = "sphere"
    cube = "cube"
    heavy = "heavy"
    duplicates = "duplicates"


@contextmanager
def refusals() -> Iterator[None]:
    """Turn the library's refusal of a setting into the command line's: the same sentence, and exit code 2."""
    try:
        yield
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _counted(parameter: typer.CallbackParam, value: int) -> int:
    with refusals():
        return whole(value, str(parameter.name))


def _count(text: str, **more: Any) -> Any:
    return typer.Option(help=text, callback=_counted, **more)


Rounds = Annotated[int, _count("Rounds that each run lasts.")]
Seeds = Annotated[int, _count("How many runs, each on a seed of its own.")]
FirstSeed = Annotated[int, typer.Option(help="The first seed; the others follow it.", min=0)]
Workers = Annotated[int, _count("Processes that share the runs.", show_default="one per processor")]
Dim = Annotated[int, _count("d, the numbers in each vector.")]
Rank = Annotated[int, _count("m, the dimensions of the hidden subspace.")]
Arms = Annotated[int, _count("K, the vectors to choose from in each round.")]
Perturbation = Annotated[float, typer.Option(help="Energy of the perturbation as a multiple of the signal's.")]
Spread = Annotated[float, typer.Option(help="Largest over smallest eigenvalue of the signal, λ₊/λ₋.")]
Kind = Annotated[Vectors, typer.Option("--vectors", help="How the vectors are distributed.")]
Noise = Annotated[float, typer.Option(help="R, the standard deviation of the reward noise.")]
Out = Annotated[Path, typer.Option(help="Folder for the files that are left.")]

PROCESSORS = os.cpu_count() or 1
