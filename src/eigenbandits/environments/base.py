"""What an environment offers: instances drawn by seed, each an endless and repeatable stream of rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from eigenbandits.inputs import Array, whole

if TYPE_CHECKING:
    from eigenbandits.theory import Structure


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """One decision set, what each of its actions is worth, and the randomness that the reward will use.

    The randomness is drawn before anyone chooses, so that every policy gets the same randomness: with additive
    noise the same number is added whichever action is taken; with two-valued rewards the same uniform number
    decides.

    Attributes
    ----------
    actions : ndarray of shape (K, d)
        The decision set.
    values : ndarray of shape (K,)
        The expected reward of each action.
    noise : float
        What is added to the value of the chosen action; with `outcomes`, a uniform number in [0, 1) instead.
    outcomes : (float, float) or None
        The low and the high reward when rewards take two values only. None when noise is additive.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbandits.environments import Round
    >>> round_ = Round(np.eye(2), np.array([0.25, 0.75]), noise=-0.5)
    >>> round_.reward(1), round_.best
    (0.25, 0.75)
    >>> coin = Round(np.eye(2), np.array([0.25, 0.75]), noise=0.6, outcomes=(0.0, 1.0))
    >>> coin.reward(0), coin.reward(1)
    (0.0, 1.0)
    """

    actions: Array
    values: Array
    noise: float
    outcomes: tuple[float, float] | None = None

    def reward(self, index: int) -> float:
        """Return the reward of the action in row `index`."""
        if not 0 <= index < len(self.values):
            raise IndexError(f"index is {index}; expected a row from 0 to {len(self.values) - 1}.")
        value = float(self.values[index])
        if self.outcomes is None:
            return value + self.noise
        low, high = self.outcomes
        return high if low + (high - low) * self.noise < value else low

    @property
    def best(self) -> float:
        """The expected reward of the best action."""
        return float(self.values.max())


class Instance(Protocol):
    """One drawn problem: a hidden θ*, and a stream of rounds that is the same each time it is started."""

    @property
    def theta(self) -> Array:
        """The hidden θ* of shape (d,): expected rewards are ``actions @ theta`` plus a constant."""

    @property
    def basis(self) -> Array:
        """An orthonormal basis of the hidden subspace, of shape (d, m): the columns of the paper's V."""

    @property
    def structure(self) -> Structure | None:
        """The constants of the paper's Assumption 1, or None where it does not hold."""

    @property
    def noise(self) -> float:
        """The sub-Gaussian constant R of the rewards."""

    @property
    def action_bound(self) -> float | None:
        """A bound L on the norm of every action, or None where there is none."""

    @property
    def theta_bound(self) -> float:
        """A bound S on the norm of θ*."""

    def rounds(self) -> Iterator[Round]:
        """Start the stream from its first round; it never ends."""


@runtime_checkable
class Environment(Protocol):
    """A family of problems, one for each seed."""

    @property
    def name(self) -> str:
        """A short name for tables and figures."""

    def instance(self, seed: int) -> Instance:
        """Draw the problem that belongs to a seed."""


class DataInstance:
    """Base of instances on real data, of which neither θ* (d,) nor the subspace is known."""

    structure: Structure | None = None
    # 1/2 by Hoeffding's lemma for rewards between 0 and 1.
    noise: float = 0.5
    theta_bound: float = 1.0

    def __init__(self, environment: Any, seed: int, dim: int) -> None:
        self.environment = environment
        self.seed = whole(seed, "seed", least=0)
        self.basis: Array = np.zeros((dim, 0))

    @property
    def name(self) -> str:
        """The name of the environment."""
        return str(self.environment.name)

    @property
    def theta(self) -> Array:
        """θ*, where it is known."""
        raise ValueError(f"{self.name} has no known θ*; leave out policies that need it, such as Oracle.")

    @property
    def action_bound(self) -> float | None:
        """A bound on the norm of every action, where there is one."""
        return None


class OrderedExamples(DataInstance):
    """Examples of which one row earns 1 and every other 0, in an order drawn by the seed if they are shuffled."""

    def __init__(self, environment: Any, seed: int, dim: int, examples: int, classes: int) -> None:
        super().__init__(environment, seed, dim)
        self.examples = examples
        # Row k is what the actions are worth where the right one is k.
        self._worth = np.eye(classes)
        self._worth.flags.writeable = False

    def _orders(self) -> Iterator[NDArray[np.int64]]:
        """Yield one order of all examples after another, without end."""
        rng = np.random.default_rng(self.seed)
        while True:
            yield rng.permutation(self.examples) if self.environment.shuffle else np.arange(self.examples)
