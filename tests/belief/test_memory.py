"""Forgetting against weighted regression by hand, and several half-lives side by side against Bayes's rule."""

import math
from itertools import islice
from typing import Any

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.belief import Memories
from eigenbandits.belief.ambient import STEPS
from eigenbandits.belief.memories import HALF_LIVES, PRIOR
from eigenbandits.belief.spectral.prior import SHAPES
from eigenbandits.lab.studies.drift import DriftingTaste, PermutedLabels
from eigenbandits.policy.files import from_bytes, to_bytes

DIM = 4


def weights_by_hand(count, half_life):
    """Return what each of `count` rewards weighs where they fade in steps, all of those so far at once."""
    weights, since = np.zeros(count), 0
    for number in range(count):
        weights[number] = 1.0
        since += 1
        if since * STEPS >= half_life:
            weights[: number + 1] *= 0.5 ** (since / half_life)
            since = 0
    return weights


def logged(count=90, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((count, DIM))
    return rows, rows @ rng.standard_normal(DIM) + 0.1 * rng.standard_normal(count)


@pytest.mark.parametrize("half_life", [1.0, 8.0, 30.0])
def test_the_estimate_is_that_of_weighted_ridge_regression_whose_ridge_does_not_fade(half_life):
    rows, rewards = logged()
    belief = eb.belief.Ambient(0.5, ridge=2.0, memory=half_life)
    belief.start(DIM)
    belief.learn_many(rows, rewards)
    weights = weights_by_hand(len(rows), half_life)
    precision = (rows.T * weights) @ rows + 2.0 * np.eye(DIM)
    assert belief.center == pytest.approx(np.linalg.solve(precision, rows.T @ (weights * rewards)), rel=1e-9)
    assert belief.inverse.full() == pytest.approx(np.linalg.inv(precision), rel=1e-9)
    assert belief.evidence.weight == pytest.approx(weights.sum())
    assert belief.evidence.count == len(rows)


def test_after_a_half_life_a_reward_weighs_half():
    assert weights_by_hand(97, 16.0)[0] == pytest.approx(0.5 ** (96 / 16.0), rel=1e-9)


def test_the_flagship_forgets_in_its_prior_and_its_intercept_too():
    """Members are Bayesian regressions on the weighted rewards, with a flat intercept."""
    rows, rewards = logged(60)
    policy = eb.EigenUCB(seed=0, memory=16.0, noise=0.3)
    policy.observe(np.random.default_rng(9).standard_normal((50, DIM)))
    policy.learn_many(rows, rewards)
    policy.choose(np.eye(DIM))
    belief: Any = policy.belief
    weights = weights_by_hand(60, 16.0)
    lifted = policy.centering.lift_vectors(rows)[:, :DIM]
    flat = belief.members[0]
    design = np.column_stack([lifted, np.ones(60)])
    # The shape of power 0: the same variance for all directions, tr(HC) = 1.
    frame: Any = policy.subspace.current()
    spectrum = frame.spectrum
    precision = (design.T * weights) @ design
    precision[:DIM, :DIM] += np.eye(DIM) * spectrum.sum() / belief.ratios[0]
    wanted = np.linalg.solve(precision, design.T @ (weights * rewards))
    assert flat[:DIM] == pytest.approx(wanted[:DIM], rel=1e-6)
    assert flat[DIM] * belief.kappa == pytest.approx(wanted[DIM], rel=1e-6)


@pytest.mark.parametrize("half_life", [1.0, 20.0, 64.0])
def test_many_rewards_fade_as_they_do_one_by_one(half_life):
    rows, rewards = logged(75)
    one, many = (eb.EigenUCB(seed=0, memory=half_life) for _ in range(2))
    for policy in (one, many):
        policy.observe(rows[:50])
    for row, reward in zip(rows, rewards.tolist(), strict=True):
        one.learn(row, reward)
    many.learn_many(rows, rewards)
    first: Any = one.belief
    second: Any = many.belief
    assert second.since_fading == first.since_fading
    assert second.evidence.weight == pytest.approx(first.evidence.weight)
    assert second.sample.seen == first.sample.seen
    assert second.sample.rewards == pytest.approx(first.sample.rewards)
    assert one.choose(rows[:9]).upper == pytest.approx(many.choose(rows[:9]).upper, rel=1e-9)
    assert second.center == pytest.approx(first.center, rel=1e-9)


def test_a_subspace_forgets_vectors():
    subspace = eb.subspace.Spectrum(memory=8.0)
    subspace.start(2)
    for _ in range(80):
        subspace.observe(np.array([[1.0, 0.0]]))
    for _ in range(80):
        subspace.observe(np.array([[0.0, 1.0]]))
    frame = subspace.frame()
    assert frame.spectrum is not None
    # Ten half-lives: what came before has 1/1024 of the weight of what came since.
    assert frame.spectrum[1] / frame.spectrum[0] == pytest.approx(1 / 1023, rel=0.01)
    assert abs(frame.directions[1, 0]) == pytest.approx(1.0)


def test_weights_follow_bayes_with_a_share_given_back():
    belief = Memories(eb.belief.Ambient(0.5))
    belief.start(1)
    before = belief.weights
    found = belief._weighed([(0.0, 0.0), (1.0, 0.0), (1.0, 3.0), (2.0, 0.0)], 1.0, 0.25)
    likelihoods = [
        math.exp(-0.5 * (1.0 - mean) ** 2 / (0.25 * (1.0 + gain))) / math.sqrt(1.0 + gain)
        for mean, gain in [(0.0, 0.0), (1.0, 0.0), (1.0, 3.0), (2.0, 0.0)]
    ]
    posterior = before * likelihoods / (before @ likelihoods)
    # No reward has been counted yet: the share of the first is 1.
    assert found == pytest.approx(PRIOR)
    belief.learned = 3
    found = belief._weighed([(0.0, 0.0), (1.0, 0.0), (1.0, 3.0), (2.0, 0.0)], 1.0, 0.25)
    assert found == pytest.approx(0.75 * posterior + 0.25 * PRIOR)


def test_a_shorter_memory_leads_after_a_change_and_an_outdated_one_goes_on_from_it():
    belief = Memories(eb.belief.Ambient(0.1, ridge=0.1))
    belief.start(1)
    for number in range(1500):
        belief.learn(np.ones(1), 1.0 if number < 1000 else -1.0)
    # Without forgetting it would be (500 - 1000)/1500 the other way around: 1/3.
    assert belief.members[belief.leader].center[0] == pytest.approx(-1.0, abs=0.2)
    belief.leader, belief.weights = 3, np.array([1e-4, 0.0999, 0.1, 0.8])
    before = belief.restarts
    belief._restart()
    assert belief.restarts == before + 1
    assert belief.members[0].center == pytest.approx(belief.members[3].center)
    assert belief.weights[0] == pytest.approx(0.1 * belief.weights[3])


def test_a_shorter_memory_that_agrees_with_every_choice_does_not_take_the_lead():
    """Rewards that it predicts better are no reason: nothing would be chosen otherwise."""
    leads = {}
    for other in (0.0, 1.0):
        belief = Memories(eb.belief.Ambient(0.1, ridge=0.1))
        belief.start(1)
        for number in range(1300):
            belief.learn(np.ones(1), 1.0 if number < 1000 else -1.0, np.full(len(HALF_LIVES), other))
        leads[other] = belief.leader
    assert leads[0.0] == 0
    assert leads[1.0] > 0


def test_a_reward_at_its_bound_is_no_drop():
    """The leader expects 1.5 where 1 is the most that ever comes: that does not speak against it."""
    belief = Memories(eb.belief.Spectral())
    belief.start(1)
    for member in belief.members:
        assert isinstance(member, eb.belief.Spectral)
        for reward in (0.0, 1.0, 1.0):
            member.censoring.note(reward)
        member.center = np.full(1, 1.5)
        member.noise = 0.1
    forecast = np.append(np.zeros(len(HALF_LIVES) * (2 * len(SHAPES) + 1)), np.ones(len(HALF_LIVES)))
    belief.learn(np.ones(1), 1.0, forecast)
    assert belief.drops.tolist() == [0.0] * len(HALF_LIVES)
    for member in belief.members:
        member.center = np.full(1, 1.5)
    belief.learn(np.ones(1), 0.5, forecast)
    # Ten standard deviations below count as two: half of that, less an eighth.
    assert belief.drops == pytest.approx(0.875)


def test_a_few_failures_are_no_change_and_ten_are():
    """Where every reward was 1, ten standard deviations above 0: each failure adds 0.875 of the 6 that prove a drop."""
    for failures, changed in ((5, False), (10, True)):
        belief = Memories(eb.belief.Ambient(0.1, ridge=0.1))
        belief.start(1)
        for number in range(1000 + failures):
            belief.learn(np.ones(1), 1.0 if number < 1000 else 0.0, np.ones(len(HALF_LIVES)))
        assert (belief.leader > 0) == changed


def test_auto_is_nearly_as_good_as_no_memory_without_a_change_and_far_better_after_one():
    lost = {
        (change, memory): eb.run(eb.EigenUCB(seed=0, memory=memory), DriftingTaste(change, 1200), 1200, 0).regret[-1]
        for change in ("none", "reversal")
        for memory in (None, "auto")
    }
    assert lost["none", "auto"] < 1.3 * lost["none", None] + 5.0
    assert lost["reversal", "auto"] < 0.5 * lost["reversal", None]


def test_labels_move_halfway():
    pytest.importorskip("sklearn", reason="scikit-learn is missing: pip install 'eigenbandits[digits]'")
    plain, moved = (PermutedLabels("iris", permuted, rounds=4).instance(0).rounds() for permuted in (False, True))
    for number in range(4):
        one, other = next(plain), next(moved)
        assert np.array_equal(np.roll(one.values, number >= 2), other.values)
        assert np.array_equal(one.actions, other.actions)


def test_a_world_turns_as_it_says():
    """θ turns once in 400 rounds: it is −θ halfway, and a quarter of the way at right angles to both."""
    instance = DriftingTaste("rotation", 400).instance(3)
    rounds = list(islice(instance.rounds(), 401))
    for number, sign in ((0, 1.0), (200, -1.0), (400, 1.0)):
        assert rounds[number].values == pytest.approx(sign * rounds[number].actions @ instance.theta)
    turned = np.linalg.lstsq(rounds[100].actions @ instance.basis, rounds[100].values)[0]
    assert turned @ (instance.basis.T @ instance.theta) == pytest.approx(0.0, abs=1e-9)
    assert np.linalg.norm(turned) == pytest.approx(np.linalg.norm(instance.theta))


def test_replicas_with_a_memory_are_not_merged():
    for memory in (100.0, "auto"):
        one, other = (eb.OFUL(noise=0.1, memory=memory) for _ in range(2))
        for policy in (one, other):
            policy.learn([1.0, 0.0], 1.0)
        before = to_bytes(one)
        with pytest.raises(ValueError, match="with a memory cannot be merged"):
            one.merge([other])
        assert to_bytes(one) == before


def test_a_wrong_memory_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match=r"memory is 'long'; expected a half-life in rewards, 'auto' or None"):
        eb.EigenUCB(memory="long")
    with pytest.raises(ValueError, match=r"memory is 0\.5; expected a number of at least 1"):
        eb.OFUL(noise=0.1, memory=0.5)


def test_the_diagnostics_say_which_memory_leads():
    policy = eb.EigenUCB(seed=0, memory="auto")
    eb.run(policy, DriftingTaste("none", 50), 50, 0)
    details = policy.diagnostics().details
    assert details["memory"] in HALF_LIVES
    assert sum(details["memories"].values()) == pytest.approx(1.0)
    again = from_bytes(to_bytes(policy))
    assert again.diagnostics().details["memories"] == details["memories"]
