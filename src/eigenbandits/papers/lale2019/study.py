"""A study: one group of policies on one block at one scale, an experiment with its own folder."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from eigenbandits.environments import Digits
from eigenbandits.environments.digits.network import Network
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import Experiment, Record, Results, entry
from eigenbandits.lab.experiments.store import RESULTS, Store
from eigenbandits.papers.lale2019.environment import Images
from eigenbandits.papers.lale2019.features import find, open_features
from eigenbandits.papers.lale2019.policies import GROUPS, groups, line_up
from eigenbandits.papers.lale2019.settings import Block, all_blocks, length

# More than any dataset has: the lab then uses all images.
_ALL_IMAGES = 10_000_000


@dataclass(frozen=True)
class Study:
    """One of `policies.GROUPS` on one block at one scale, quick or full."""

    block: Block
    group: str
    scale: str

    def folder(self, out: Path) -> Path:
        """Return the folder of its results."""
        return out / self.scale / self.block.name / self.group

    def experiment(self, cache: str | PathLike[str] | None = None) -> Experiment:
        """Return the experiment; raises `LabError` if the features of the block have not been made."""
        asked = length(self.block, self.scale, self.group)
        return Experiment(
            name=f"{self.block.name}-{self.group}",
            policies=line_up(self.block, self.group, unit(self.block, cache)),
            environments={self.block.name: environment(self.block, cache)},
            seeds=asked.seeds,
            rounds=asked.rounds,
            record=Record(asked.points, "log", diagnostics=False, accuracy=asked.images or _ALL_IMAGES),
            description=f"Lale et al. 2019 on {self.block.title}; network: {self.block.network}.",
        )

    def results(self, out: Path) -> Results | None:
        """Return the results if it has been run."""
        folder = self.folder(out)
        return Results.open(folder) if (folder / RESULTS).exists() else None

    def cells(self) -> int:
        """Return how many cells it has."""
        return len(line_up(self.block, self.group)) * length(self.block, self.scale, self.group).seeds

    def done(self, out: Path) -> int:
        """Return how many cells its folder holds, of these settings or of others."""
        return min(self.cells(), len(list(Store(self.folder(out)).cells.glob("*.parquet"))))


def studies(scale: str) -> list[Study]:
    """Return every study at a scale, the most important first: those with a ReLU later, the digits last."""
    places = {group: place for place, group in enumerate(GROUPS)}
    found = [Study(block, group, scale) for block in all_blocks() for group in groups(block)]

    def importance(study: Study) -> tuple[bool, int]:
        later = 2 if study.block.layer == "relu" else 0
        return study.block.dataset == "digits", places[study.group] + later

    return sorted(found, key=importance)


def environment(block: Block, cache: str | PathLike[str] | None = None) -> Any:
    """Return the environment of a block: from this package for the digits, from cached features for the others."""
    if block.dataset == "digits":
        return Digits(relu=block.layer == "relu")
    return entry(Images, features=str(features_file(block, cache)))


def unit(block: Block, cache: str | PathLike[str] | None = None) -> float:
    """Return the root mean square norm of the network's actions, by which environments divide them."""
    if block.dataset == "digits":
        relu = block.layer == "relu"
        scaled = Digits(relu=relu).instance(0).theta
        return float(np.linalg.norm(scaled) / np.linalg.norm(Network.shipped(relu).theta))
    return float(open_features(features_file(block, cache)).facts["scale"])


def features_file(block: Block, cache: str | PathLike[str] | None = None) -> Path:
    """Return the file with the features of a block; raises `LabError` if it has not been made."""
    try:
        return Path(find(block.dataset, block.dim, block.layer, block.other or None, cache))
    except FileNotFoundError as error:
        raise LabError(str(error)) from None
