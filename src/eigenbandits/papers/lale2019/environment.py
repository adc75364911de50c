"""Images as bandits through a trained network, from a file of its features; needs neither torch nor the images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits.environments.base import OrderedExamples, Round
from eigenbandits.inputs import Array
from eigenbandits.papers.lale2019.features.file import Features, open_features

# Forming a few decision sets at once is much faster than one by one; more would be wasted in a short run.
_AT_ONCE = 64


@dataclass(frozen=True, eq=False, repr=False)
class Images:
    """The images of MNIST, CIFAR-10, ImageNet or a folder as decision sets (section 5 of the paper).

    Each image is a decision set of K segments, one for each class. The reward is 1 for the segment that *the network
    itself* ranks first, whatever the image shows, and 0 for any other; regret counts the mistakes. Segments have a root
    mean square norm of 1. A seed is an order of the images; after the last one they come in a new order.

    Parameters
    ----------
    features : path
        The file of features that ``eigenbandits features make`` wrote; `features.find` returns its path. It is mapped
        from disk: many processes share one copy.
    shuffle : bool
        False keeps the order of the images, the same for every seed.
    """

    features: str | PathLike[str]
    shuffle: bool = True

    def __post_init__(self) -> None:
        """Open the file, and refuse one that holds no features."""
        self.opened  # noqa: B018

    @cached_property
    def opened(self) -> Features:
        """The content of the file."""
        return open_features(self.features)

    @property
    def name(self) -> str:
        """The name of the features."""
        return f"Images({Path(self.features).stem})"

    def __repr__(self) -> str:
        return self.name

    @property
    def facts(self) -> dict[str, Any]:
        """Facts about network and data: their names, the network's accuracies, and more."""
        return dict(self.opened.facts)

    @property
    def examples(self) -> int:
        """The number of images."""
        return self.opened.examples

    @property
    def classes(self) -> int:
        """K."""
        return self.opened.classes

    @property
    def dim(self) -> int:
        """The length d of a segment."""
        return self.opened.dim

    @property
    def theta(self) -> Array:
        """θ* (d,), the network's last layer."""
        return self.opened.theta

    @property
    def rows(self) -> NDArray[np.int64]:
        """The class that the network itself ranks first, for each image."""
        return self.opened.rows

    def segments(self, images: ArrayLike) -> Array:
        """Return the decision sets (n, K, d) of images, which are given by their numbers."""
        return self.opened.segments(images)

    def accuracy(self, thetas: ArrayLike, images: int | None = None) -> Array:
        """Return for each model (p, d) the share of images on which it ranks the network's own first choice first.

        `images` limits the number of images, the same each time; see `Features.accuracy`.
        """
        return self.opened.accuracy(thetas, images)

    def instance(self, seed: int) -> ImagesInstance:
        """Put the images in the order of a seed."""
        return ImagesInstance(self, seed)


class ImagesInstance(OrderedExamples):
    """The images of an `Images` in the order of one seed; `theta_bound` is the norm of θ*."""

    environment: Images

    def __init__(self, environment: Images, seed: int) -> None:
        super().__init__(environment, seed, environment.dim, environment.examples, environment.classes)
        self.theta_bound = float(np.linalg.norm(self.theta))

    @property
    def theta(self) -> Array:
        """θ* (d,), the network's last layer."""
        return self.environment.theta

    @property
    def action_bound(self) -> float:
        """The largest norm of a segment."""
        return float(self.environment.opened.facts["action_bound"])

    def accuracy(self, thetas: ArrayLike, images: int | None = None) -> Array:
        """Return the accuracy of models (p, d) over all images; see `Features.accuracy`."""
        return self.environment.accuracy(thetas, images)

    def rounds(self) -> Iterator[Round]:
        """Start the stream from its first image; it never ends."""
        env = self.environment
        step = min(_AT_ONCE, env.opened.block)
        for order in self._orders():
            for start in range(0, self.examples, step):
                images = order[start : start + step]
                sets = env.segments(images)
                sets.flags.writeable = False
                for image, actions in zip(images, sets, strict=True):
                    yield Round(actions, self._worth[env.rows[image]], 0.0)
