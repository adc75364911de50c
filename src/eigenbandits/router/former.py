"""`Former`: what models were like before they changed, since they may change back while nobody asks them."""

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenbandits.component import Component
from eigenbandits.router.changes import CLIP

Array = NDArray[np.float64]
_ARRAYS = ("models", "chances", "counts", "moved", "added")


class Former(Component):
    """For each model that has changed, what it was like before, and the probability that it is so again.

    A model that became worse is hardly asked any more, so that nobody would notice that it has recovered. But what has
    changed once may change again: with n changes in t requests, the rate is h = (n + ½)/t, its posterior mean under
    Jeffreys's prior, and a model is taken to switch between what it is and what it was at this rate (a hidden Markov
    chain of two states). In s requests without an answer, the probability p of the latter goes from p to
    ½ + (p − ½)e^(−2hs); an answer multiplies the odds by its likelihood ratio. So optimism tries the model again after
    a time that follows from how often it changes, by how much, and how much better the others are; and a few good
    answers suffice.

    Parameters
    ----------
    count
        The number of models.

    Examples
    --------
    >>> former = Former(2)
    >>> former.requests = 100
    >>> former.change(1, np.array([0.0, 0.9]))  # it was worth 0.9, whatever the prompt
    >>> former.requests = 200  # with a change in 200 requests, an odd number of changes in 100 has (1 − e^−1.5)/2
    >>> former.chances_now().round(4).tolist()
    [0.0, 0.3884]
    >>> former.estimates(np.array([5.0])).tolist()
    [0.0, 0.9]
    >>> round(former.learn(1, 0.85, 0.6, 0.9, 0.1), 4)  # 0.85, while 0.6 ± 0.1 is expected, and 0.9 was before
    0.9273
    """

    _state_names: ClassVar[tuple[str, ...]] = (*_ARRAYS, "requests", "known")

    def __init__(self, count: int) -> None:
        # For each model the estimate before its last change, as coefficients of the prompt and a number; the
        # probability that it is as before, and the request as of which that is; the number of its changes, and the
        # request at which it was added.
        self.models: Array = np.zeros((count, 1))
        self.chances: Array = np.zeros(count)
        self.moved: Array = np.zeros(count)
        self.counts: Array = np.zeros(count)
        self.added: Array = np.zeros(count)
        # Requests so far, which are the time that passes; and whether any model has changed so far.
        self.requests = 0
        self.known = False

    def estimates(self, vector: NDArray[np.floating[Any]]) -> Array:
        """Return what each model was expected to be worth for a prompt (d,); 0 for models that have not changed."""
        return np.asarray(self.models[:, :-1] @ vector + self.models[:, -1])

    def chances_now(self) -> Array:
        """Return the probability that each model is as before; 0 for models that have not changed."""
        rates = (self.counts > 0) * (self.counts + 0.5) / np.maximum(self.requests - self.added, 1.0)
        faded = np.exp(-2.0 * rates * (self.requests - self.moved))
        return np.asarray(0.5 + (self.chances - 0.5) * faded)

    def change(self, place: int, model: Array) -> None:
        """Note that a model has changed, and what it was like (d + 1,)."""
        if self.models.shape[1] != len(model):
            self.models = np.zeros((len(self.models), len(model)))
        self.models[place], self.chances[place], self.moved[place] = model, 0.0, self.requests
        self.counts[place] += 1.0
        self.known = True

    def learn(self, place: int, reward: float, estimate: float, before: float, deviation: float) -> float:
        """Take note of a reward, and return the probability that the model is as before.

        Parameters
        ----------
        place, reward
            The model and its reward.
        estimate, before
            What is expected as it is now, and as it was.
        deviation
            The standard deviation of rewards around what is expected.
        """
        chance = float(self.chances_now()[place])
        if chance and deviation > 0.0:
            # As in `ChangeDetector`, a few very bad answers prove nothing.
            z = max(-CLIP, min((reward - estimate) / deviation, CLIP))
            shift = (before - estimate) / deviation
            odds = chance / (1.0 - chance) * math.exp(min(shift * z - 0.5 * shift * shift, 50.0))
            # Never certain, or no answer could speak against it.
            chance = min(odds / (1.0 + odds), 1.0 - 1e-9)
        self.chances[place], self.moved[place] = chance, self.requests
        return chance

    def add(self) -> None:
        """Add a model in the last place."""
        self.models = np.pad(self.models, ((0, 1), (0, 0)))
        for name in _ARRAYS[1:]:
            setattr(self, name, np.append(getattr(self, name), 0.0))
        self.added[-1] = self.requests

    def remove(self, place: int) -> None:
        """Remove a model; those behind it move up."""
        for name in _ARRAYS:
            setattr(self, name, np.delete(getattr(self, name), place, axis=0))

    def state(self) -> dict[str, Any]:
        """Return what changes, with copies of the arrays that are written into."""
        return super().state() | {name: getattr(self, name).copy() for name in _ARRAYS}
