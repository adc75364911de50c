"""The flagship in other units, and after an unlucky start: the same choices, or nearly the same regret."""

from __future__ import annotations

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.environments import LowRank

ENVIRONMENT = LowRank(dim=30, rank=3, arms=8, perturbation=2.0, noise=0.3)
ROUNDS = 300


def choices(policy, times=1.0, plus=0.0, actions=1.0, environment=ENVIRONMENT, rounds=ROUNDS):
    """Play with rewards · times + plus and actions · size, and return the rows chosen."""
    chosen = []
    for offered, _ in zip(environment.instance(3).rounds(), range(rounds), strict=False):
        decision = policy.choose(actions * offered.actions)
        policy.learn(decision, times * offered.reward(decision.index) + plus)
        chosen.append(decision.index)
    return chosen


# In exact arithmetic nothing changes at all; a tie to the last digit could part the choices, and there is none here.
@pytest.mark.parametrize("make", [eb.EigenUCB, eb.EigenTS])
@pytest.mark.parametrize(
    "units", [{"times": 1000.0}, {"plus": 1000.0}, {"actions": 1000.0}, {"times": 1e-3, "plus": -7.0, "actions": 1e-3}]
)
def test_other_units_change_no_choice(make, units):
    assert choices(make(seed=0), **units) == choices(make(seed=0))


def test_clicks_in_dollars_change_no_choice():
    clicks = LowRank(dim=16, rank=2, arms=6, noise_kind="bernoulli", rate=0.05)
    dollars = choices(eb.EigenUCB(seed=0), times=30.0, environment=clicks)
    assert dollars == choices(eb.EigenUCB(seed=0), environment=clicks)


def test_the_first_click_in_dollars_changes_no_choice():
    clicks = LowRank(64, 4, 20, perturbation=1.0, noise_kind="bernoulli", rate=0.02, theta_norm=1.5)
    # A power of two, so that not even rounding differs.
    dollars = choices(eb.EigenUCB(seed=0), times=32.0, environment=clicks)
    assert dollars == choices(eb.EigenUCB(seed=0), environment=clicks)


def test_equal_rewards_do_not_freeze_it():
    policy, instance = eb.EigenUCB(seed=0), ENVIRONMENT.instance(5)
    lost = []
    for round_, offered in zip(range(1000), instance.rounds(), strict=False):
        decision = policy.choose(offered.actions)
        policy.learn(decision, 0.0 if round_ < 200 else offered.reward(decision.index))
        lost.append(offered.best - offered.values[decision.index])
    blind = np.mean(
        [offered.best - offered.values.mean() for _, offered in zip(range(200), instance.rounds(), strict=False)]
    )
    assert np.mean(lost[-200:]) < 0.25 * blind


def test_one_early_reward_under_a_large_mean_does_no_lasting_harm():
    environment = LowRank(dim=30, rank=3, arms=8, perturbation=2.0, noise=0.3, mean=10.0)
    regret = {}
    for early in (False, True):
        finals = []
        for seed in range(4):
            policy, instance = eb.EigenUCB(seed=seed), environment.instance(seed)
            if early:
                first = next(instance.rounds())
                policy.learn(first.actions[0], first.reward(0))
            finals.append(eb.run(policy, instance, rounds=400).regret[-1])
        regret[early] = np.mean(finals)
    assert regret[True] < 1.5 * regret[False]
