"""The problems, the files they are in, and which of them are available here."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from eigenbandits.lab.errors import LabError, unknown
from eigenbandits.lab.folders import data_folder
from eigenbandits.lab.studies.problems.environments import (
    LabeledTable,
    LabeledTexts,
    RankedDocuments,
    RatedFilms,
    RoutedPrompts,
    ShippedTable,
)

FOLDER = "problems"
"""The folder of the files, in the folder of the data."""

_TABLE = "cls_{}.npz"
# Made by a sentence encoder.
_EMBEDDED = ("agnews64", "agnews", "banking77", "routing")


@dataclass(frozen=True)
class Problem:
    """One entry of the catalogue: its name on the command line, and the name of its file.

    `make` makes the environment from the path of the file; `table` is the same table in scikit-learn, if there is one.
    """

    name: str
    file: str
    make: Callable[[str], Any]
    table: str | None = None


def _tables() -> Iterable[Problem]:
    shipped = {"breastcancer": "breast_cancer", "wine": "wine"}
    for name in (
        *("adult", "agnews64", "breastcancer", "covertype", "letter", "mushroom", "optdigits", "page-blocks"),
        *("satimage", "shuttle", "waveform-40", "wine"),
    ):
        yield Problem(name, _TABLE.format(name), LabeledTable, shipped.get(name))


CATALOGUE = {
    problem.name: problem
    for problem in (
        *_tables(),
        Problem("agnews", "txt_agnews.npz", LabeledTexts),
        Problem("banking77", "txt_banking77.npz", LabeledTexts),
        Problem("movielens", "rec_ml100k.npz", RatedFilms),
        Problem("movielens-items", "rec_ml100k.npz", lambda file: RatedFilms(file, users=False)),
        Problem("ranking", "ltr_lightgbm.npz", RankedDocuments),
        Problem("routing", "route_routellm.npz", RoutedPrompts),
        Problem("iris", _TABLE.format("iris"), LabeledTable, "iris"),
        Problem("digits", _TABLE.format("digits"), LabeledTable, "digits"),
    )
}
"""The problems by name. A file cls_NAME.npz of any other name is one more, called NAME."""


@dataclass
class AvailableProblems:
    """The problems that are available here, as environments by name, and why the others are skipped."""

    environments: dict[str, Any] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def available_problems(
    data: str | PathLike[str] | None = None, wanted: Iterable[str] | None = None
) -> AvailableProblems:
    """Return the problems that are available, as environments, and why others are not.

    By default these are all that have a file in the folder of the data, or, if none has, those that scikit-learn ships.

    Examples
    --------
    >>> available_problems("no such folder").environments
    {'breastcancer': ShippedTable(table='breast_cancer'), 'wine': ShippedTable(table='wine'),
    'iris': ShippedTable(table='iris'), 'digits': ShippedTable(table='digits')}
    """
    folder = data_folder(data) / FOLDER
    known = _known(folder)
    names = list(wanted) if wanted is not None else _default(known, folder)
    for name in names:
        if name not in known:
            raise unknown("problem", name, known)
    found = AvailableProblems()
    for name, problem in known.items():
        file = folder / problem.file
        if name in names and file.is_file():
            found.environments[name] = problem.make(str(file))
        elif name in names and problem.table is not None:
            found.environments[name] = ShippedTable(problem.table)
        elif name in names or (wanted is None and problem.table is None):
            found.skipped[name] = _missing(name, folder)
    if not found.environments:
        name, reason = next(iter(found.skipped.items()), ("no problem", "named."))
        raise LabError(f"no problem is available: {name}: {reason}")
    return found


def _missing(name: str, folder: Path) -> str:
    if name in _EMBEDDED:
        return f"not in {folder}, and not fetched, because texts need a sentence encoder; add the file yourself."
    return f"not in {folder}; fetch it with: eigenbandits data fetch problems --to {folder.parent}"


def state(data: str | PathLike[str] | None) -> str:
    """Return a line about the problems that have a file in the folder of the data."""
    folder = data_folder(data) / FOLDER
    there = [name for name, problem in _known(folder).items() if (folder / problem.file).is_file()]
    if there:
        return f"  Problems: {len(there)} in {folder}: {', '.join(there)}"
    return f"  Problems: none in {folder}; fetch them with: eigenbandits data fetch problems"


def _known(folder: Path) -> dict[str, Problem]:
    """Return the catalogue and the other tables in a folder."""
    prefix, suffix = _TABLE.split("{}")
    others = sorted(path.name.removeprefix(prefix).removesuffix(suffix) for path in folder.glob(_TABLE.format("*")))
    own = {name: Problem(name, _TABLE.format(name), LabeledTable) for name in others if name not in CATALOGUE}
    return CATALOGUE | own


def _default(known: dict[str, Problem], folder: Path) -> list[str]:
    there = [name for name, problem in known.items() if (folder / problem.file).is_file()]
    return there or [name for name, problem in known.items() if problem.table is not None]
