"""The settings of the experiments, read from settings.toml: blocks, scales and figures by name."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Self

from eigenbandits.lab.errors import LabError, unknown

# The groups of the paper's own comparison, which run on all seeds.
MAIN_GROUPS = ("paper", "intersection")


@cache
def settings() -> dict[str, Any]:
    """Return the content of settings.toml."""
    return tomllib.loads(resources.files(__package__).joinpath("settings.toml").read_text(encoding="utf-8"))


def constants() -> dict[str, Any]:
    """Return R, S, λ, δ and the other constants that the paper leaves open."""
    return dict(settings()["constants"])


def ranks() -> list[int]:
    """Return the values of m.

    Examples
    --------
    >>> ranks()
    [1, 2, 4, 8, 16]
    """
    return list(settings()["constants"]["ranks"])


@dataclass(frozen=True, order=True)
class Block:
    """One environment: the images of a dataset through a network with segments of one length and one kind of layer.

    `layer` is how the representation layer ends: linear, relu; or product, for an unchanged network.
    `other` is a network instead of the one that this repository uses, such as resnet18.

    Examples
    --------
    >>> Block.named("mnist-d500-relu")
    Block(dataset='mnist', dim=500, layer='relu', other='')
    """

    dataset: str
    dim: int
    layer: str = "linear"
    other: str = ""

    @classmethod
    def named(cls, name: str, layer: str = "linear", other: str = "") -> Self:
        """Return a block from its name, with or without the layer in it."""
        dataset, dim, *given = name.split("-")
        return cls(dataset, int(dim.removeprefix("d")), given[0] if given else layer, other)

    def __post_init__(self) -> None:
        """Refuse a block that the paper does not have."""
        known = settings()["datasets"]
        if self.dataset not in known:
            raise unknown("dataset", self.dataset, known)
        about = known[self.dataset]
        if self.layer not in about["layers"]:
            raise LabError(
                f"{about['title']} has no layer {self.layer!r}; expected {' or '.join(about['layers'])} with --layer."
            )
        if self.dim not in about["dims"]:
            raise LabError(f"{about['title']} is not run with d = {self.dim}; expected one of {about['dims']}.")

    @property
    def name(self) -> str:
        """The name of its folder."""
        return "-".join(filter(None, (self.dataset, f"d{self.dim}", self.layer, self.other)))

    @property
    def title(self) -> str:
        """Its name in text."""
        ending = {"linear": "", "relu": ", ReLU", "product": ", products"}[self.layer]
        return f"{settings()['datasets'][self.dataset]['title']}, d = {self.dim}{ending}"

    @property
    def network(self) -> str:
        """The network, and what it replaces."""
        return self.other or str(settings()["datasets"][self.dataset]["network"])

    @property
    def center(self) -> str:
        """How policies center the actions."""
        return str(settings()["center"][self.layer])


@dataclass(frozen=True)
class Length:
    """The rounds and seeds of a block, the rounds recorded, and the images for the accuracy of models; 0 for all."""

    rounds: int
    seeds: int
    points: int
    images: int


def length(block: Block, scale: str, group: str = "paper") -> Length:
    """Return the length of a block for a group at a scale.

    Examples
    --------
    >>> length(Block("mnist", 100), "full")
    Length(rounds=5000, seeds=5, points=60, images=0)
    """
    known = settings()["scales"]
    if scale not in known:
        raise unknown("scale", scale, known)
    chosen = known[scale]
    rounds, seeds = chosen[block.dataset]["rounds"], chosen[block.dataset]["seeds"]
    if group not in MAIN_GROUPS or block.layer == "relu":
        seeds = min(seeds, chosen["other_seeds"])
    return Length(rounds, seeds, chosen["points"], chosen["images"][block.layer])


@dataclass(frozen=True)
class PaperFigure:
    """One of the paper's figures: its number, what it shows, the names of its blocks without the layer, and its m.

    With `intersection` PSLB is drawn over the intersection of both sets, as well as over the projected one alone.
    """

    name: str
    title: str
    blocks: tuple[str, ...]
    ranks: tuple[int, ...]
    intersection: bool = False

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of policies that it draws."""
        return ("paper", "intersection") if self.intersection else ("paper",)

    @property
    def panels(self) -> int:
        """How many panels it has: regret and accuracy of each block and each m."""
        return 2 * len(self.blocks) * len(self.ranks)

    def chosen(self, layer: str | None, network: str = "") -> list[Block]:
        """Return its blocks with one kind of layer, if they have it; by default without a ReLU."""
        wanted = layer or "linear"
        if len(self.blocks) == 1:
            return [Block.named(self.blocks[0], wanted, network)]
        if network:
            raise LabError(f"figure {self.name} has several networks; use --network with a figure that has one.")
        known = settings()["datasets"]
        return [
            Block.named(name, wanted if wanted in known[name.split("-")[0]]["layers"] else "linear")
            for name in self.blocks
        ]


def paper_figures() -> dict[str, PaperFigure]:
    """Return the figures by name.

    Examples
    --------
    >>> sum(figure.panels for name, figure in paper_figures().items() if name.isdigit())
    76
    """
    return {
        name: PaperFigure(
            name,
            about["title"],
            tuple(about["blocks"]),
            tuple(about.get("ranks", ranks())),
            bool(about.get("intersection", False)),
        )
        for name, about in settings()["figures"].items()
    }


def all_blocks() -> list[Block]:
    """Return every block, the most important first."""
    known = settings()["datasets"]
    found = [
        Block(dataset, dim, layer)
        for dataset, about in known.items()
        for dim in about["dims"]
        for layer in about["layers"]
    ]
    places = {"mnist": 0, "cifar10": 1, "imagenet": 2, "digits": 3}
    return sorted(found, key=lambda b: (b.layer == "relu", places[b.dataset], b.dim == 500, b.dim))
