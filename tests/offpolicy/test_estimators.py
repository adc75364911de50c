"""Estimates from propensities: by hand, by enumerating every log that could have been, and by Monte Carlo."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr

import eigenbandits as eb
from eigenbandits.environments import Replay
from eigenbandits.offpolicy import Log
from eigenbandits.offpolicy.propensities import target_probabilities
from eigenbandits.policy import files

# Two contexts of two actions each, as likely as each other; rewards are certain.
SETS = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[2.0, 0.0], [0.0, 3.0]])]
REWARDS = [[1.0, 5.0], [2.0, -3.0]]
LOGGER = [[0.8, 0.2], [0.3, 0.7]]
TARGET = [[0.5, 0.5], [0.9, 0.1]]
# ½(½·1 + ½·5) + ½(0.9·2 − 0.1·3)
TRUE_VALUE = 0.5 * 3.0 + 0.5 * 1.5


def target(actions):
    return TARGET[0] if actions[0, 0] == 1.0 else TARGET[1]


def wrong_model(actions):
    return [0.3, -1.0] if actions[0, 0] == 1.0 else [4.0, 2.0]


def log_of(events):
    """A log from (context, choice) pairs."""
    return Log(
        [SETS[context] for context, _ in events],
        [row for _, row in events],
        [REWARDS[context][row] for context, row in events],
        [LOGGER[context][row] for context, row in events],
    )


def expectation(method, size, model=None):
    """The exact mean of an estimator over every log of `size` events that could have been."""
    pairs = list(product(range(2), range(2)))
    total = 0.0
    for events in product(pairs, repeat=size):
        likely = math.prod(0.5 * LOGGER[context][row] for context, row in events)
        total += likely * Replay(log_of(events)).value(target, method, model=model).value
    return total


@pytest.mark.parametrize("size", [1, 2, 3])
def test_inverse_propensity_is_unbiased_over_every_log_that_could_have_been(size):
    assert expectation("ips", size) == pytest.approx(TRUE_VALUE, abs=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_doubly_robust_is_unbiased_even_with_a_wrong_model(size):
    assert expectation("dr", size, wrong_model) == pytest.approx(TRUE_VALUE, abs=1e-12)


@pytest.mark.parametrize("size", [2, 3])
def test_doubly_robust_is_unbiased_with_the_model_that_it_fits_itself(size):
    assert expectation("dr", size) == pytest.approx(TRUE_VALUE, abs=1e-12)


def test_the_direct_method_is_as_wrong_as_its_model():
    assert expectation("direct", 2, wrong_model) == pytest.approx(0.5 * (-0.35) + 0.5 * 3.8, abs=1e-12)


def test_estimates_worked_out_by_hand():
    """Weights: 0.5/0.2 = 2.5 on reward 5; 0.9/0.3 = 3 on reward 2."""
    replay = Replay(log_of([(0, 1), (1, 0)]))
    ips = replay.value(target, "ips")
    assert ips.value == pytest.approx((2.5 * 5.0 + 3.0 * 2.0) / 2)
    assert ips.standard_error == pytest.approx(abs(12.5 - 6.0) / 2)  # sd of two values is |a − b|/√2, over √2
    assert ips.effective_events == pytest.approx(5.5**2 / (2.5**2 + 3.0**2))
    assert replay.value(target, "snips").value == pytest.approx((12.5 + 6.0) / 5.5)
    direct = [0.5 * 0.3 + 0.5 * -1.0, 0.9 * 4.0 + 0.1 * 2.0]
    doubly = [direct[0] + 2.5 * (5.0 - -1.0), direct[1] + 3.0 * (2.0 - 4.0)]
    assert replay.value(target, "dr", model=wrong_model).value == pytest.approx(np.mean(doubly))
    assert replay.value(target, "direct", model=wrong_model).value == pytest.approx(np.mean(direct))
    assert replay.value(target, "ips", clip=2.0).value == pytest.approx((2.0 * 5.0 + 2.0 * 2.0) / 2)


def test_self_normalisation_gives_constants_back():
    """With every reward equal to c the self-normalised estimate is c, whatever the weights; plain weighting is not."""
    log = Log([SETS[0]] * 3, [0, 1, 0], [7.0] * 3, [0.8, 0.2, 0.8])
    assert Replay(log).value(target, "snips").value == pytest.approx(7.0)
    assert Replay(log).value(target, "snips").standard_error == pytest.approx(0.0, abs=1e-12)
    assert Replay(log).value(target, "ips").value != pytest.approx(7.0, rel=0.01)


def sampled_log(size, seed):
    rng = np.random.default_rng(seed)
    contexts = rng.integers(0, 2, size)
    rows = [int(rng.random() < LOGGER[context][1]) for context in contexts]
    return log_of(list(zip(contexts.tolist(), rows, strict=True)))


@pytest.mark.parametrize("method", ["ips", "snips", "dr"])
def test_long_logs_give_the_true_value_and_an_honest_error(method):
    """Over 150 logs of 300 events: the mean within 4 of its standard errors (+ SNIPS's bias, O(1/n) < 0.01), the spread
    within 18 % of the standard error told (a standard deviation over 150 has itself an error of 6 %)."""
    found = [Replay(sampled_log(300, seed)).value(target, method) for seed in range(150)]
    values = np.array([estimate.value for estimate in found])
    spread = values.std(ddof=1)
    assert values.mean() == pytest.approx(TRUE_VALUE, abs=4 * spread / math.sqrt(150) + 0.01)
    assert np.mean([estimate.standard_error for estimate in found]) == pytest.approx(spread, rel=0.18)
    covered = np.mean([e.interval[0] <= TRUE_VALUE <= e.interval[1] for e in found])
    assert covered >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / 150)


def test_a_good_model_makes_doubly_robust_the_surer_estimate():
    """Rewards that the model predicts exactly leave only the spread of contexts: ±0.75 around the value here."""
    replay = Replay(sampled_log(1_000, seed=5))
    told = replay.value(target, "dr", model=lambda a: REWARDS[0] if a[0, 0] == 1.0 else REWARDS[1])
    assert told.standard_error == pytest.approx(0.75 / math.sqrt(1_000), rel=0.05)
    assert told.standard_error < 0.3 * replay.value(target, "ips").standard_error


def test_targets_may_be_rows_or_probabilities():
    replay = Replay(sampled_log(50, seed=6))
    contexts = [0 if replay.events.decision_set(event)[0, 0] == 1.0 else 1 for event in range(50)]
    told = replay.value(target, "ips")
    assert replay.value(np.array([TARGET[context] for context in contexts]), "ips") == told
    always_first = replay.value(np.zeros(50, dtype=int), "ips")
    assert always_first == replay.value(lambda actions: [1.0, 0.0], "ips")


def test_a_policy_is_judged_as_it_is_and_left_untouched():
    """After seeing that the first coordinate pays, a greedy policy takes the row with the larger first coordinate."""
    policy = eb.Greedy()
    policy.learn_many([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0])
    before = files.to_bytes(policy)
    replay = Replay(sampled_log(100, seed=7))
    assert replay.value(policy, "ips") == replay.value(np.zeros(100, dtype=int), "ips")
    assert files.to_bytes(policy) == before


@pytest.mark.parametrize("method", ["ips", "snips", "dr", "direct"])
def test_a_policy_that_leaves_something_to_chance_is_judged_by_its_probabilities(method):
    """ε-greedy that likes the second row: 0.2 and 0.8, exactly, and the same for a policy with a floor."""
    replay = Replay(sampled_log(60, seed=8))
    for policy in (eb.EpsilonGreedy(epsilon=0.4, seed=3), eb.EigenUCB(floor=0.4, seed=3)):
        policy.observe(np.concatenate(SETS * 50))
        policy.learn_many([[0.0, 1.0]] * 50 + [[1.0, 0.0]] * 50, [1.0] * 50 + [0.0] * 50)
        assert replay.value(policy, method) == replay.value(lambda actions: [0.2, 0.8], method)


def test_a_policy_that_draws_models_is_judged_by_new_ones_at_every_event():
    """2,000 equal events, two models each: the shares are 0, ½ and 1, and their mean that of many models."""
    log = Log([SETS[0]] * 2_000, [0] * 2_000, [1.0] * 2_000, [0.5] * 2_000)
    policy = eb.LinTS(noise=1.0, samples=2, seed=3)
    policy.learn_many([[1.0, 0.0]] * 3 + [[0.0, 1.0]], [1.0] * 3 + [0.5])
    shares = np.array(list(target_probabilities(log, policy)))
    assert set(shares.ravel()) == {0.0, 0.5, 1.0}
    # θ̂ = (3/4, 1/4) and Z⁻¹ = diag(1/4, 1/2): the first wins with Φ(½/√¾).
    assert shares[:, 0].mean() == pytest.approx(float(ndtr(0.5 / math.sqrt(0.75))), abs=5 * math.sqrt(0.1 / 2_000))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([0, 1, 0], "target holds 3 entries; expected 2"),
        ([0, 2], "target chooses row 2 of 2 at event 1"),
        ([0.0, 1.0], "expected rows, which are whole numbers"),
        (lambda actions: [0.5, 0.6], "add up to 1"),
        (lambda actions: [1.0], "expected 2 probabilities"),
        (lambda actions: [-0.5, 1.5], "add up to 1"),
    ],
)
def test_targets_that_are_no_policy_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Replay(log_of([(0, 1), (1, 0)])).value(wrong)


def test_unknown_methods_and_useless_logs_are_told():
    replay = Replay(log_of([(0, 1), (1, 1)]))
    with pytest.raises(ValueError, match="method is 'magic'"):
        replay.value(target, "magic")
    with pytest.raises(ValueError, match="the log says nothing about its value"):
        replay.value([0, 0], "snips")
    with pytest.raises(ValueError, match="clip is 0"):
        replay.value(target, "ips", clip=0.0)


def test_every_estimate_says_what_its_weights_are_worth():
    """Weights 2.5 and 3 of two events: a mean of 2.75, and 5.5²/(2.5² + 3²) events."""
    found = Replay(log_of([(0, 1), (1, 0)])).value(target, "ips")
    assert found.events == 2
    assert found.mean_weight == pytest.approx(2.75)
    assert f"{found.value:.4g}" in found.summary
    assert "mean weight 2.75" in found.summary
    assert "mean_weight=2.75" in repr(found)
    # A limit on the weights does not hide what they were.
    assert Replay(log_of([(0, 1), (1, 0)])).value(target, "ips", clip=1.0).mean_weight == pytest.approx(2.75)


def test_a_log_that_can_answer_makes_no_warnings():
    for method in ("ips", "snips", "dr", "direct"):
        found = Replay(sampled_log(2_000, seed=1)).value(target, method)
        assert found.warnings == ()
        assert found.mean_weight == pytest.approx(1.0, abs=0.15)


def even_log(events, rewards, seed=0):
    rng = np.random.default_rng(seed)
    return Log(rng.standard_normal((events, 5, 2)), rng.integers(0, 5, events), rewards, np.full(events, 0.2))


def test_what_the_log_never_did_is_told():
    """The logger keeps to the first row; a uniform target has a mean weight of ½, and half of its value is left out."""
    log = Log([SETS[0]] * 100, [0] * 100, np.random.default_rng(0).random(100), [1.0] * 100)
    found = Replay(log).value(lambda actions: [0.5, 0.5], "dr")
    assert found.mean_weight == 0.5
    assert "mean importance weight is 0.5 instead of 1" in found.warnings[0]
    assert "hardly ever did" in found.warnings[0]
    assert found.warnings[0] in found.summary
    assert "warnings=" in repr(found)


def test_wrong_propensities_are_told():
    rng = np.random.default_rng(1)
    log = Log(rng.standard_normal((500, 5, 2)), rng.integers(0, 5, 500), rng.random(500), np.full(500, 0.1))
    found = Replay(log).value(rng.integers(0, 5, 500), "ips")
    assert found.mean_weight == pytest.approx(2.0, rel=0.3)
    assert "the propensities are not those with which the log chose" in found.warnings[0]


def test_too_few_events_or_rewards_are_told():
    few = Replay(even_log(60, [1.0] * 60)).value(np.zeros(60, dtype=int), "ips")
    assert few.effective_events < 30
    assert "evenly weighted events" in few.warnings[0]
    rare = np.zeros(2_000)
    rare[[3, 900, 1500]] = 1.0
    found = Replay(even_log(2_000, rare)).value(lambda actions: [0.2] * 5, "ips")
    assert found.effective_events == pytest.approx(2_000)
    assert found.warnings == (
        "The estimate rests on about 3 of the events, whose weights or rewards outweigh all others, so that the "
        "interval may be too short.",
    )
    never = Replay(even_log(100, [0.0] * 100)).value(lambda actions: [0.2] * 5, "ips")
    assert "rests on about 0 of the events" in never.warnings[0]
