"""The environment: each image is a decision set of ten segments, and the network's own first choice is right."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from eigenbandits.environments.classification import Classification, ClassificationInstance
from eigenbandits.environments.digits.network import DIM, Network, load_images


@dataclass(frozen=True)
class Digits:
    """Scikit-learn's 1,797 handwritten digits through a network of the paper's construction (section 5).

    The network has a representation layer of 10 · 100 outputs, read as ten segments of 100 numbers, and one vector θ*
    that they share: the logit of digit i is segment i times θ*. The segments of an image are its decision set. The
    reward is 1 for the segment that *the network itself* ranks first, whatever the image shows, and 0 for any other;
    regret counts the mistakes. Segments are divided, and θ* multiplied, by one number that gives segments a root mean
    square norm of 1: the logits stay, and a ridge or a bound has its usual meaning here. The weights ship with
    this package and were trained by scripts/train_digits.py on 1,297 of the images; scikit-learn brings the images.

    Parameters
    ----------
    relu : bool
        Whether the representation layer ends in a ReLU, which the paper does not say. With it all numbers are at
        least 0, so that the actions share a large common mean.

    Examples
    --------
    >>> environment = Digits()
    >>> first = next(environment.instance(seed=0).rounds())
    >>> first.actions.shape, float(first.values.sum())
    ((10, 100), 1.0)
    """

    relu: bool = False

    @property
    def name(self) -> str:
        """The setting."""
        return f"Digits(relu={self.relu})"

    @property
    def dim(self) -> int:
        """The length of a segment."""
        return DIM

    def instance(self, seed: int) -> ClassificationInstance:
        """Put the images in the order of a seed."""
        return _classification(bool(self.relu)).instance(seed)


@cache
def _classification(relu: bool) -> Classification:
    network = Network.shipped(relu)
    segments = network.segments(load_images()[0])
    size = float(np.sqrt(np.square(segments).sum(axis=2).mean()))
    return Classification(segments / size, (segments @ network.theta).argmax(axis=1), network.theta * size)
