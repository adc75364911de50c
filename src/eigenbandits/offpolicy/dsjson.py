"""The dsjson of Vowpal Wabbit: one event per line, with its context, the action taken, its probability and its cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits.files import open_whole

if TYPE_CHECKING:
    from eigenbandits.offpolicy.log import Log

Featurizer = Callable[[Mapping[str, Any]], ArrayLike]
# The namespace in which an action's vector is written.
_NAMESPACE = "x"
# Forms of the same file for lists of actions, of which each line has several.
_LISTS = ("_outcomes", "_slots")


def read(path: Path, vectors: Featurizer | None = None) -> dict[str, Any]:
    """Return the entries of a log from a file of contextual-bandit events, one per line; see `Log.read`."""
    try:
        events = list(_events(path))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text; expected a log in dsjson form, one event per line.") from error
    if not events:
        raise ValueError(f"{path} holds no decision; expected one event of a contextual bandit per line.")
    contexts = [event["c"] for event in events]
    return {
        "actions": [np.asarray(vectors(c), dtype=np.float64) for c in contexts] if vectors else _in_columns(contexts),
        "choices": np.array([event["chosen"] for event in events]),
        "rewards": np.array([-event["cost"] for event in events]),
        "propensities": np.array([event["probability"] for event in events]),
    }


def write(log: Log, path: Path) -> None:
    """Write a log, each action's vector as a list of numbers in the namespace "x".

    Of the probabilities only the chosen action's is known, so that "a" and "p" hold that action alone.
    """
    with open_whole(path) as file:
        for event in range(len(log)):
            chosen, cost = int(log.chosen[event]), -float(log.earned[event])
            likely = float(log.probabilities[event])
            line = {
                "_label_cost": cost or 0.0,
                "_label_probability": likely,
                "_label_Action": chosen + 1,
                "_labelIndex": chosen,
                "Version": "1",
                "EventId": str(event),
                "a": [chosen + 1],
                "c": {"_multi": [{_NAMESPACE: row} for row in log.decision_set(event).tolist()]},
                "p": [likely],
            }
            file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")


def _events(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the context, the chosen row, the cost and the probability of each decision of a file."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                event = json.loads(line)
                if "c" not in event or event.get("_skipLearn"):
                    continue
                if any(name in event or name in event["c"] for name in _LISTS):
                    raise LookupError("it chose several actions at once")
                yield {
                    "c": event["c"],
                    "chosen": _chosen(event),
                    "cost": float(event["_label_cost"]),
                    "probability": float(event["_label_probability"]),
                }
            except (ValueError, TypeError, LookupError) as error:
                reason = f"it has no entry {error}" if isinstance(error, KeyError) else str(error)
                raise ValueError(
                    f"{path}, line {number} is not an event of a contextual bandit: {reason}; expected dsjson."
                ) from error


def _chosen(event: Mapping[str, Any]) -> int:
    row = int(event["_labelIndex"]) if "_labelIndex" in event else int(event["_label_Action"]) - 1
    if not 0 <= row < len(event["c"]["_multi"]):
        raise LookupError(f"it chose row {row} of {len(event['c']['_multi'])}")
    return row


def _in_columns(contexts: list[Mapping[str, Any]]) -> list[NDArray[np.float64]]:
    """Return decision sets with a column for every feature of the file."""
    alone = [_alone(context) for context in contexts]
    if all(found is not None for found in alone):
        return [np.array(found, dtype=np.float64) for found in alone]
    own = [[dict(_features(action)) for action in context["_multi"]] for context in contexts]
    shared = [dict(_features(context)) for context in contexts]
    names = sorted({name for rows in own for row in rows for name in row})
    common = sorted({name for row in shared for name in row})
    columns = {name: column for column, name in enumerate(names)}
    common_columns = {name: len(names) + column for column, name in enumerate(common)}
    sets = []
    for rows, also in zip(own, shared, strict=True):
        made = np.zeros((len(rows), len(names) + len(common)))
        for row, features in enumerate(rows):
            made[row, [columns[name] for name in features]] = list(features.values())
        made[:, [common_columns[name] for name in also]] = list(also.values())
        sets.append(made)
    return sets


def _alone(context: Mapping[str, Any]) -> list[list[float]] | None:
    """Return the vectors of the actions where each has a list of numbers and there is nothing else."""
    if any(not name.startswith("_") for name in context):
        return None
    found = [[value for name, value in action.items() if not name.startswith("_")] for action in context["_multi"]]
    single = all(len(values) == 1 and isinstance(values[0], list) for values in found)
    lists = [values[0] for values in found] if single else []
    numbers = all(isinstance(value, int | float) for values in lists for value in values)
    return lists if lists and numbers and len({len(values) for values in lists}) == 1 else None


def _features(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Yield the features of an object by name, as Vowpal Wabbit reads them."""
    if isinstance(value, bool):
        if value:
            yield name, 1.0
    elif isinstance(value, int | float):
        yield name, float(value)
    elif isinstance(value, str):
        yield f"{name}={value}", 1.0
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if not key.startswith("_"):
                yield from _features(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            # Objects in a list only group namespaces; numbers in one are distinguished by their position.
            yield from _features(inner, name if isinstance(inner, Mapping) else f"{name}.{place}")
