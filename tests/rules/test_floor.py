"""A floor under every probability: what it mixes, how often it chooses, and that weights by it are fair."""

import math

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.belief import Ambient
from eigenbandits.policy.files import from_bytes, to_bytes
from eigenbandits.rules import BestEstimate, Floor, InverseGap, Optimism, RandomizedOptimism, SampledOptimism, Thompson
from eigenbandits.subspace import Whole

ACTIONS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.3]])


def taught(rule, seed=0):
    """Return a policy with Z = diag(10, 3) and θ̂ = (0.9, 2/3)."""
    policy = eb.Policy(Whole(), Ambient(0.2), rule, seed=seed)
    policy.learn_many([[3.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [3.0, 1.0, 1.0])
    return policy


def test_the_best_estimate_with_a_floor_explores_as_often_as_it_says():
    policy = taught(Floor(BestEstimate(), 0.3), seed=1)
    decisions = [policy.choose(ACTIONS) for _ in range(4_000)]
    counts = np.bincount([decision.index for decision in decisions], minlength=3)
    expected = np.array([0.8, 0.1, 0.1])
    # Five standard errors of a binomial share.
    assert (np.abs(counts / 4_000 - expected) < 5 * np.sqrt(expected * (1 - expected) / 4_000)).all()
    for decision in decisions[:50]:
        assert decision.propensity == pytest.approx(expected[decision.index])


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_a_floor_at_its_ends(epsilon):
    policy = taught(Floor(BestEstimate(), epsilon), seed=1)
    chosen = {policy.choose(ACTIONS).index for _ in range(100)}
    assert chosen == ({0} if epsilon == 0.0 else {0, 1, 2})


RULES = [
    Thompson(3.0, samples=1),
    Thompson(3.0, samples=3),
    Thompson(3.0, samples=40),
    InverseGap(3.0),
    RandomizedOptimism(1.0),
    Optimism(),
    SampledOptimism(20),
]


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_inverse_propensities_are_fair_to_every_action(rule):
    """E[1{a = i}/p] = 1 for each i, also for those that the rule itself would hardly ever choose.

    The variance of 1{a = i}/p is at most E[1/p] ≤ K/ε = 15; tolerance: five standard errors.
    """
    count, epsilon = 3_000, 0.2
    policy = taught(Floor(rule.clone(), epsilon), seed=2)
    weights = np.zeros(3)
    for _ in range(count):
        decision = policy.choose(ACTIONS)
        assert decision.propensity is not None
        assert decision.propensity >= epsilon / 3 - 1e-12
        weights[decision.index] += 1.0 / decision.propensity
    assert (np.abs(weights / count - 1.0) < 5 * math.sqrt(15 / count)).all()


def test_without_a_floor_what_no_model_favors_is_never_made_up_for():
    """The old bias: with n models E[1{a = i}/q] is 1 − (1 − pᵢ)ⁿ, the probability that any of them favors i."""
    scale, samples, count = 0.5, 2, 4_000
    policy = taught(Thompson(scale, samples=samples), seed=3)
    decisions = [policy.choose(ACTIONS[:2]) for _ in range(count)]
    # The second of two wins with 1 − Φ((x − y)ᵀθ̂/(scale‖x − y‖)) = 1 − Φ(0.709) = 0.239.
    second = 0.5 * math.erfc((0.9 - 2 / 3) / (scale * math.sqrt(1 / 10 + 1 / 3)) / math.sqrt(2))
    found = np.mean([(d.index == 1) / d.propensity for d in decisions if d.propensity])
    # 1{a = i}/q is at most 2, so that its standard deviation is at most 1.
    assert found == pytest.approx(1 - (1 - second) ** samples, abs=5 / math.sqrt(count))


def test_in_many_sets_at_once_it_is_the_same():
    rng = np.random.default_rng(0)
    sets = [rng.standard_normal((arms, 2)) for arms in (1, 4, 9)]
    policy = taught(Floor(Optimism(), 0.5), seed=4)
    decisions = policy.choose_many(sets * 200)
    for arms, one in zip((1, 4, 9) * 200, decisions, strict=True):
        least, most = 0.5 / arms, 0.5 + 0.5 / arms
        assert one.propensity in (pytest.approx(least), pytest.approx(most))
    assert {one.propensity for one in decisions[::3]} == {1.0}
    shares = np.mean([one.propensity > 0.5 for one in decisions[2::3]])
    assert shares == pytest.approx(0.5 + 0.5 / 9, abs=5 * math.sqrt(0.25 / 200))


def test_a_chance_choice_follows_the_estimate():
    policy = taught(Floor(Thompson(5.0, samples=3), 1.0), seed=6)
    decision = policy.choose(ACTIONS)
    assert decision.upper == decision.estimate
    np.testing.assert_allclose(decision.model, [0.9, 2 / 3])


def test_probabilities_are_what_choices_follow_and_asking_changes_nothing():
    policy = taught(Floor(InverseGap(5.0), 0.1), seed=7)
    for _ in range(3):
        policy.choose(ACTIONS)
    copy = from_bytes(to_bytes(policy))
    asked = policy.probabilities(ACTIONS)
    assert asked.sum() == pytest.approx(1.0)
    decision = copy.choose(ACTIONS)
    assert decision.propensity == asked[decision.index]
    assert policy.rule.state() == {"rule": {"rounds": 3}}
    assert policy.round == 3
    assert eb.Greedy().probabilities(np.eye(3)).tolist() == [1.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="has seen no vectors yet"):
        eb.EigenUCB().probabilities(ACTIONS)


@pytest.mark.parametrize("allowed", [[2, 0], [True, False, True]])
def test_what_may_not_be_chosen_has_probability_zero(allowed):
    """The floor is shared by the actions that are left: 1 − ε + ε/2 for the best of them, ε/2 for the other."""
    policy = taught(Floor(BestEstimate(), 0.2), seed=1)
    assert policy.probabilities(ACTIONS, allowed=allowed).tolist() == pytest.approx([0.9, 0.0, 0.1])
    one = [policy.choose(ACTIONS, allowed=allowed) for _ in range(100)]
    many = policy.choose_many([ACTIONS] * 100, allowed=[allowed] * 100)
    for decision in one + many:
        assert decision.propensity == pytest.approx({0: 0.9, 2: 0.1}[decision.index])
    assert {decision.index for decision in one} == {decision.index for decision in many} == {0, 2}


def test_bad_floors_are_refused_in_one_sentence():
    with pytest.raises(ValueError, match=r"epsilon is 1\.5; expected a number from 0 to 1\."):
        eb.EpsilonGreedy(epsilon=1.5)
    with pytest.raises(ValueError, match=r"floor is -0\.1; expected a number of at least 0\."):
        eb.LinTS(noise=0.1, floor=-0.1)


@pytest.mark.parametrize(
    "policy",
    [
        eb.LinTS(noise=0.1, floor=0.1, seed=0),
        eb.EigenTS(floor=0.1, seed=0),
        eb.ProjectedThompson(noise=0.1, floor=0.1, seed=0),
        eb.SquareCB(floor=0.1, seed=0),
        eb.EigenUCB(floor=0.1, seed=0),
        eb.EigenUCB(rule="randomized", floor=0.1, seed=0),
        eb.OFUL(noise=0.1, rule="randomized", floor=0.1, seed=0),
        eb.LinUCB(rule="randomized", floor=0.1, seed=0),
        eb.PSLB(noise=0.1, rule="randomized", floor=0.1, seed=0),
        eb.EpsilonGreedy(epsilon=0.1, seed=0),
    ],
    ids=repr,
)
def test_every_randomized_policy_takes_a_floor(policy):
    rng = np.random.default_rng(8)
    decisions = []
    for _ in range(60):
        decisions.append(policy.choose(rng.standard_normal((4, 3))))
        policy.learn(decisions[-1], float(decisions[-1].action[0]))
    likely = [decision.propensity for decision in decisions if decision.propensity is not None]
    assert len(likely) == 60
    assert min(likely) >= 0.1 / 4 - 1e-12
    assert policy.clone().params() == policy.params()
