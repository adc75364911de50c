"""The router against a plain EigenUCB, against simple worlds, and against misuse."""

import math
from typing import Any

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.router import Model, Router
from eigenbandits.router.basis import Basis, decision_set
from eigenbandits.router.costs import ModelCosts
from eigenbandits.router.model_policy import HORIZON, RESERVE


def rows_by_hand(row, count):
    return np.kron(np.eye(count), row)


def test_decision_set_is_the_kronecker_product():
    row = np.array([2.0, 3.0, 1.0])
    assert decision_set(row, 4).tolist() == rows_by_hand(row, 4).tolist()


@pytest.mark.parametrize("budget", [None, 0.4])
def test_it_chooses_as_a_plain_policy_on_block_features(budget):
    """With as many directions as dimensions nothing is left out: the policy sees the same rows, turned."""
    rng = np.random.default_rng(0)
    prompts = rng.standard_normal((40, 5)) * [3.0, 2.0, 1.0, 0.5, 0.2]
    router = Router(["a", "b", "c"], budget=budget, rank=5, memory=None, seed=0)
    router.observe(prompts)
    mean = prompts.mean(axis=0)
    plain: Any = eb.EigenUCB(width=2.0, seed=0)
    if budget:
        plain = eb.Budgeted(plain, (1.0 - RESERVE) * budget, horizon=HORIZON, strict=True)
    theta = rng.standard_normal((3, 6))
    prices, costs = [0.1, 0.5, 1.0], ModelCosts([math.nan] * 3, 6)
    # Which of three equal models is tried first, rounding decides: so models are paired as they come.
    pairs = set()
    # Up to the 64th prompt, when the router finds its directions anew. Under a budget, until a single answer may cost
    # more than can be afforded, which Budgeted does not ask.
    for _ in range(22 if budget else 23):
        prompt = rng.standard_normal(5) * [3.0, 2.0, 1.0, 0.5, 0.2]
        row = np.append(prompt - mean, 1.0)
        reward = theta @ row + 0.1 * rng.standard_normal()
        route = router.route(prompt)
        place = "abc".index(route.model)
        actions = rows_by_hand(row, 3)
        decision = plain.choose(actions, costs=costs.of(row)[0]) if budget else plain.choose(actions)
        pairs.add((place, decision.index))
        assert route.estimate == pytest.approx(decision.estimate, abs=1e-6)
        router.feedback(route.id, reward[place], prices[place])
        if budget:
            plain.learn(decision, reward[place], cost=prices[place])
            costs.learn(row, decision.index, prices[place])
            assert router.spent == pytest.approx(plain.spent)
        else:
            plain.learn(decision, reward[place])
    assert len(pairs) == 3


def world(router, rounds, quality, cost, rng, dim=20):
    """Play rounds in which the sign of a prompt's first number says which of two models is good at it."""
    counts = dict.fromkeys((model.name for model in router.models), 0)
    total = 0.0
    for _ in range(rounds):
        prompt = rng.standard_normal(dim) * np.geomspace(3.0, 0.1, dim)
        route = router.route(prompt)
        counts[route.model] += 1
        reward = quality[route.model](prompt)
        total += reward
        router.feedback(route.id, reward + 0.05 * rng.standard_normal(), cost[route.model])
    return counts, total / rounds


QUALITY = {
    "left": lambda prompt: 0.5 - 0.1 * prompt[0],
    "right": lambda prompt: 0.5 + 0.1 * prompt[0],
    "poor": lambda prompt: 0.2,
    "best": lambda prompt: 0.9,
}
COST = {"left": 1.0, "right": 1.0, "poor": 0.1, "best": 10.0}


def test_it_learns_which_prompts_suit_which_model():
    rng = np.random.default_rng(1)
    router = Router(["left", "right"], seed=0)
    world(router, 300, QUALITY, COST, rng)
    _, mean = world(router, 300, QUALITY, COST, rng)
    # E|N(0, 9)|/10 above 0.5 is the best there is; either model alone earns 0.5.
    assert mean > 0.5 + 0.9 * 0.3 * math.sqrt(2 / math.pi)


def test_it_keeps_to_its_budget():
    rng = np.random.default_rng(2)
    router = Router([Model("poor"), Model("best")], budget=2.0, seed=0)
    world(router, 600, QUALITY, COST, rng)
    assert 0.9 * 2.0 < router.spent / 600 < 1.02 * 2.0
    assert router.price > 0


def test_a_new_model_is_tried_at_once_and_adopted_if_it_is_better():
    rng = np.random.default_rng(3)
    router = Router(["left", "poor"], seed=0)
    world(router, 200, QUALITY, COST, rng)
    router.add("best")
    counts, _ = world(router, 100, QUALITY, COST, rng)
    assert counts["best"] > 80
    router.withdraw("best")
    counts, _ = world(router, 50, QUALITY, COST, rng)
    assert "best" not in counts
    assert counts["left"] > 25


def test_a_model_of_a_family_starts_from_its_relative():
    rng = np.random.default_rng(4)
    router = Router([Model("best", price=10.0), "poor"], budget=20.0, seed=0)
    world(router, 100, QUALITY, COST, rng)
    router.add(Model("best-2", price=5.0, family="best"))
    policy = router._policy
    inherited = policy.answers.of(2)
    assert len(inherited) == 16
    assert {policy.answers.costs[row] for row in inherited} == {5.0}
    assert np.mean([policy.answers.rewards[row] for row in inherited]) == pytest.approx(0.9, abs=0.05)


def test_a_lower_price_is_used_at_once():
    rng = np.random.default_rng(5)
    router = Router([Model("poor", price=0.1), Model("best", price=10.0)], budget=1.0, seed=0)
    before, _ = world(router, 400, QUALITY, COST, rng)
    assert before["best"] < 60
    router.reprice("best", 0.5)
    after, _ = world(router, 50, QUALITY, {**COST, "best": 0.5}, rng)
    assert after["best"] > 40


def test_a_model_whose_price_is_far_above_the_budget_is_not_tried():
    rng = np.random.default_rng(5)
    for price, tried in ((10.0, True), (100.0, False), (None, True)):
        router = Router([Model("poor", price=1.0), Model("best", price=price)], budget=0.2, seed=0)
        router.route(rng.standard_normal(20), exclude={"best"})
        counts, _ = world(router, 100, QUALITY, {**COST, "best": 100.0}, rng)
        assert (counts["best"] > 0) == tried
    # Nor does it stay out when its price falls.
    router = Router([Model("poor", price=1.0), Model("best", price=100.0)], budget=0.2, seed=0)
    router.route(rng.standard_normal(20), exclude={"best"})
    world(router, 20, QUALITY, COST, rng)
    router.reprice("best", 10.0)
    counts, _ = world(router, 100, QUALITY, {**COST, "best": 1.0}, rng)
    assert counts["best"] > 0


def test_a_rise_of_a_price_lets_go_of_what_was_left_over():
    rng = np.random.default_rng(5)
    router = Router([Model("poor", price=0.1), Model("best", price=10.0)], budget=1.0, seed=0)
    world(router, 200, QUALITY, COST, rng)
    pacer: Any = router._policy.pacer
    for credit, factor, left in ((3.0, 0.5, 3.0), (3.0, 2.0, 0.0), (-3.0, 2.0, -3.0)):
        pacer.credit = credit
        router.reprice("best", 10.0, factor=factor)
        assert pacer.credit == left


def test_a_budget_is_changed_while_it_runs():
    rng = np.random.default_rng(2)
    router = Router([Model("poor"), Model("best")], budget=2.0, seed=0)
    world(router, 400, QUALITY, COST, rng)
    before = router.spent
    router.set_budget(4.0)
    assert router.spent == before
    world(router, 400, QUALITY, COST, rng)
    assert 0.9 * 4.0 < (router.spent - before) / 400 < 1.08 * 4.0
    router.set_budget(None)
    assert router.budget == {}
    counts, _ = world(router, 100, QUALITY, COST, rng)
    assert counts["best"] > 80
    with pytest.raises(ValueError, match="budget"):
        router.set_budget(-1.0)


def test_a_caller_may_use_its_array_again():
    router = Router(["a"], seed=0)
    vector = np.array([1.0, 2.0])
    route = router.route(vector)
    vector[:] = 0.0
    router.feedback(route.id, 1.0)
    assert router._policy.answers.vectors.tolist() == [[1.0, 2.0]]


def test_a_model_that_becomes_worse_is_left_and_one_that_recovers_is_used_again():
    rng = np.random.default_rng(6)
    router = Router(["left", "best"], seed=0)
    world(router, 300, QUALITY, COST, rng)
    assert router.changes == 0
    counts, _ = world(router, 200, {**QUALITY, "best": lambda prompt: 0.1}, COST, rng)
    assert router.changes >= 1
    # It is still better for the prompts that the other model is worst at, and is tried for others now and then.
    assert counts["best"] < 80
    world(router, 600, QUALITY, COST, rng)
    counts, _ = world(router, 100, QUALITY, COST, rng)
    assert counts["best"] > 80


def test_weights_are_subtracted_from_the_reward():
    router = Router(["a"], weights={"dollars": 2.0, "latency": 0.5}, seed=0)
    route = router.route([1.0, 0.0])
    with pytest.raises(ValueError, match="latency is missing; expected a number, as weights names latency"):
        router.feedback(route.id, 1.0, cost=0.1)
    assert router.feedback(route.id, 1.0, cost=0.1, latency=1.0) == "learned"
    assert router._policy.answers.rewards == [pytest.approx(1.0 - 0.2 - 0.5)]


def test_a_budget_of_time():
    rng = np.random.default_rng(7)
    router = Router(["poor", "best"], budget={"latency": 2.0}, seed=0)
    for _ in range(400):
        route = router.route(rng.standard_normal(4))
        slow = route.model == "best"
        router.feedback(route.id, 0.9 if slow else 0.2, cost=0.0, latency=10.0 if slow else 0.1)
    assert 0.8 * 2.0 < router.spent / 400 < 1.05 * 2.0


def test_a_failure_teaches_nothing_and_costs_nothing():
    router = Router(["a", "b"], budget=1.0, seed=0)
    first = router.route([1.0, 2.0])
    router.feedback(first.id, 0.5, cost=1.0)
    before = router._policy.policy.diagnostics().rewards_learned
    spent = router.spent
    second = router.route([1.0, 2.0], exclude={first.model})
    assert second.model != first.model
    router.failed(second.id)
    assert router._policy.policy.diagnostics().rewards_learned == before
    assert router.spent == pytest.approx(spent)
    assert router.feedback(second.id, 1.0) == "repeated"
    assert router.history.models[second.model]["failures"] == 1


def test_logged_answers_are_a_start():
    rng = np.random.default_rng(8)
    prompts = rng.standard_normal((200, 6)) * [3, 1, 1, 1, 1, 1]
    names = ["left", "right"] * 100
    rewards = [QUALITY[name](prompt) for name, prompt in zip(names, prompts, strict=True)]
    router = Router(["left", "right"], seed=0)
    router.learn_log(names, prompts, rewards)
    right = sum(
        router.route(prompt).model == ("right" if prompt[0] > 0 else "left") for prompt in prompts if abs(prompt[0]) > 1
    )
    assert right > 0.95 * np.sum(np.abs(prompts[:, 0]) > 1)


def test_feedback_comes_late_and_across_a_change_of_directions():
    rng = np.random.default_rng(9)
    router = Router(["a", "b"], budget=1.0, seed=0)
    routes = [router.route(rng.standard_normal(8)) for _ in range(70)]  # directions are found at 32 and 64
    for route in reversed(routes):
        assert router.feedback(route.id, 0.5, cost=0.3) == "learned"
    assert router.spent == pytest.approx(70 * 0.3)
    assert router._policy.policy.diagnostics().rewards_learned == 70


def test_the_encoder_is_used_for_text_and_timed():
    router = Router(["a"], encoder=lambda text: [float(len(text)), 1.0], seed=0)
    route = router.route("four")
    assert route.encoding > 0
    assert router.dim == 2
    assert router._open[route.id].vector.tolist() == [4.0, 1.0]


@pytest.mark.parametrize(
    ("models", "options", "sentence"),
    [
        ([], {}, "expected at least one model"),
        (["a", "a"], {}, "each name once"),
        (["a"], {"budget": -1.0}, "budget"),
        (["a"], {"budget": {"tokens": 1.0}}, "tokens"),
        (["a"], {"budget": {"dollars": 1.0, "latency": 1.0}}, "budget names two resources"),
        (["a"], {"weights": {"latency": math.nan}}, "weights"),
    ],
)
def test_bad_settings_are_refused(models, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        Router(models, **options)


def test_bad_input_changes_nothing():
    router = Router(["a", "b"], budget=1.0, seed=0)
    route = router.route([1.0, 2.0])
    for call in (
        lambda: router.route([1.0]),
        lambda: router.route([math.nan, 1.0]),
        lambda: router.route([1.0, 2.0], exclude=["a", "b"]),
        lambda: router.feedback(route.id, math.inf),
        lambda: router.feedback(route.id, 1.0, cost=-1.0),
        lambda: router.feedback("unknown", 1.0),
        lambda: router.add("a"),
        lambda: router.add(Model("c", family="unknown")),
        lambda: router.reprice("unknown", 1.0),
        lambda: router.withdraw("unknown"),
        lambda: router.learn_log(["a"], [[1.0, 2.0]], [math.nan]),
    ):
        with pytest.raises(ValueError, match=r"expected|every model|has vectors of length|there is already"):
            call()
    assert router.history.requests == 1
    assert [model.name for model in router.models] == ["a", "b"]
    assert router.feedback(route.id, 1.0, cost=0.5) == "learned"


def test_directions_are_the_leading_ones_of_all_prompts():
    rng = np.random.default_rng(10)
    prompts = rng.standard_normal((128, 30)) * np.geomspace(5.0, 0.1, 30) + 2.0
    basis = Basis(rank=3)
    basis.observe(prompts)
    assert basis.refresh()
    top = np.linalg.svd(prompts - prompts.mean(axis=0), full_matrices=False)[2][:3]
    cosines = np.linalg.svd(top @ basis.directions)[1]
    assert cosines.min() > 0.999
    assert basis.read(prompts)[:, :-1].mean(axis=0) == pytest.approx(0.0, abs=1e-9)
