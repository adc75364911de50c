"""Gymnasium: our problems for its agents, and its environments for our policies. Needs the extra `gym`."""

from collections.abc import Callable, Iterator
from typing import Any, SupportsFloat

import gymnasium
import numpy as np

from eigenbandits.environments.base import Environment, Instance, Round
from eigenbandits.inputs import Array, whole
from eigenbandits.policy import Policy


class BanditEnv(gymnasium.Env[Array, np.int64]):
    """A problem of this library as a Gymnasium environment: one episode is one instance.

    An observation is the decision set (K, d), an action is the number of a row, and the reward is that of the row.
    `info` has the expected reward of the choice, ``"value"``, and of the best row, ``"best"``, so that regret can be
    computed. Every decision set must have the same K.

    Parameters
    ----------
    environment
        Such as ``eb.environments.LowRank(...)``.
    rounds
        Steps after which an episode is truncated.

    Examples
    --------
    >>> import eigenbandits as eb
    >>> from eigenbandits.adapters.gym import BanditEnv
    >>> env = BanditEnv(eb.environments.LowRank(dim=8, rank=2, arms=5), rounds=10)
    >>> observation, _ = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(3)
    >>> observation.shape, terminated, truncated, sorted(info)
    ((5, 8), False, False, ['best', 'value'])
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own name and type

    def __init__(self, environment: Environment, rounds: int = 1000) -> None:
        self.environment = environment
        self.rounds = whole(rounds, "rounds")
        shape = next(iter(environment.instance(0).rounds())).actions.shape
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, shape, np.float64)
        self.action_space = gymnasium.spaces.Discrete(shape[0])
        self.instance: Instance | None = None
        self._stream: Iterator[Round] = iter(())
        self._round: Round | None = None
        self._step = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Draw the instance of a seed, or of a random one, and return its first decision set."""
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**31)) if seed is None else seed
        self.instance = self.environment.instance(drawn)
        self._stream, self._step = iter(self.instance.rounds()), 0
        return self._next(), {}

    def step(self, action: np.int64 | int) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Choose a row; return the next decision set, the reward, and whether the episode is over."""
        if self._round is None:
            raise gymnasium.error.ResetNeeded("call reset() before step().")
        index = int(action)
        reward = self._round.reward(index)
        info = {"value": float(self._round.values[index]), "best": self._round.best}
        self._step += 1
        return self._next(), reward, False, self._step >= self.rounds, info

    def _next(self) -> Array:
        self._round = next(self._stream)
        return self._round.actions


def play(
    policy: Policy,
    env: gymnasium.Env[Any, Any],
    rounds: int,
    *,
    seed: int | None = None,
    actions_of: Callable[[Any], Any] = lambda observation: observation,
) -> Array:
    """Run one of our policies in a Gymnasium environment, and return the rewards.

    Each step is one decision; the policy does not plan ahead. When an episode ends, the next one starts.

    Parameters
    ----------
    policy
        Such as ``eb.EigenUCB()``.
    env
        With a discrete action space.
    rounds
        Steps to play.
    seed
        Of the first episode.
    actions_of
        Returns the vectors (K, d) of an observation, one for each action; by default the observation itself.

    Examples
    --------
    >>> import eigenbandits as eb
    >>> from eigenbandits.adapters.gym import BanditEnv, play
    >>> env = BanditEnv(eb.environments.LowRank(dim=8, rank=2, arms=5))
    >>> len(play(eb.EigenUCB(seed=0), env, rounds=20, seed=1))
    20
    """
    rewards = np.empty(whole(rounds, "rounds"))
    observation, _ = env.reset(seed=seed)
    for t in range(len(rewards)):
        decision = policy.choose(actions_of(observation))
        reward: SupportsFloat
        observation, reward, terminated, truncated, _ = env.step(decision.index)
        rewards[t] = float(reward)
        policy.learn(decision, rewards[t])
        if terminated or truncated:
            observation, _ = env.reset()
    return rewards
