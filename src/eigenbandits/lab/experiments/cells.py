"""A cell: one policy on one environment with one seed, identified by a hash of all that its outcome depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from time import monotonic
from typing import Any

import eigenbandits
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import provenance
from eigenbandits.lab.experiments.parquet import write_cell
from eigenbandits.lab.experiments.recording import Record, Recorder, columns
from eigenbandits.lab.experiments.run import run
from eigenbandits.lab.experiments.specs import Spec

# Increased whenever the same settings would be stored differently.
RESULTS_FORMAT = 1
# Seconds between reports of progress, and rounds between checks of the clock.
_HEARTBEAT_SECONDS, _HEARTBEAT_ROUNDS = 0.25, 16

Heartbeat = Callable[[int], object]


@dataclass(frozen=True)
class Cell:
    """One run of an experiment: a policy and an environment, the seed of both, the length, and what is recorded."""

    policy: Spec
    environment: Spec
    seed: int
    rounds: int
    record: Record

    def identity(self) -> dict[str, Any]:
        """Return everything that the outcome depends on, including the version of the library."""
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
        """Return the cell as it is sent to other processes: JSON, with its hash."""
        parts = {"policy": self.policy.as_json(), "environment": self.environment.as_json(), "seed": self.seed}
        return json.dumps(parts | {"rounds": self.rounds, "record": asdict(self.record), "hash": self.hash})

    @classmethod
    def from_text(cls, text: str) -> Cell:
        """Read what `as_text` wrote, refusing a cell that would be a different one here."""
        parts = json.loads(text)
        cell = cls(
            _spec(parts["policy"]),
            _spec(parts["environment"]),
            parts["seed"],
            parts["rounds"],
            Record(**parts["record"]),
        )
        if cell.hash != parts["hash"]:
            raise LabError(
                f"this worker would run a different cell than planned: it has eigenbandits {eigenbandits.__version__}, "
                "or other versions of your modules; install the same on every machine."
            )
        return cell


@dataclass(frozen=True)
class PlannedCell(Cell):
    """A cell of an experiment, with the labels of its policy and its environment."""

    labels: tuple[str, str]

    @property
    def name(self) -> str:
        """The policy, the environment and the seed."""
        policy, environment = self.labels
        return f"{policy} on {environment} (seed {self.seed})"


def run_cell(text: str, heartbeat: Heartbeat = lambda rounds: None) -> bytes:
    """Run a cell from its text alone and return the file; `heartbeat` gets the number of finished rounds."""
    cell = Cell.from_text(text)
    environment = _environment(json.dumps(cell.environment.as_json(), sort_keys=True))
    instance = environment.instance(cell.seed)
    policy = cell.policy.make_policy(cell.seed, environment, instance)
    recorder = Recorder(policy, instance, cell.record)
    looks = cell.record.rounds(cell.rounds) if cell.record.diagnostics or cell.record.accuracy else []
    started = monotonic()
    trace = run(recorder, instance, cell.rounds, cell.seed, looks, _progress(heartbeat))
    recorder.add_accuracy(trace)
    made = {
        "hash": cell.hash,
        "identity": cell.identity(),
        "code": provenance.code_fingerprint(),
        "versions": provenance.versions(),
        "machine": provenance.machine(),
        "wall_seconds": monotonic() - started,
    }
    return write_cell(columns(trace, cell.record, cell.rounds), made)


def _spec(parts: dict[str, Any]) -> Spec:
    """Read a spec, hashing the user's modules as they are here."""
    modules = {name: provenance.module_fingerprint(name) for name in parts["modules"]}
    return Spec(parts["kind"], parts["params"], modules)


@lru_cache(maxsize=4)
def _environment(text: str) -> Any:
    """Return an environment, kept for the next cells of this process: opening its data can take a while."""
    parts = json.loads(text)
    return Spec(parts["kind"], parts["params"], parts["modules"]).make()


def _progress(heartbeat: Heartbeat) -> Callable[[int], None]:
    due = monotonic() + _HEARTBEAT_SECONDS

    def report(rounds: int) -> None:
        nonlocal due
        if rounds % _HEARTBEAT_ROUNDS == 0 and monotonic() >= due:
            due = monotonic() + _HEARTBEAT_SECONDS
            heartbeat(rounds)

    return report
