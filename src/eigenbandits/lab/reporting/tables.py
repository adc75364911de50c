"""Numbers over seeds for people and spreadsheets: standard errors, bands, aligned text, Markdown, CSV."""

import csv
import io
from collections.abc import Mapping, Sequence
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike

from eigenbandits.files import write_whole
from eigenbandits.inputs import Array


def standard_error(values: ArrayLike) -> float:
    """Return the standard error of a mean; NaN for a single value.

    Examples
    --------
    >>> standard_error([1.0, 3.0])  # √2 / √2
    1.0
    """
    array = np.asarray(values, dtype=np.float64)
    return float(np.std(array, ddof=1) / np.sqrt(len(array))) if len(array) > 1 else float("nan")


def mean_with_error(values: ArrayLike, digits: int = 1, scale: float = 1.0) -> str:
    """Return a mean over seeds and its standard error, both times `scale`, as text; a single value has no error.

    Examples
    --------
    >>> mean_with_error([1.0, 3.0]), mean_with_error([2.0])
    ('2.0 ± 1.0', '2.0')
    """
    array = scale * np.asarray(values, dtype=np.float64)
    error = standard_error(array)
    return f"{array.mean():.{digits}f}" + (f" ± {error:.{digits}f}" if np.isfinite(error) else "")


def bootstrap_band(
    values: ArrayLike, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[Array, Array]:
    """Return the lower and the upper end of the percentile bootstrap band of a mean.

    Parameters
    ----------
    values
        One value, or one row of values, for each seed.
    level
        The share of resampled means inside.
    resamples, seed
        How many times the seeds are drawn with replacement, and the seed of these draws.

    Examples
    --------
    >>> low, high = bootstrap_band([2.0, 2.0, 2.0])
    >>> float(low), float(high)
    (2.0, 2.0)
    """
    array = np.asarray(values, dtype=np.float64)
    count = len(array)
    rng = np.random.default_rng(seed)
    # A mean over a resample is a mean of the rows weighted by how often each was drawn.
    weights = rng.multinomial(count, np.full(count, 1.0 / count), size=resamples) / count
    low, high = np.quantile(weights @ array, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    return low, high


def aligned(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text: the first column left-aligned, the others right-aligned, a rule under the headers.

    A header may have several lines.

    Examples
    --------
    >>> print(aligned(["policy", "regret"], [["PSLB", "30.6"], ["OFUL", "156.7"]]))
    policy  regret
    ------  ------
    PSLB      30.6
    OFUL     156.7
    """
    split = [header.split("\n") for header in headers]
    height = max(map(len, split))
    above = [[""] * (height - len(lines)) + lines for lines in split]
    top = [list(cells) for cells in zip(*above, strict=True)]
    widths = [max(len(row[column]) for row in (*top, *rows)) for column in range(len(headers))]

    def line(cells: Sequence[str]) -> str:
        others = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return "  ".join([cells[0].ljust(widths[0]), *others]).rstrip()

    return "\n".join(line(row) for row in (*top, ["-" * width for width in widths], *rows))


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a percentage, or a dash for NaN.

    Examples
    --------
    >>> percent(0.0453), percent(float("nan"))
    ('4.5 %', '–')
    """
    return f"{100.0 * share:.{digits}f} %" if np.isfinite(share) else "–"


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def markdown(headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: bool = False) -> str:
    """Return a table in Markdown; `numbers` aligns all columns but the first to the right.

    Examples
    --------
    >>> print(markdown(["policy", "regret"], [["PSLB", "30.6"]], numbers=True))
    | policy | regret |
    | --- | ---: |
    | PSLB | 30.6 |
    """
    rule = ["---", *(("---:" if numbers else "---") for _ in headers[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headers, rule, *rows))


def write_csv(path: str | PathLike[str], rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows that share their keys to a CSV file, whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, text.getvalue().encode())


def write_sections(path: str | PathLike[str], sections: Mapping[str, str]) -> None:
    """Write tables of aligned text, by title, as a page in Markdown."""
    write_whole(path, "\n".join(f"## {title}\n\n```text\n{part}\n```\n" for title, part in sections.items()).encode())
