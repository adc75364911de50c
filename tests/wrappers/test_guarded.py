"""The guard against a brute-force twin, its promise in simulation, its baselines, and its probabilities."""

from typing import Any

import numpy as np
import pytest
from tests.checks.play import assert_same, decision_sets, play

import eigenbandits as eb
from eigenbandits.environments import LowRank
from eigenbandits.lab.studies import guarded as study
from eigenbandits.policy.files import from_bytes, to_bytes

TOLD: dict[str, Any] = {"noise": 0.1, "theta_bound": 1.0, "delta": 0.05}


class Twin:
    """The account by its definition: every round kept, and the least over the ellipsoid found from scratch."""

    def __init__(self, alpha, noise, theta_bound, delta):
        self.alpha, self.noise, self.bound, self.delta = alpha, noise, theta_bound, delta
        self.chosen, self.rewards, self.baselines = [], [], []

    def lowest(self, direction):
        """Return min θᵀw over ‖θ − θ̂‖_Z ≤ √(R² log(det Z/λ^d) + 2R² log(1/δ) + λS²), λ = dR²/S²."""
        dim = len(direction)
        ridge = dim * self.noise**2 / self.bound**2
        rows = np.array(self.chosen[: len(self.rewards)]).reshape(-1, dim)
        gram = rows.T @ rows + ridge * np.eye(dim)
        center = np.linalg.solve(gram, rows.T @ np.array(self.rewards)) if len(rows) else np.zeros(dim)
        log_det = np.linalg.slogdet(gram)[1] - dim * np.log(ridge)
        square = self.noise**2 * (log_det - 2 * np.log(self.delta)) + ridge * self.bound**2
        return direction @ center - np.sqrt(square * (direction @ np.linalg.solve(gram, direction)))

    def affords(self, action, baseline):
        account = sum(self.chosen) + action - (1 - self.alpha) * (sum(self.baselines) + baseline)
        return self.lowest(account) >= 0


def positive_sets(count, seed=0, dim=3, arms=4):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield np.column_stack([0.3 * rng.uniform(-1, 1, (arms, dim - 1)), np.ones(arms)])


THETA = np.array([0.4, -0.4, 0.5])


@pytest.mark.parametrize("alpha", [0.0, 0.2, 1.0])
def test_choices_by_brute_force(alpha):
    """Every choice of 150 rounds is the free policy's where the twin can afford it, and the baseline's elsewhere."""
    rng = np.random.default_rng(5)
    policy = eb.Guarded(eb.LinUCB(), 0, alpha, **TOLD)
    free = eb.LinUCB()
    twin = Twin(alpha, **TOLD)
    followed = 0
    for actions in positive_sets(150):
        wanted = free.choose(actions).index
        decision = policy.choose(actions)
        expected = wanted if wanted == 0 or twin.affords(actions[wanted], actions[0]) else 0
        assert decision.index == expected
        followed += decision.index != 0
        reward = float(decision.action @ THETA) + 0.1 * rng.standard_normal()
        twin.chosen.append(decision.action)
        twin.baselines.append(actions[0])
        twin.rewards.append(reward)
        policy.learn(decision, reward)
        free.learn(decision, reward)
    # With nothing at risk the guard lets through only what is proved better, with everything at risk nearly all.
    assert 0 < followed < 150
    account = sum(twin.chosen) - (1 - alpha) * sum(twin.baselines)
    assert policy.guard.reserve() == pytest.approx(twin.lowest(account), rel=1e-8)
    details = policy.diagnostics().details
    assert details["kept_to_baseline"] + details["agreed_with_baseline"] + followed == 150


def test_a_known_value_stands_in_for_the_baselines_reward():
    policy = eb.Guarded(eb.Oracle(theta=-THETA), lambda rows: int((rows @ THETA).argmax()), 0.5, value=0.5, **TOLD)
    account = 0.0
    for round_, actions in enumerate(positive_sets(200), 1):
        decision = policy.choose(actions)
        policy.learn(decision, float(decision.action @ THETA))
        account += 0.5 if decision.index == int((actions @ THETA).argmax()) else float(decision.action @ THETA)
        assert account >= 0.5 * 0.5 * round_ - 1e-9
    # The worst actions earn some 0.3, more than half of the baseline's ½: once that is known they are let through.
    assert policy.guard.kept < 150


def test_the_promise_holds_from_adversarial_starts(tmp_path):
    model = LowRank(6, 2, 5, perturbation=1.0, noise=0.3)
    experiment = study.experiment(model, rounds=1001, seeds=2, first_seed=0)
    rows = study.summarize(experiment.run(tmp_path, "serial", progress="none"), 0.01)
    assert [row["start"] for row in rows] == list(study.STARTS)
    assert [row["broken"] for row in rows[:-1]] == [0] * 5
    # Who always wants the worst is held back most of the time.
    assert rows[3]["kept"] > 500
    assert "broken in 0 of 10 runs" in study.report(rows)
    with pytest.raises(ValueError, match="rounds is 1000; expected more than 1000"):
        study.experiment(model, rounds=1000)


def test_a_shadow_chooses_as_the_baseline_and_learns():
    policy = eb.Guarded(eb.EigenUCB(center="none", seed=0), THETA, shadow=True, **TOLD)
    for actions in positive_sets(60):
        decision = policy.choose(actions)
        assert decision.index == int((actions @ THETA).argmax())
        policy.learn(decision, float(decision.action @ THETA))
    found = policy.diagnostics()
    assert found.rewards_learned == 60
    # The baseline is the best there is: nothing can be gained, and the bounds say that it may be so.
    assert found.details["gain_least"] <= found.details["gain_most"]
    assert found.details["gain_least"] < 0.0


def test_probabilities_give_the_baseline_what_is_not_safe():
    policy = eb.Guarded(eb.EpsilonGreedy(epsilon=0.4, seed=0), 0, **TOLD)
    actions = next(positive_sets(1))
    # Nothing is proved yet: whatever the rule draws, the baseline is chosen.
    assert policy.probabilities(actions).tolist() == [1.0, 0.0, 0.0, 0.0]
    decision = policy.choose(actions)
    assert (decision.index, decision.propensity) == (0, 1.0)
    policy.learn_many(np.tile(actions, (500, 1)), np.tile(actions @ THETA, 500))
    for _ in range(20):
        policy.learn(policy.choose(actions, allowed=[0]), float(actions[0] @ THETA))
    before = to_bytes(policy)
    chances = policy.probabilities(actions)
    assert chances.sum() == pytest.approx(1.0)
    # By now every action is known, and the account affords one round of any of them: the chances are the rule's own.
    best = int((actions @ THETA).argmax())
    expected = np.full(4, 0.1)
    expected[best] = 0.7
    np.testing.assert_allclose(chances, expected)
    assert to_bytes(from_bytes(before)) == before


def test_a_policy_as_the_baseline_is_saved_with_what_it_knows():
    baseline = eb.Greedy()
    baseline.learn_many(np.eye(6), np.cos(np.arange(6.0)))
    policy = eb.Guarded(eb.EigenUCB(center="none", seed=0), baseline, 0.2, **TOLD)
    play(policy, decision_sets(count=5))
    loaded = from_bytes(to_bytes(policy))
    later = list(decision_sets(count=10, seed=2))
    assert_same(play(policy, later), play(loaded, later))
    fresh = eb.Guarded(eb.EigenUCB(seed=0), eb.Greedy(), 0.2, **TOLD)
    with pytest.raises(ValueError, match="the baseline has seen nothing yet"):
        fresh.choose(later[0])


def test_what_the_policy_had_learned_is_kept():
    inner = eb.EigenUCB(center="none", seed=0)
    play(inner, decision_sets(count=5))
    policy = eb.Guarded(inner, 0, 0.2, **TOLD)
    assert policy.diagnostics().rewards_learned == 5
    assert policy.proved.evidence.count == 0
    assert policy.choose(next(decision_sets())).round == 6


@pytest.mark.parametrize(
    ("baseline", "sentence"),
    [
        (7, "the baseline returned row 7; expected one from 0 to 4"),
        (lambda rows: -1, "the baseline returned row -1; expected one from 0 to 4"),
        (lambda rows: 0.5, "the baseline returned 0.5; expected a row number"),
        (np.ones(5), "baseline is a vector of 5 numbers; the actions have 6"),
    ],
)
def test_a_bad_baseline_is_refused_and_leaves_no_trace(baseline, sentence):
    policy = eb.Guarded(eb.EigenUCB(seed=0), baseline, **TOLD)
    with pytest.raises(ValueError, match=sentence):
        policy.choose(next(decision_sets()))
    with pytest.raises(ValueError, match=sentence):
        policy.choose_many(list(decision_sets(count=2)))
    assert (policy.dim, policy.round, policy.subspace.seen) == (None, 0, 0)


def test_settings_are_refused_in_one_sentence():
    for options, sentence in (
        ({"alpha": 1.5}, "alpha is 1.5; expected a number from 0 to 1"),
        ({"noise": 0.0}, "noise is 0"),
        ({"value": -1.0}, "value is -1"),
        ({"baseline": -1}, "baseline is -1; expected a whole number of at least 0"),
        ({"policy": 3}, "policy is a int; expected a policy"),
    ):
        with pytest.raises(ValueError, match=sentence):
            eb.Guarded(**({"policy": eb.EigenUCB(seed=0)} | TOLD | options))
