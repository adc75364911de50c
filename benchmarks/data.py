"""Decision sets and noise drawn before anything is timed, the same for every method."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eigenbandits.environments import LowRank, Round

Array = NDArray[np.float64]
HERE = Path(__file__).resolve().parent
CACHE = HERE / ".cache"
NOISE = 0.5
SEED = 0


@dataclass(frozen=True, order=True)
class Size:
    """A problem: d, K and m."""

    dim: int
    arms: int
    rank: int = 4

    @property
    def name(self) -> str:
        """A name for files."""
        return f"d{self.dim}-K{self.arms}-m{self.rank}"

    def __str__(self) -> str:
        return f"({self.dim}, {self.arms})"

    def environment(self) -> LowRank:
        """The paper's random model at this size."""
        return LowRank(dim=self.dim, rank=self.rank, arms=self.arms, noise=NOISE)


@dataclass(frozen=True)
class Data:
    """Rounds to play, and as many decision sets in reserve as the floor needs, each to be touched once only."""

    rounds: list[Round]
    reserve: Array
    theta: Array
    basis: Array


def prepare(size: Size, rounds: int, reserve: int) -> Path:
    """Draw the rounds of a size into files, unless they are there, and return their folder."""
    folder = CACHE / "data" / f"{size.name}-T{rounds}-R{reserve}-s{SEED}"
    if folder.exists():
        return folder
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    total = rounds + reserve
    actions = np.lib.format.open_memmap(
        partial / "actions.npy", mode="w+", dtype=np.float64, shape=(total, size.arms, size.dim)
    )
    values, noise = np.empty((total, size.arms)), np.empty(total)
    instance = size.environment().instance(SEED)
    for t, drawn in enumerate(islice(instance.rounds(), total)):
        actions[t], values[t], noise[t] = drawn.actions, drawn.values, drawn.noise
    actions.flush()
    np.savez(partial / "rest.npz", values=values, noise=noise, theta=instance.theta, basis=instance.basis)
    (partial / "about.json").write_text(json.dumps({"rounds": rounds, "reserve": reserve}))
    partial.rename(folder)
    return folder


def load(folder: Path) -> Data:
    """Read the files of `prepare` into memory, so that no round pays for a page fault."""
    about = json.loads((folder / "about.json").read_text())
    actions = np.load(folder / "actions.npy")
    with np.load(folder / "rest.npz") as rest:
        values, noise, theta, basis = (rest[name] for name in ("values", "noise", "theta", "basis"))
    rounds = [Round(actions[t], values[t], float(noise[t])) for t in range(about["rounds"])]
    return Data(rounds, actions[about["rounds"] :], theta, np.ascontiguousarray(basis))


def stream(size: Size) -> Iterator[Round]:
    """Draw rounds as they are asked for, where there are too many to keep."""
    return size.environment().instance(SEED).rounds()
