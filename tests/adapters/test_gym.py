"""Gymnasium: what its own checker asks for, the same rewards as `eb.run`, and its environments for our policies."""

import numpy as np
import pytest

import eigenbandits as eb

gymnasium = pytest.importorskip("gymnasium", reason='Gymnasium is not installed; run: pip install "eigenbandits[gym]"')
from gymnasium.utils.env_checker import check_env  # noqa: E402

from eigenbandits.adapters.gym import BanditEnv, play  # noqa: E402

PROBLEM = eb.environments.LowRank(dim=10, rank=2, arms=6)


def test_gymnasiums_checker_accepts_it():
    check_env(BanditEnv(PROBLEM, rounds=5), skip_render_check=True)


def test_our_policy_earns_there_what_it_earns_here():
    here = eb.run(eb.EigenUCB(seed=0), PROBLEM, rounds=100, seed=4)
    there = play(eb.EigenUCB(seed=0), BanditEnv(PROBLEM), rounds=100, seed=4)
    assert there.tolist() == here.rewards.tolist()


def test_an_agent_of_gymnasium_plays_our_problem():
    env = BanditEnv(PROBLEM, rounds=20)
    world = PROBLEM.instance(2)
    observation, _ = env.reset(seed=2)
    env.action_space.seed(0)
    steps, truncated = 0, False
    for offered in world.rounds():
        assert observation.tolist() == offered.actions.tolist()
        action = env.action_space.sample()
        observation, reward, terminated, truncated, info = env.step(action)
        assert reward == offered.reward(int(action))
        assert (info["value"], info["best"]) == (offered.values[action], offered.best)
        assert not terminated
        steps += 1
        if truncated:
            break
    assert steps == 20


def test_a_step_before_a_reset_is_refused():
    with pytest.raises(gymnasium.error.ResetNeeded):
        BanditEnv(PROBLEM).step(0)


class Signs(gymnasium.Env):  # type: ignore[misc, name-defined]
    """A context of two numbers; action 1 is right where the first is positive. Episodes have ten steps."""

    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left, self.context = 10, self.np_random.uniform(-1.0, 1.0, 2)
        return self.context, {}

    def step(self, action):
        reward = float(action == (self.context[0] > 0.0))
        self.left, self.context = self.left - 1, self.np_random.uniform(-1.0, 1.0, 2)
        return self.context, reward, self.left == 0, False, {}


def test_contexts_become_vectors_one_for_each_action():
    def blocks(context):
        return np.kron(np.eye(2), np.append(context, 1.0))

    rewards = play(eb.EigenUCB(seed=0), Signs(), rounds=400, seed=0, actions_of=blocks)
    # Random choices earn a half; a line through 0 is right nearly always.
    assert rewards[-200:].mean() > 0.85
