"""A cell: one policy on one environment with one seed, known by the hash of all that its outcome depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from time import monotonic
from typing import Any

import eigenbandits
from eigenbandits.lab import provenance
from eigenbandits.lab.recipes import Recipe
from eigenbandits.lab.recording import Record, Watched, columns
from eigenbandits.lab.run import run
from eigenbandits.lab.tablefiles import write_cell
from eigenbandits.lab.words import LabError

# Raised whenever the same settings would be written down differently.
RESULTS_FORMAT = 1
# How often a run tells how far it is, in seconds, and how many rounds pass between looks at the clock.
_BEAT_SECONDS, _BEAT_ROUNDS = 0.25, 16

Beat = Callable[[int], object]


@dataclass(frozen=True)
class Cell:
    """One run of an experiment.

    Attributes
    ----------
    policy, environment : Recipe
        Who plays where.
    seed : int
        The seed of the instance and of the policy.
    rounds : int
        How long.
    record : Record
        What is written down.
    """

    policy: Recipe
    environment: Recipe
    seed: int
    rounds: int
    record: Record

    def identity(self) -> dict[str, Any]:
        """Return all that the outcome depends on, the version of the library included."""
        return {
            "format": RESULTS_FORMAT,
            "eigenbandits": eigenbandits.__version__,
            "policy": self.policy.identity(),
            "environment": self.environment.identity(),
            "seed": self.seed,
            "rounds": self.rounds,
            "record": asdict(self.record),
        }

    @cached_property
    def hash(self) -> str:
        """The first 128 bits of the SHA-256 of the identity, in hexadecimal."""
        text = json.dumps(self.identity(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def as_text(self) -> str:
        """Return the cell as it travels to other processes: JSON, with its hash."""
        parts = {"policy": self.policy.as_json(), "environment": self.environment.as_json(), "seed": self.seed}
        return json.dumps(parts | {"rounds": self.rounds, "record": asdict(self.record), "hash": self.hash})

    @classmethod
    def from_text(cls, text: str) -> Cell:
        """Read what `as_text` wrote, refusing to run what would be another cell here."""
        parts = json.loads(text)
        cell = cls(
            _recipe(parts["policy"]),
            _recipe(parts["environment"]),
            parts["seed"],
            parts["rounds"],
            Record(**parts["record"]),
        )
        if cell.hash != parts["hash"]:
            raise LabError(
                f"this worker would run another cell than was planned: it has eigenbandits {eigenbandits.__version__}, "
                "or other modules of yours; install the same on every machine."
            )
        return cell


def play(text: str, beat: Beat = lambda rounds: None) -> bytes:
    """Run a cell from nothing but its text and return its file's content.

    Parameters
    ----------
    text : str
        What `Cell.as_text` gave.
    beat : callable
        Told now and then how many rounds are over.
    """
    cell = Cell.from_text(text)
    environment = _environment(json.dumps(cell.environment.as_json(), sort_keys=True))
    instance = environment.instance(cell.seed)
    policy = cell.policy.make_policy(cell.seed, environment, instance)
    watched = Watched(policy, instance, cell.record)
    looks = cell.record.rounds(cell.rounds) if cell.record.diagnostics or cell.record.accuracy else []
    started = monotonic()
    trace = run(watched, instance, cell.rounds, cell.seed, looks, _progress(beat))
    watched.mark(trace)
    made = {
        "hash": cell.hash,
        "identity": cell.identity(),
        "code": provenance.code_fingerprint(),
        "versions": provenance.versions(),
        "machine": provenance.machine(),
        "wall_seconds": monotonic() - started,
    }
    return write_cell(columns(trace, cell.record, cell.rounds), made)


def _recipe(parts: dict[str, Any]) -> Recipe:
    """Read a recipe, hashing the user's modules as they are here."""
    modules = {name: provenance.module_fingerprint(name) for name in parts["modules"]}
    return Recipe(parts["kind"], parts["params"], modules)


@lru_cache(maxsize=4)
def _environment(text: str) -> Any:
    """Return an environment, kept for the next cells of this process: opening its data may take a while."""
    parts = json.loads(text)
    return Recipe(parts["kind"], parts["params"], parts["modules"]).make()


def _progress(beat: Beat) -> Callable[[int], None]:
    due = monotonic() + _BEAT_SECONDS

    def tell(rounds: int) -> None:
        nonlocal due
        if rounds % _BEAT_ROUNDS == 0 and monotonic() >= due:
            due = monotonic() + _BEAT_SECONDS
            beat(rounds)

    return tell
