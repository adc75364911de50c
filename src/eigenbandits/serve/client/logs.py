"""Logs of other systems, or exports of a service, as decisions to import."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from eigenbandits.extras import need
from eigenbandits.offpolicy import Log


def log_entries(log: Log | str | PathLike[str], name: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield the decisions of a log for `Client.import_decisions`, each with an id made of a name and its number.

    Parameters
    ----------
    log
        A log, or the path of one: a file that `Log.read` reads, or a compact export of the service, read in pieces.
    name
        The name of the log. The same name and number stand for the same decision, whose reward counts once. The default
        is the name of the file.

    Examples
    --------
    >>> log = Log(np.eye(2)[None].repeat(2, axis=0), choices=[1, 0], rewards=[1.0, 0.0], propensities=[0.9, 0.1])
    >>> [(one["request"], one["index"], one["reward"], one["propensity"]) for one in log_entries(log, "before")]
    [('before-0', 1, 1.0, 0.9), ('before-1', 0, 0.0, 0.1)]
    """
    if name is None:
        if isinstance(log, Log):
            raise ValueError("name is None; expected a name, so that the decisions are imported only once.")
        name = Path(log).name
    name = name[-40:]
    rows = _compact(Path(log)) if not isinstance(log, Log) and _is_compact(Path(log)) else _whole(Log.of(log))
    for number, row in enumerate(rows):
        yield row | {"request": f"{name}-{number}"}


def _whole(log: Log) -> Iterator[dict[str, Any]]:
    logged = zip(log.chosen.tolist(), log.earned.tolist(), log.probabilities.tolist(), strict=True)
    for event, (index, reward, likely) in enumerate(logged):
        propensity = None if log.propensities is None else likely
        yield {"actions": log.decision_set(event), "index": index, "reward": reward, "propensity": propensity}


def _is_compact(path: Path) -> bool:
    if path.suffix != ".parquet":
        return False
    need("lab", "pyarrow", what="Parquet")
    import pyarrow.parquet as pq

    return path.exists() and "query" in pq.read_schema(path).names


def _compact(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq

    columns = ["query", "items", "item", "rewards", "propensities"]
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(500, columns=columns):
            for row in batch.to_pylist():
                query = None if row["query"] is None else np.array(row["query"], dtype=np.float32)
                offered = {"query": query, "items": row["items"], "item": row["item"]}
                yield offered | {"reward": row["rewards"], "propensity": row["propensities"]}
