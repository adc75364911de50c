"""What a run records: regret, reward and diagnostics at selected rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any

import numpy as np

from eigenbandits.environments.base import Instance, Round
from eigenbandits.inputs import Array, one_of, whole
from eigenbandits.lab.errors import LabError, check_names
from eigenbandits.lab.experiments.run import Trace, flat

# Sets are evaluated together, up to this many numbers (32 MB) at a time.
_BLOCK_NUMBERS = 1 << 22
# The same in every row of a run, or known from its other columns.
_NOT_RECORDED = ("rounds", "dim")


@dataclass(frozen=True)
class Record:
    """Which rounds of a run are kept, and what is recorded at each.

    Parameters
    ----------
    points : int
        How many rounds are kept; all of them if the run is shorter.
    spacing : {"even", "log"}
        Evenly spaced, or evenly spaced on a logarithmic axis.
    diagnostics : bool
        Whether diagnostics are kept at these rounds: those of the policy (rank, projection error, radii …), and those
        of an instance that has a ``diagnostics()`` of its own.
    accuracy : int
        Decision sets on which the accuracy of the policy's model is measured: the share in which it ranks an action of
        the highest value first. 0 skips it. They are the first sets of the instance, unless it has an
        ``accuracy(models, images=None)`` of its own, which is called once for all models of a run.

    Examples
    --------
    >>> Record(points=4).rounds(10)
    [3, 5, 8, 10]
    >>> Record(points=4, spacing="log").rounds(1000)
    [1, 10, 100, 1000]
    """

    points: int = 200
    spacing: str = "even"
    diagnostics: bool = True
    accuracy: int = 200

    def __post_init__(self) -> None:
        """Refuse what cannot be recorded."""
        whole(self.points, "points")
        one_of(self.spacing, "spacing", ("even", "log"))
        whole(self.accuracy, "accuracy", least=0)
        if not isinstance(self.diagnostics, bool):
            raise ValueError(f"diagnostics is {self.diagnostics!r}; expected true or false.")

    @classmethod
    def of(cls, given: Record | Mapping[str, Any] | None) -> Record:
        """Return a record from what the user passed."""
        if given is None or isinstance(given, Record):
            return given or cls()
        check_names("record", given, [field.name for field in fields(cls)])
        try:
            return cls(**given)
        except ValueError as error:
            raise LabError(f"record: {error}") from None

    def rounds(self, total: int) -> list[int]:
        """Return the rounds that are kept, counted from 1; the last one is always among them."""
        points = min(self.points, total)
        if self.spacing == "log":
            kept = np.geomspace(1, total, points) if points > 1 else np.array([total])
        else:
            kept = np.ceil(np.arange(1, points + 1) * (total / points) - 1e-9)
        return sorted({*np.rint(kept).astype(int).tolist(), total})


class Recorder:
    """A policy that remembers its last decision and reports what is recorded; otherwise it is the policy itself."""

    def __init__(self, policy: Any, instance: Instance, record: Record) -> None:
        self.policy = policy
        self._record = record
        self._instance = instance
        self._models: list[Array] = []
        self._decision: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.policy, name)

    def choose(self, actions: Array) -> Any:
        """Choose as the policy does."""
        self._decision = self.policy.choose(actions)
        return self._decision

    def diagnostics(self) -> dict[str, float]:
        """Return all that is a number: diagnostics of policy and instance, and the true projection error."""
        found: dict[str, float] = {}
        for source in (self.policy, self._instance) if self._record.diagnostics else ():
            if hasattr(source, "diagnostics"):
                found |= _numbers(flat(source.diagnostics()))
        if self._record.diagnostics:
            found |= true_projection_error(self.policy, self._instance)
        if self._record.accuracy and hasattr(self._decision, "model"):
            self._models.append(self._decision.model)
        return found

    def add_accuracy(self, trace: Trace) -> None:
        """Add the accuracy of the models at the recorded rounds, all evaluated in one pass."""
        shares = accuracy(self._instance, np.array(self._models), self._record.accuracy) if self._models else None
        if shares is None:
            return
        for round_, share in zip(sorted(trace.diagnostics), shares, strict=True):
            trace.diagnostics[round_] = {**trace.diagnostics[round_], "accuracy": float(share)}


def accuracy(instance: Instance, models: Array, count: int) -> Array | None:
    """Return for each model (p, d) the share of sets in which it ranks a best action first; None if values are unknown.

    The sets are the first `count` of the instance's own stream; for `Classification` they are its examples, each at
    most once. An instance that has an ``accuracy(models, images=None)`` of its own is asked instead.
    """
    examples = int(getattr(instance, "examples", count))
    if hasattr(instance, "accuracy"):
        return np.asarray(instance.accuracy(models, images=count if count < examples else None))
    right, seen = np.zeros(len(models)), 0
    for actions, values in _blocks(instance, min(count, examples), len(models)):
        if np.isnan(values).any():
            return None
        first = (actions.reshape(-1, actions.shape[2]) @ models.T).reshape(*values.shape, -1).argmax(axis=1)
        right += (np.take_along_axis(values, first, axis=1) >= values.max(axis=1, keepdims=True)).sum(axis=0)
        seen += len(first)
    return right / seen


def _blocks(instance: Instance, count: int, models: int) -> Iterator[tuple[Array, Array]]:
    """Yield the actions (n, K, d) and values (n, K) of consecutive sets of the same size."""
    waiting: list[Round] = []
    for offered in islice(instance.rounds(), count):
        arms, dim = offered.actions.shape
        full = len(waiting) * arms * max(dim, models) > _BLOCK_NUMBERS
        if waiting and (full or offered.actions.shape != waiting[0].actions.shape):
            yield _stacked(waiting)
            waiting = []
        waiting.append(offered)
    yield _stacked(waiting)


def _stacked(sets: list[Round]) -> tuple[Array, Array]:
    return np.array([offered.actions for offered in sets]), np.array([offered.values for offered in sets])


def _numbers(found: Mapping[str, Any]) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in found.items()
        if isinstance(value, bool | int | float | np.number | np.bool_) and name not in _NOT_RECORDED
    }


def true_projection_error(policy: Any, instance: Instance) -> dict[str, float]:
    """Return ‖(I − P̂)V‖₂, the part of the true subspace that the estimated one misses; ‖P̂ − P‖₂ for equal ranks.

    The result is empty if the policy estimates no subspace, or the truth is not known.
    """
    current = getattr(getattr(policy, "subspace", None), "current", None)
    frame = current() if current is not None else None
    if frame is None or instance.basis.shape[1] == 0:
        return {}
    inside, _ = np.linalg.qr(frame.directions)
    missed = instance.basis - inside @ (inside.T @ instance.basis)
    return {"projection_error_true": float(np.linalg.norm(missed, ord=2))}


def columns(trace: Trace, record: Record, asked: int) -> dict[str, list[Any]]:
    """Return the columns of one run: cumulative regret, reward and seconds at the kept rounds, and the diagnostics.

    `seconds_median` is the median time of the rounds since the last kept one, which a busy machine disturbs less. If a
    run ended early, as logged data can, its last round is the last row.
    """
    kept = [t for t in record.rounds(asked) if t <= trace.rounds]
    if not kept or kept[-1] != trace.rounds:
        kept.append(trace.rounds)
    ends = np.array(kept) - 1
    starts = [0, *kept[:-1]]
    known = not np.isnan(trace.regret[-1])
    names = sorted({name for seen in trace.diagnostics.values() for name in seen})
    return {
        "round": kept,
        "regret": trace.regret[ends].tolist() if known else [None] * len(kept),
        "reward": np.cumsum(trace.rewards)[ends].tolist(),
        "seconds": np.cumsum(trace.seconds)[ends].tolist(),
        "seconds_median": [float(np.median(trace.seconds[a:b])) for a, b in zip(starts, kept, strict=True)],
    } | {name: [trace.diagnostics.get(t, {}).get(name) for t in kept] for name in names}
