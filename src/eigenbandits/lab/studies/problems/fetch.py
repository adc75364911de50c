"""Fetch the problems from their public sources, each into one file that `catalogue` reads.

Tables come from OpenML, and one from scikit-learn's own mirror, by scikit-learn; films from GroupLens; documents from
LightGBM's examples. Texts would need a sentence encoder, and are not fetched.
"""

import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.extras import need
from eigenbandits.files import write_whole
from eigenbandits.lab.downloads import Echo, PackedFile, Source
from eigenbandits.lab.downloads import fetch as fetch_source
from eigenbandits.lab.errors import DataError
from eigenbandits.lab.folders import data_folder
from eigenbandits.lab.studies.problems import preparation
from eigenbandits.lab.studies.problems.catalogue import CATALOGUE, FOLDER
from eigenbandits.lab.studies.problems.preparation import Arrays

ALL = "problems"
"""The name that stands for all of them."""

# Larger tables are cut to this many random rows, more than any run uses.
_MOST_ROWS = 20_000
# The first rows of covertype hold each class equally often: what its authors trained and validated on.
_COVERTYPE_ROWS = 15_120


@dataclass(frozen=True)
class ExpectedTable:
    """A table of OpenML: its number there, which names one version forever, and the rows and classes expected of it."""

    number: int
    rows: int
    classes: int


TABLES = {
    "adult": ExpectedTable(1590, 48_842, 2),
    "letter": ExpectedTable(6, 20_000, 26),
    "mushroom": ExpectedTable(24, 8_124, 2),
    "optdigits": ExpectedTable(28, 5_620, 10),
    "page-blocks": ExpectedTable(30, 5_473, 5),
    "satimage": ExpectedTable(182, 6_430, 6),
    "shuttle": ExpectedTable(40685, 58_000, 7),
    "waveform-40": ExpectedTable(60, 5_000, 3),
}

MOVIELENS = Source(
    "movielens",
    "MovieLens 100k",
    f"{FOLDER}/movielens",
    ("https://files.grouplens.org/datasets/movielens/",),
    (PackedFile("ml-100k.zip", 4_924_029, "0e33842e24a9c977be4e0107933c0723"),),
    {"ml-100k.zip": "0e33842e24a9c977be4e0107933c0723"},
)

_DOCUMENTS = (
    PackedFile("rank.train", 2_479_271, "8178c79fb07eccc322c81c87fa7a28ec"),
    PackedFile("rank.train.query", 580, "1ade43f73d0af76578473d6ade010a14"),
    PackedFile("rank.test", 649_930, "7b3da47f84c45d0f9c9ea6da6d731cd0"),
    PackedFile("rank.test.query", 146, "573dd86ce28d1035c5a4ad48c7a9d919"),
)
RANKING = Source(
    "ranking",
    "LightGBM's example of learning to rank",
    f"{FOLDER}/lambdarank",
    ("https://raw.githubusercontent.com/microsoft/LightGBM/v4.6.0/examples/lambdarank/",),
    _DOCUMENTS,
    {file.name: file.md5 for file in _DOCUMENTS},
)

FETCHED = ("covertype", *TABLES, MOVIELENS.name, RANKING.name)
"""The names that can be fetched one by one."""


def fetch(name: str, to: str | PathLike[str] | None, echo: Echo) -> list[Path]:
    """Fetch one of `FETCHED`, or `ALL` of them, and return the files; existing files are kept."""
    folder = data_folder(to) / FOLDER
    made = []
    for one in FETCHED if name == ALL else (name,):
        path = folder / CATALOGUE[one].file
        made.append(path)
        if path.is_file():
            echo(f"{one} already exists: {path}")
            continue
        arrays = _prepared(one, to, echo)
        folder.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        np.savez_compressed(content, allow_pickle=False, **arrays)
        write_whole(path, content.getvalue())
        echo(f"{one}: {', '.join(f'{key} {value.shape}' for key, value in arrays.items())} in {path}")
    return made


def _prepared(name: str, to: str | PathLike[str] | None, echo: Echo) -> Arrays:
    if name == MOVIELENS.name:
        return preparation.films(fetch_source(MOVIELENS, to, echo) / MOVIELENS.packed[0].name)
    if name == RANKING.name:
        return preparation.documents(fetch_source(RANKING, to, echo))
    need("digits", "sklearn", what=f"Fetching {name}")
    if name == "covertype":
        return _covertype(echo)
    return _from_openml(name, TABLES[name], echo)


def _covertype(echo: Echo) -> Arrays:
    from sklearn import datasets

    echo("covertype: 11 MB from scikit-learn's mirror")
    with tempfile.TemporaryDirectory() as cache:
        found = _asked("covertype", lambda: datasets.fetch_covtype(data_home=cache))
        table, labels = found.data[:_COVERTYPE_ROWS], found.target[:_COVERTYPE_ROWS]
    _check("covertype", labels, ExpectedTable(0, _COVERTYPE_ROWS, 7))
    return preparation.labeled(table, labels)


def _from_openml(name: str, table: ExpectedTable, echo: Echo) -> Arrays:
    from sklearn import datasets

    echo(f"{name}: data set {table.number} of openml.org")
    # This parser needs no other package, and gives categories as numbers.
    options: dict[str, Any] = {"as_frame": False, "parser": "liac-arff", "cache": False}
    found = _asked(name, lambda: datasets.fetch_openml(data_id=table.number, **options))
    labels = np.asarray(found.target).astype(str)
    _check(name, labels, table)
    numbers = preparation.one_hot(found.data, found.feature_names, found.categories or {})
    rows = np.random.default_rng(0).permutation(len(labels))[:_MOST_ROWS] if len(labels) > _MOST_ROWS else slice(None)
    return preparation.labeled(numbers[rows], labels[rows])


def _asked(name: str, ask: Callable[[], Any]) -> Any:
    """Return what scikit-learn fetches; an error is one sentence."""
    try:
        return ask()
    except (OSError, ValueError) as error:
        reason = str(getattr(error, "reason", None) or error).splitlines()[0].rstrip(".")
        raise DataError(f"{name} cannot be fetched ({reason}); the same command tries again.") from error


def _check(name: str, labels: NDArray[Any], expected: ExpectedTable) -> None:
    found = len(labels), len(np.unique(labels))
    if found != (expected.rows, expected.classes):
        raise DataError(
            f"{name} has {found[0]:,} rows of {found[1]} classes; expected {expected.rows:,} of {expected.classes}: "
            "its source has changed."
        )
