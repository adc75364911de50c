"""Public data as arrays of numbers: columns standardized or one-hot, films by the ratings of other users."""

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.extras import need
from eigenbandits.inputs import Array

Arrays = dict[str, NDArray[Any]]

# Standard deviations from the mean at which numbers are clipped: rare categories and outliers would dominate the norms.
_FARTHEST = 5.0
# MovieLens: ratings that a film needs from other users, and those that a mean is shrunk by; numbers of a film.
_FEWEST_RATINGS, _SHRUNK_BY, _FILM_NUMBERS = 10, 5.0, 32
# About the mean and the standard deviation of its users' ages.
_USUAL_AGE, _AGE_SPREAD = 34.0, 12.0

SHIPPED = ("iris", "wine", "breast_cancer", "digits")
"""The tables that come with scikit-learn."""


def standardized(table: NDArray[Any]) -> Array:
    """Return the columns that vary, with mean 0 and standard deviation 1, clipped at five deviations.

    Examples
    --------
    >>> standardized(np.array([[1.0, 7.0], [3.0, 7.0]]))
    array([[-1.],
           [ 1.]])
    """
    numbers = np.asarray(table, dtype=np.float64)
    numbers = numbers[:, np.ptp(numbers, axis=0) > 0.0]
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    return np.asarray(np.clip(numbers, -_FARTHEST, _FARTHEST))


def one_hot(table: NDArray[Any], names: Sequence[str], categories: Mapping[str, Sequence[Any] | None]) -> Array:
    """Return a table with a column of zeros and ones for each category instead of a column of categories.

    Parameters
    ----------
    table
        (n, p) numbers; in columns of categories their numbers, and NaN where none is given, which counts as one more.
    names
        The names of the columns.
    categories
        For the names of columns of categories, what the categories are called.

    Examples
    --------
    >>> one_hot(np.array([[0.5, 1.0], [0.1, np.nan]]), ["size", "color"], {"color": ["red", "blue"]})
    array([[0.5, 0. , 1. , 0. ],
           [0.1, 0. , 0. , 1. ]])
    """
    columns = []
    for name, column in zip(names, np.asarray(table, dtype=np.float64).T, strict=True):
        known = categories.get(name)
        if known is None:
            columns.append(column)
        else:
            columns.extend(np.equal(column, k) for k in range(len(known)))
            columns.append(np.isnan(column))
    return np.column_stack(columns).astype(np.float64)


def shipped(name: str) -> tuple[Array, NDArray[np.int64]]:
    """Return the standardized features (n, p) and the labels (n,) of a table that comes with scikit-learn.

    Examples
    --------
    >>> [array.shape for array in shipped("iris")]
    [(150, 4), (150,)]
    """
    if name not in SHIPPED:
        raise ValueError(f"table is {name!r}; expected one of {', '.join(SHIPPED)}.")
    need("digits", "sklearn", what=f"The table {name}")
    from sklearn import datasets

    load: Callable[[], Any] = getattr(datasets, f"load_{name}")
    found = load()
    return standardized(found.data), np.asarray(found.target, dtype=np.int64)


def labeled(table: Array, labels: NDArray[Any]) -> Arrays:
    """Return the arrays of a table's file: X standardized, y numbered from 0, K."""
    kinds, rows = np.unique(labels, return_inverse=True)
    return {
        "X": standardized(table).astype(np.float32),
        "y": rows.astype(np.int16),
        "K": np.asarray(len(kinds), dtype=np.int64),
    }


def films(archive: Path) -> Arrays:
    """Return MovieLens, from its zip file, as users who decide and films that other users have described by ratings.

    A random half of the users rates the films, of which those with ten ratings are kept. A film's first number is the
    mean of its ratings minus that of all, shrunk by five ratings; the others are the principal directions of what the
    means of films and users leave unexplained. The other half decides: age, gender, a 1 and the occupation.
    """
    with zipfile.ZipFile(archive) as opened:
        rated = np.loadtxt(io.BytesIO(opened.read("ml-100k/u.data")), dtype=np.int64)
        people = [line.split("|") for line in opened.read("ml-100k/u.user").decode("latin-1").splitlines()]
    ratings = np.zeros((len(people), int(rated[:, 1].max())))
    ratings[rated[:, 0] - 1, rated[:, 1] - 1] = rated[:, 2]
    order = np.random.default_rng(0).permutation(len(people))
    raters, deciders = np.split(order, [len(people) // 2])
    kept = (ratings[raters] > 0).sum(axis=0) >= _FEWEST_RATINGS
    return {
        "items": _film_numbers(ratings[raters][:, kept]).astype(np.float32),
        "user": _user_numbers(people)[deciders].astype(np.float32),
        "rating": ratings[deciders][:, kept].astype(np.int8),
    }


def _film_numbers(ratings: Array) -> Array:
    """Return (films, numbers) for ratings (users, films), 0 where there is none."""
    given = ratings > 0

    def shrunk_mean(left: Array, axis: int) -> Array:
        return np.asarray(left.sum(axis=axis) / (given.sum(axis=axis) + _SHRUNK_BY))

    left = np.where(given, ratings - ratings[given].mean(), 0.0)
    film = shrunk_mean(left, axis=0)
    left = np.where(given, left - film, 0.0)
    left = np.where(given, left - shrunk_mean(left, axis=1)[:, None], 0.0)
    _, sizes, directions = np.linalg.svd(left / np.sqrt(len(left)), full_matrices=False)
    strongest = slice(0, _FILM_NUMBERS - 1)
    return np.column_stack([film, directions[strongest].T * sizes[strongest]])


def _user_numbers(people: Sequence[Sequence[str]]) -> Array:
    """Return (users, numbers) for the fields number, age, gender and occupation."""
    occupations = sorted({person[3] for person in people})
    return np.array(
        [
            [
                (int(person[1]) - _USUAL_AGE) / _AGE_SPREAD,
                1.0 if person[2] == "M" else -1.0,
                1.0,
                *(float(person[3] == occupation) for occupation in occupations),
            ]
            for person in people
        ]
    )


def documents(folder: Path) -> Arrays:
    """Return both parts of LightGBM's learning-to-rank example, without constant columns.

    A part has a line ``relevance column:number …`` for each document; ``NAME.query`` has the number of documents of
    each query.
    """
    parts = ("rank.train", "rank.test")
    lines = [line.split() for part in parts for line in (folder / part).read_text().splitlines()]
    queries = [int(line) for part in parts for line in (folder / f"{part}.query").read_text().split()]
    if sum(queries) != len(lines):
        raise ValueError(f"{folder} has {len(lines)} documents, and {sum(queries)} in its queries; fetch it again.")
    cells = [[cell.partition(":") for cell in line[1:]] for line in lines]
    numbers = np.zeros((len(lines), 1 + max(int(column) for line in cells for column, _, _ in line)))
    for row, line in enumerate(cells):
        numbers[row, [int(column) for column, _, _ in line]] = [float(number) for _, _, number in line]
    return {
        "F": numbers[:, np.ptp(numbers, axis=0) > 0.0].astype(np.float16),
        "rel": np.array([int(line[0]) for line in lines], dtype=np.int8),
        "query": np.array(queries, dtype=np.int16),
    }
