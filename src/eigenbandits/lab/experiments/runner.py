"""Run an experiment: find the missing cells, run them, store each at once, and build the tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenbandits.extras import need
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import provenance
from eigenbandits.lab.experiments.cells import PlannedCell
from eigenbandits.lab.experiments.engines import make_engine
from eigenbandits.lab.experiments.progress import Progress, make_progress
from eigenbandits.lab.experiments.results import Results
from eigenbandits.lab.experiments.store import SETTINGS, Store

if TYPE_CHECKING:
    from eigenbandits.lab.experiments.experiment import Experiment

# A cell that cannot be read when the tables are built is run again; twice in a row means that the disk is broken.
_BUILDS = 3
_OLDER = (
    "Some of the finished cells were made by a different state of this library's code with the same version; "
    "--refresh reruns them."
)


def run_experiment(
    experiment: Experiment,
    out: str | PathLike[str] | None,
    engine: str,
    workers: int | None,
    scheduler: str | None,
    refresh: bool,
    progress: str,
) -> Results:
    """Run the missing cells; see `Experiment.run`."""
    need("lab", "pyarrow", "threadpoolctl", what="Running an experiment")
    store = Store(Path(out) if out is not None else Path("results") / experiment.name)
    planned = experiment.plan(store)
    _refuse_main(planned, engine)
    made = make_engine(engine, store.folder, workers, scheduler)
    with store.locked():
        rows = _rows(experiment, planned)
        last = store.settings()
        older = _older(last.get("code_of_cells", []))
        if last.get("stamp") == (store.stamp(rows) or "none") and not (refresh and older):
            with make_progress(progress, len(planned), len(planned), 0) as shown:
                if older:
                    shown.note(_OLDER)
                return Results.open(store.folder)
        set_aside: list[str] = []
        for _ in range(_BUILDS):
            missing, notes = _missing(store, planned, refresh)
            cells = len({row["hash"] for row in rows})
            with make_progress(progress, cells, cells - len(missing), sum(cell.rounds for cell in missing)) as shown:
                for note in (*set_aside, *notes):
                    shown.note(note)
                failed = _run(store, made, missing, shown)
            if failed:
                raise LabError(_failure_message(failed, cells))
            damaged = _build(store, experiment, planned, engine)
            if not damaged:
                return Results.open(store.folder)
            set_aside = [store.set_aside(hash_) for hash_ in damaged]
    raise LabError(f"the results cannot be read back: {set_aside[0]} It was tried {_BUILDS} times; check the disk.")


def _rows(experiment: Experiment, planned: Sequence[PlannedCell]) -> list[dict[str, Any]]:
    """Return the labels and the hash of each cell, in the order of the table."""
    return [
        {
            "experiment": experiment.name,
            "policy": cell.labels[0],
            "environment": cell.labels[1],
            "seed": cell.seed,
            "hash": cell.hash,
        }
        for cell in planned
    ]


def _older(codes: Iterable[str]) -> list[str]:
    """Return the states of the code that are not this one."""
    return [code for code in codes if code != provenance.code_fingerprint()]


def _missing(store: Store, planned: Sequence[PlannedCell], refresh: bool) -> tuple[list[PlannedCell], list[str]]:
    """Return the cells to run, seed by seed, and notes about those that exist."""
    by_hash = {cell.hash: cell for cell in planned}
    present, notes = store.present(by_hash)
    older = {hash_ for hash_, made in store.made_by(present).items() if _older([made])}
    if refresh:
        present -= older
    elif older:
        notes.append(_OLDER)
    # Seed by seed: a run that is stopped early then compares all policies on the seeds that it has.
    order = sorted(by_hash.values(), key=lambda cell: cell.seed)
    return [cell for cell in order if cell.hash not in present], notes


def _run(store: Store, engine: Any, cells: Sequence[PlannedCell], shown: Progress) -> list[tuple[str, str]]:
    """Run cells, storing each result at once, and return those that failed, each with the reason."""
    failed = []
    if cells:
        with closing(engine.run(cells, shown)) as outcomes:
            for outcome in outcomes:
                if outcome.content is None:
                    failed.append((outcome.cell.name, outcome.error))
                    where = store.keep_failure(outcome.cell.hash, outcome.cell.name, outcome.trace)
                    shown.note(f"{outcome.cell.name} failed: {outcome.error.rstrip('.')}{where}.")
                else:
                    store.write(store.path(outcome.cell.hash), outcome.content)
                    store.forget_failure(outcome.cell.hash)
                    shown.finished(outcome.cell.rounds)
    return failed


def _build(store: Store, experiment: Experiment, planned: Sequence[PlannedCell], engine: str) -> list[str]:
    """Write the tables and the files next to them, and return the cells that cannot be read."""
    rows = _rows(experiment, planned)
    tables, damaged = store.assemble(rows)
    if damaged:
        return damaged
    for name, content in tables.items():
        store.write(store.folder / name, content)
    if experiment.source is not None:
        store.write(store.folder / "experiment.toml", experiment.source.encode())
    metadata = _metadata(experiment, planned, engine) | {
        "other_cells": store.others(row["hash"] for row in rows),
        "code_of_cells": sorted(set(store.made_by({row["hash"] for row in rows}).values())),
        "stamp": store.stamp(rows),
    }
    store.write(store.folder / SETTINGS, json.dumps(metadata, indent=1, ensure_ascii=False).encode())
    return []


def _metadata(experiment: Experiment, planned: Sequence[PlannedCell], engine: str) -> dict[str, Any]:
    """Return the settings in full, the versions and the machine."""
    policies = {cell.labels[0]: {"kind": cell.policy.kind} | dict(cell.policy.params) for cell in planned}
    places = {cell.labels[1]: {"kind": cell.environment.kind} | dict(cell.environment.params) for cell in planned}
    return {
        "settings": experiment.settings() | {"policies": policies, "environments": places},
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "engine": engine,
        "versions": provenance.versions(),
        "code": provenance.code_fingerprint(),
        "machine": provenance.machine(),
    }


def _refuse_main(planned: Sequence[PlannedCell], engine: str) -> None:
    for cell in planned:
        for spec in (cell.policy, cell.environment):
            if "__main__" in spec.modules and engine != "serial":
                raise LabError(
                    f"{spec.kind.removeprefix('__main__:')} is defined in the script itself, where other processes "
                    "cannot find it; move it to a module of its own, or use the engine 'serial'."
                )


def _failure_message(failed: Sequence[tuple[str, str]], cells: int) -> str:
    name, reason = failed[0]
    more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
    return f"{len(failed)} of {cells} cells failed, all others are kept: {name} ({reason.rstrip('.')}){more}."
