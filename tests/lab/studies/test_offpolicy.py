"""Off-policy estimates from logs that policies write while they learn, in small; and what randomized optimism costs."""

import math
from itertools import islice

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.lab.studies import offpolicy, randomized
from eigenbandits.offpolicy import Log, estimate


def uniform(actions):
    return np.full(len(actions), 1.0 / len(actions))


def test_thompson_logs_with_a_floor_are_unbiased():
    """A uniform target is worth exactly 1 here, whatever the logger learns.

    Tolerance: four standard errors over 30 logs.
    """
    found = []
    for seed in range(30):
        logger = offpolicy.Logger("LinTS", floor=0.2, seed=seed)
        eb.run(logger, offpolicy.environment(60), 120, seed)
        found.append(estimate(logger.log(), uniform, "ips"))
    values = np.array([one.value for one in found])
    assert values.mean() == pytest.approx(1.0, abs=4 * values.std(ddof=1) / math.sqrt(30))
    covered = np.mean([one.interval[0] <= 1.0 <= one.interval[1] for one in found])
    assert covered >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / 30)


def test_thompson_logs_without_a_floor_are_told():
    """Most of 60 actions are never favored by any model, and what they earn is left out: every log says so."""
    for seed in range(2):
        policy = eb.LinTS(noise=0.5, seed=seed)
        events = []
        for offered in islice(offpolicy.environment(60).instance(seed).rounds(), 120):
            decision = policy.choose(offered.actions)
            reward = offered.reward(decision.index) + 1.0
            policy.learn(decision, reward)
            events.append((offered.actions, decision.index, reward, float(decision.propensity or 0.0)))
        blind = estimate(Log(*map(list, zip(*events, strict=True))), uniform)
        assert blind.mean_weight < 0.8
        assert "mean importance weight" in blind.warnings[0]


def test_every_logger_writes_logs_that_can_be_evaluated(tmp_path):
    results = offpolicy.experiment(arms=[5], rounds=60, seeds=1, floor=0.3).run(tmp_path, "serial", progress="none")
    rows = offpolicy.summarize(results)
    assert len(rows) == len(offpolicy.LOGGERS) * 2 * 2
    # Weights of a uniform target are at most 1/ε = 3.3, so that their mean is near 1 even in a short log.
    assert np.mean([row["weight"] for row in rows if row["target"] == "uniform"]) == pytest.approx(1.0, abs=0.3)
    text = offpolicy.report(rows)
    assert all(name in text for name in offpolicy.LOGGERS)
    assert "93.0 %" in text


def test_the_true_value_of_a_target_is_that_of_many_sets():
    """Against fresh sets of another instance, which differs by a rotation."""
    assert offpolicy.true_value("uniform", 2) == 1.0
    values = np.array([offered.values for offered in islice(offpolicy.environment(2).instance(9).rounds(), 4000)])
    weights = np.exp(2 * values) / np.exp(2 * values).sum(axis=1, keepdims=True)
    worth = 1.0 + (weights * values).sum(axis=1)
    expected = pytest.approx(worth.mean(), abs=4 * worth.std() * math.sqrt(1 / 4000 + 1 / 20_000))
    assert offpolicy.true_value("tilted", 2) == expected


def test_chance_costs_regret_where_it_is_strong_and_next_to_none_where_it_is_weak(tmp_path):
    environments = {"small": eb.environments.LowRank(dim=10, rank=2, arms=5, perturbation=1.0, noise=0.3)}
    study = randomized.experiment(environments, ["LinUCB"], [0.0, 1e9], rounds=150, seeds=3)
    rows = {row["gamma"]: row for row in randomized.summarize(study.run(tmp_path, "serial", progress="none"))}
    # Even choices among the candidates for γ = 0; for a huge γ the same choices as without chance, but for ties.
    assert rows[0.0]["ratio"] > 1.2
    assert rows[1e9]["ratio"] == pytest.approx(1.0, abs=1e-6)
    assert rows[0.0]["by_chance"] > 0.05 > 0.001 > rows[1e9]["by_chance"]
    assert "Above 1.1: LinUCB on small (γ = 0)." in randomized.report(list(rows.values()))
