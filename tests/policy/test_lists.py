"""Lists against brute force: which actions, in which order, how likely, and what an answer to them teaches."""

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.policy.lists import ListDecision, LogDeterminant

VALUES = np.array([0.1, 0.7, 0.4, 0.9, 0.6])


def oracle():
    """Return a policy that knows what each of five actions is worth, which are the unit vectors."""
    return eb.Oracle(theta=VALUES, seed=0)


def log_det(vectors):
    """Return log det(I + S) by a factorization of its own."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors / np.where(norms > 0, norms, 1.0)
    return np.linalg.slogdet(np.eye(len(vectors)) + units @ units.T)[1]


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("dim", [1, 3, 8])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gains_are_differences_of_log_determinants(dim, scale, dtype):
    rng = np.random.default_rng(dim)
    vectors = scale * rng.standard_normal((9, dim))
    vectors[4], vectors[5], vectors[6] = vectors[0], 0.0, -3.0 * vectors[1]
    vectors = vectors.astype(dtype)
    spread = LogDeterminant(vectors)
    chosen: list[int] = []
    for index in (0, 6, 4, 2, 5, 1):
        gains = spread.gains()
        for other in set(range(9)) - set(chosen):
            expected = log_det(vectors[[*chosen, other]].astype(float)) - log_det(vectors[chosen].astype(float))
            # A sum over d numbers of single precision is all that there is to compare.
            assert gains[other] == pytest.approx(expected, abs=1e-6 if dtype is np.float32 else 1e-12)
        spread.add(index)
        chosen.append(index)


def test_each_rule_of_looking_has_its_best_list():
    """Of all ordered lists, the one with the highest expected number of clicks (among equals the first)."""
    cascade = lambda values: 1.0 - np.prod(1.0 - values)  # noqa: E731
    for examination, worth in [
        ("all", lambda values: values.sum()),
        ("cascade", cascade),
        ((0.3, 1.0, 0.5), lambda values: values @ [0.3, 1.0, 0.5]),
    ]:
        found = oracle().choose_list(np.eye(5), 3, examination=examination).indices
        best = max(worth(VALUES[list(order)]) for order in permutations(range(5), 3))
        assert worth(VALUES[found]) == pytest.approx(best, abs=1e-15)
    assert oracle().choose_list(np.eye(5), 3).indices.tolist() == [3, 1, 4]
    assert oracle().choose_list(np.eye(5), 3, examination="cascade").indices.tolist() == [3, 1, 4]
    assert oracle().choose_list(np.eye(5), 3, examination=(0.3, 1.0, 0.5)).indices.tolist() == [4, 3, 1]


def test_diversity_is_greedy_and_not_far_from_the_best():
    rng = np.random.default_rng(0)
    for seed in range(10):
        vectors = rng.standard_normal((8, 3))
        vectors[4:] = vectors[:4] + 0.1 * rng.standard_normal((4, 3))
        theta = rng.standard_normal(3)
        # An intercept would do as well: values above 0, for the bound to hold.
        values = vectors @ theta + 10.0
        lifted = np.column_stack([vectors, np.full(8, 10.0)])

        def worth(chosen, lifted=lifted, values=values):
            return values[list(chosen)].sum() + 5.0 * log_det(lifted[list(chosen)])

        policy = eb.Oracle(theta=np.append(theta, 1.0), seed=seed)
        ranked = policy.choose_list(lifted, 4, diversity=5.0)
        chosen: list[int] = []
        for decision in ranked.decisions:
            assert decision.index == max(set(range(8)) - set(chosen), key=lambda other: worth([*chosen, other]))
            assert decision.upper == pytest.approx(values[decision.index])
            chosen.append(decision.index)
        assert worth(chosen) >= (1 - 1 / np.e) * max(worth(each) for each in combinations(range(8), 4))


def test_diversity_prefers_something_else_to_a_copy():
    actions = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.8]])
    policy = eb.Oracle(theta=np.ones(2))
    assert policy.choose_list(actions, 2).indices.tolist() == [0, 1]
    # A copy adds log 1.5, the third action log 2: worth it from 0.2/log(4/3) on, some 0.695.
    assert policy.choose_list(actions, 2, diversity=0.69).indices.tolist() == [0, 1]
    assert policy.choose_list(actions, 2, diversity=0.70).indices.tolist() == [0, 2]
    # On a position that is half as likely to be looked at, values count half as much.
    assert policy.choose_list(actions, 2, diversity=0.36, examination=(1.0, 0.5)).indices.tolist() == [0, 2]


@pytest.mark.parametrize("rule", ["exact", "joint", "sampled", "optimism"])
def test_diversity_for_every_kind_of_optimism(rule):
    """With values that hardly differ, the list is the one that diversity alone would choose."""
    actions = np.array([[1.0, 0, 0], [1.0, 1e-3, 0], [0, 1.0, 0], [1e-3, 1.0, 0], [0, 0, 1.0]])
    policy = eb.PSLB(noise=0.1, rank=2, rule=rule, seed=0)
    for action, reward in zip(actions, (0.5, 0.4, 0.6, 0.45, 0.55), strict=True):
        policy.observe(actions)
        policy.learn(action, reward)
    plain = policy.choose_list(actions, 3)
    spread = policy.choose_list(actions, 3, diversity=100.0)
    assert {frozenset((0, 1)), frozenset((2, 3)), frozenset((4,))} == {
        next(group for group in map(frozenset, ((0, 1), (2, 3), (4,))) if index in group)
        for index in spread.indices.tolist()
    }
    for decision in (*plain.decisions, *spread.decisions):
        assert decision.estimate <= decision.upper + 1e-9 < 10.0
        assert decision.model.shape == (3,)


@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (0.5, 1.0, 0.2)])
def test_the_optimism_of_a_posterior_is_that_of_the_list(weights):
    """Σ w estimate + (Σ w² width²)^½, greedily: as many standard deviations of the list's value as of one action's."""
    rng = np.random.default_rng(0)
    policy: Any = eb.EigenUCB(seed=0)
    for _ in range(12):
        decision = policy.choose(rng.standard_normal((5, 4)))
        policy.learn(decision, float(decision.action[0]) + 0.5 * rng.standard_normal())
    actions = rng.standard_normal((7, 4))
    ranked = policy.choose_list(actions, 3, examination=weights)
    lifted, _ = policy.centering.lift(actions)
    estimates = lifted @ policy.belief.center
    deviations = np.sqrt(np.einsum("ij,jk,ik->i", lifted, policy.belief.inverse.full(), lifted))
    chosen: list[int] = []
    total = 0.0
    for position in np.argsort(-np.array(weights), kind="stable"):
        # The radius is for as many actions as there are left to choose from.
        widths = policy.belief.omega_of(7 - len(chosen)) * deviations
        weight = weights[position]
        gains = {
            row: estimates[row] + (np.sqrt(total + (weight * widths[row]) ** 2) - np.sqrt(total)) / weight
            for row in set(range(7)) - set(chosen)
        }
        best = max(gains, key=lambda row: gains[row])
        decision = ranked.decisions[position]
        assert decision.index == best
        assert decision.upper == pytest.approx(gains[best], rel=1e-9)
        chosen.append(best)
        total += (weight * widths[best]) ** 2


def test_the_flagship_forecasts_for_the_actions_that_are_left():
    policy: Any = eb.EigenUCB(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(30):
        decision = policy.choose(rng.standard_normal((5, 4)))
        policy.learn(decision, float(decision.action[0]))
    actions = rng.standard_normal((6, 4))
    ranked = policy.choose_list(actions, 4)
    lifted, _ = policy.centering.lift(actions)
    values = lifted @ policy.belief.members.T
    left = list(range(6))
    for decision in ranked.decisions:
        highest = values[left].max(axis=0)
        count = len(highest)
        np.testing.assert_allclose(decision.forecast[1 : count + 1], highest, rtol=1e-12)
        np.testing.assert_allclose(decision.forecast[count + 1 :], values[decision.index] - highest, atol=1e-12)
        left.remove(decision.index)


def test_the_probability_of_a_list_is_the_product_over_its_positions():
    policy = eb.Random(seed=0)
    ranked = policy.choose_list(np.eye(4), 3)
    assert [decision.propensity for decision in ranked.decisions] == pytest.approx([1 / 4, 1 / 3, 1 / 2])
    assert ranked.propensity == pytest.approx(1 / 24)
    assert policy.choose_list(np.eye(4), 2, allowed=[1, 3]).propensity == pytest.approx(1 / 2)
    assert eb.LinUCB().choose_list(np.eye(4), 3).propensity is None


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: eb.EpsilonGreedy(epsilon=0.5, seed=seed),
        lambda seed: eb.LinTS(noise=1.0, samples=50, seed=seed),
        lambda seed: eb.SquareCB(gamma=4.0, seed=seed),
    ],
    ids=["EpsilonGreedy", "LinTS", "SquareCB"],
)
def test_inverse_propensities_are_without_bias(make):
    """For every list, E[1{chosen}/propensity] = 1; Thompson's is exact given the models that were drawn."""
    policy = make(0)
    policy.learn_many(np.eye(3), [0.5, 0.2, 0.0])
    lists = list(permutations(range(3), 2))
    weights = np.zeros((1500, len(lists)))
    for row in weights:
        ranked = policy.choose_list(np.eye(3), 2, observe=False)
        row[lists.index(tuple(ranked.indices.tolist()))] = 1.0 / ranked.propensity
    errors = weights.std(axis=0) / np.sqrt(len(weights))
    assert (np.abs(weights.mean(axis=0) - 1.0) < 4.0 * errors).all()


def test_what_an_outcome_teaches():
    decisions = oracle().choose_list(np.eye(5), 3).decisions

    def taught(examination, outcome):
        learned, rewards = ListDecision(decisions, examination).lessons(outcome)
        assert learned == list(decisions[: len(learned)])
        return rewards.tolist()

    for examination in ("all", "cascade"):
        assert taught(examination, None) == [0.0, 0.0, 0.0]
        assert taught(examination, 2) == [0.0, 0.0, 1.0]
        assert taught(examination, np.int64(2)) == [0.0, 0.0, 1.0]
    assert taught("all", 0) == [1.0, 0.0, 0.0]
    assert taught("cascade", 0) == [1.0]
    assert taught("all", [0.5, 0.0, 2.0]) == [0.5, 0.0, 2.0]
    assert taught("cascade", [0.0, 0.5, 2.0]) == [0.0, 0.5]
    assert taught((1.0, 0.5, 0.25), [1, 1, 0]) == [1.0, 2.0, 0.0]
    assert taught((1.0, 0.5, 0.25), 2) == [0.0, 0.0, 4.0]


@pytest.mark.parametrize("examination", ["cascade", (1.0, 0.6, 0.3)])
def test_values_are_learned_without_bias_whatever_the_user_looks_at(examination):
    """Random lists of four actions whose probabilities of being liked are known: the ridge estimates come to them."""
    truth = np.array([0.1, 0.3, 0.5, 0.7])
    policy = eb.Random(seed=0)
    learner: Any = eb.LinUCB(ridge=1e-6)
    rng = np.random.default_rng(1)
    rounds = 3000
    for _ in range(rounds):
        ranked = policy.choose_list(np.eye(4), 3, observe=False, examination=examination)
        liked = rng.random(3) < truth[ranked.indices]
        if examination == "cascade":
            outcome = int(liked.argmax()) if liked.any() else None
        else:
            outcome = liked & (rng.random(3) < examination)
        learner.learn(ranked, outcome)
    # Each action was on 3/4 of the lists. A reward over w has a variance of at most 0.7 E[1/w] = 1.4 there, so that
    # four standard errors are 0.1; in a cascade some 40 % were looked at, with a variance of at most 1/4.
    np.testing.assert_allclose(learner.belief.center, truth, atol=0.1)


def test_a_list_is_frozen_and_says_what_was_wrong():
    ranked = oracle().choose_list(np.eye(5), 2)
    with pytest.raises(AttributeError):
        ranked.decisions = ()
    assert ranked.indices.tolist() == [3, 1]
    for call, message in [
        (lambda: ranked.lessons(2), "the click's position is 2; expected one from 0 to 1."),
        (lambda: ranked.lessons(0.5), "a list was given the outcome 0.5; expected 2 rewards, the position of a click, "
         "or None."),
        (lambda: ranked.lessons([1.0]), "rewards has shape (1,); expected (2,), one for each action."),
        (lambda: oracle().choose_list(np.eye(5), 6), "count is 6; expected at most 5, the number of "
         "actions that may be chosen."),
        (lambda: oracle().choose_list(np.eye(5), 2, allowed=[3]), "count is 2; expected at most 1, the number of "
         "actions that may be chosen."),
        (lambda: oracle().choose_list(np.eye(5), 2, examination=[1.0, 0.0]), "examination is [1. 0.]; expected 'all', "
         "'cascade' or 2 probabilities, above 0 and at most 1."),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="expected") as caught:
            call()
        assert str(caught.value) == message


def test_a_guarded_policy_chooses_no_lists_but_learns_from_those_of_others():
    guarded = eb.Guarded(eb.LinUCB(), baseline=0, noise=0.5, theta_bound=1.0)
    with pytest.raises(ValueError, match=r"^a guarded policy cannot choose lists; .*\.$"):
        guarded.choose_list(np.eye(5), 2)
    ranked = oracle().choose_list(np.eye(5), 3, examination="cascade")
    guarded.learn(ranked, 1)
    guarded.learn_many([ranked, ranked], [None, 0])
    assert guarded.diagnostics().rewards_learned == guarded.proved.evidence.count == 2 + 3 + 1
