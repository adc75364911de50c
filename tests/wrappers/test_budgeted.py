"""Budgets: the price against a linear program, costs against a closed form, and what is spent in simulation."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.checks.play import decision_sets

import eigenbandits as eb
from eigenbandits.policy.files import from_bytes, to_bytes
from eigenbandits.rules import Pacer
from eigenbandits.rules.pacer import steps
from eigenbandits.testing.play import assert_refused


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_two_actions_are_mixed_as_the_linear_program_does(unit):
    """Values 0.2 and 1 at costs 1 and 5, budget 2: a quarter of the time the dear one, worth 0.4.

    Spend and value may end off by what one action more or less makes: 4/2000 and 0.8/2000.
    """
    pacer = Pacer(2.0 * unit)
    values, costs = np.array([0.2, 1.0]), unit * np.array([1.0, 5.0])
    earned = 0.0
    for _ in range(2000):
        index = int((values - pacer.price(values, costs) * costs).argmax())
        pacer.commit(costs[index], costs.max())
        earned += values[index]
    assert pacer.spent / 2000 == pytest.approx(2.0 * unit, abs=4.01 / 2000 * unit)
    assert earned / 2000 == pytest.approx(0.4, abs=0.81 / 2000)
    assert pacer.steady == pytest.approx(0.2 / unit)


def test_a_strict_budget_pays_back_what_cost_more_than_predicted():
    """The step from 0.01 to 1 buys 300 times as much per unit of cost as the one from 1 to 20, which sets the price."""
    values, costs = np.array([0.2, 1.0, 1.05]), np.array([0.01, 1.0, 20.0])
    left = {}
    for strict in (False, True):
        pacer = Pacer(1.3, 10, strict)
        for number in range(300):
            index = int((values - pacer.price(values, costs) * costs).argmax())
            pacer.commit(costs[index], costs.max())
            if number == 200:
                pacer.settle(costs[index], 300.0)
        left[strict] = pacer.credit
        pacer.settle(0.0, 1e9)
        assert np.isfinite(pacer.price(values, costs))
    # In the 99 decisions since: 0.3 each where the step of 1 is still bought, and 1.29 where nothing is.
    assert left[False] == pytest.approx(-300.0 + 99 * 0.3, abs=25.0)
    assert left[True] == pytest.approx(-300.0 + 99 * 1.29, abs=25.0)


def test_what_buys_nothing_is_not_bought():
    pacer = Pacer(4.0)
    values, costs = np.array([0.2, 1.0, 0.9]), np.array([1.0, 2.0, 5.0])
    for _ in range(50):
        assert pacer.price(values, costs) == 0.0
        pacer.commit(2.0, 5.0)
    # What is left over is not saved: it would all be spent at once when a price rises.
    assert pacer.credit == 0.0
    # What would buy something is, up to the horizon's budgets.
    saving = Pacer(4.0)
    for _ in range(50):
        assert saving.price(values, 10.0 * costs) > 0.0
        saving.commit(1.0, 50.0)
    assert saving.credit == 50.0  # the cost of the most expensive action, which is more than the horizon's 40


def test_the_price_is_the_dual_of_the_linear_program():
    """On 40 random sets with no credit: the marginal value of money that a solver finds."""
    rng = np.random.default_rng(0)
    values, costs = rng.random((40, 4)), rng.uniform(0.1, 2.0, (40, 4))
    for budget in (0.6, 0.8, 1.0):
        pacer = Pacer(budget)
        for row in range(40):
            pacer.price(values[row], costs[row])
        each = np.kron(np.eye(40), np.ones(4))
        solved = linprog(-values.ravel(), costs.reshape(1, -1), [40 * budget], each, np.ones(40), method="highs")
        assert pacer.current == pytest.approx(-solved.ineqlin.marginals[0], rel=1e-9, abs=1e-12)


def test_a_hull_takes_what_the_best_priced_action_takes():
    rng = np.random.default_rng(1)
    for count in (1, 2, 6):
        values, costs = rng.random(count), rng.random(count)
        slopes, rises, base = steps(values, costs)
        assert np.all(np.diff(slopes) < 0)
        for price in rng.exponential(size=20):
            best = int((values - price * costs).argmax())
            taken = base + sum(rise for slope, rise in zip(slopes, rises, strict=True) if slope > price)
            assert taken == pytest.approx(costs[best])
    # Equal costs, equal points, more steps than are kept.
    assert steps(np.ones(3), np.ones(3))[2] == 1.0
    assert len(steps(np.sqrt(np.arange(50.0)), np.arange(50.0))[0]) == 8


def world(count, seed=0):
    """Yield decision sets, values and costs: three models, the better the dearer, as one block of features each."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        prompt = np.append(0.3 * rng.standard_normal(2), 1.0)
        values = np.array([0.5 + prompt[0], 0.8 + 0.5 * prompt[1], 0.9])
        costs = np.array([0.01, 0.1, 1.0]) * rng.lognormal(0.0, 0.3, 3)
        yield np.kron(np.eye(3), prompt), values, costs, 0.1 * rng.standard_normal()


def spend(policy, count, seed=0):
    earned, chosen = 0.0, []
    for actions, values, costs, noise in world(count, seed):
        decision = policy.choose(actions)
        policy.learn(decision, values[decision.index] + noise, cost=costs[decision.index])
        earned += values[decision.index]
        chosen.append(decision.index)
    return earned / count, chosen


@pytest.mark.parametrize("budget", [0.03, 0.3])
def test_costs_are_learned_and_the_budget_is_kept(budget):
    """Credit is at most the 50 budgets of the horizon, and a cost at most some 2: by so much the sum may be off."""
    policy = eb.Budgeted(eb.EigenUCB(seed=0), budget)
    earned, _ = spend(policy, 1500)
    assert policy.spent / 1500 == pytest.approx(budget, abs=(50 * budget + 2.0) / 1500)
    found = policy.diagnostics().details
    assert found["spent_per_decision"] == policy.spent / 1500
    assert found["price"] > 0.0
    # More than any mix of two models that costs as much and does not look at the prompt.
    means, costs = np.array([0.5, 0.8, 0.9]), 1.046 * np.array([0.01, 0.1, 1.0])
    assert earned > np.interp(budget, costs, means)


def test_units_of_rewards_and_costs_change_no_choice():
    plain, scaled = eb.Budgeted(eb.EigenUCB(seed=0), 0.1), eb.Budgeted(eb.EigenUCB(seed=0), 0.1 * 2.0**20)
    for actions, values, costs, noise in world(150):
        one, other = plain.choose(actions), scaled.choose(actions)
        assert one.index == other.index
        plain.learn(one, values[one.index] + noise, cost=costs[one.index])
        scaled.learn(other, 2.0**-20 * (values[one.index] + noise) + 3.0, cost=2.0**20 * costs[one.index])


def test_costs_share_the_sum_of_the_rewards():
    """(Σ + λI)⁻¹ Σ c x with λ = tr Σ/n, from scratch; a cost that is not given counts as what was expected."""
    rng = np.random.default_rng(3)
    rows, rewards, costs = rng.standard_normal((40, 5)), rng.standard_normal(40), rng.random(40)
    policy = eb.Budgeted(eb.LinUCB(), 1.0)
    policy.learn_many(rows, rewards, costs=costs)
    offered = rng.standard_normal((6, 5))
    expected, least = policy.costs.of(offered, None)
    gram = rows.T @ rows
    center = np.linalg.solve(gram + np.trace(gram) / 40 * np.eye(5), rows.T @ costs)
    inverse = np.linalg.inv(gram + np.trace(gram) / 40 * np.eye(5))
    known_share = np.maximum(1.0 - np.einsum("ij,jk,ik->i", offered, inverse, offered), 0.5)
    np.testing.assert_allclose(expected, np.maximum(offered @ center, 0.0) / known_share, rtol=1e-9, atol=1e-12)
    assert np.all(least <= expected)
    known = np.array([np.nan, 2.0, np.nan, 0.0, np.nan, 1.0])
    mixed, _ = policy.costs.of(offered, known)
    np.testing.assert_allclose(mixed, np.where(np.isnan(known), expected, known))
    policy.learn(offered[0], 0.0)
    moment = rows.T @ costs + max(float(offered[0] @ center), offered[0] @ center) * offered[0]
    np.testing.assert_allclose(policy.costs.moment, moment, rtol=1e-9)


def test_costs_fade_with_the_rewards():
    """With a half-life of 8, which fades at every reward, the estimate is that of weighted sums."""
    rng = np.random.default_rng(3)
    rows, costs = rng.standard_normal((30, 4)), rng.random(30)
    policy = eb.Budgeted(eb.LinUCB(memory=8.0), 1.0)
    for row, cost in zip(rows, costs, strict=True):
        policy.learn(row, 0.0, cost=cost)
    weights = 0.5 ** (np.arange(30, 0, -1) / 8.0)
    gram = (rows.T * weights) @ rows
    center = np.linalg.solve(gram + np.trace(gram) / weights.sum() * np.eye(4), (rows.T * weights) @ costs)
    policy.costs.of(rows, None)
    np.testing.assert_allclose(policy.costs.center, center, rtol=1e-9)


@pytest.mark.parametrize("count", [1, 3, 30])
def test_an_action_that_was_tried_is_expected_to_cost_what_it_did(count):
    policy = eb.Budgeted(eb.LinUCB(), 1.0)
    policy.learn_many(np.tile([3.0, 4.0], (count, 1)), np.zeros(count), costs=np.full(count, 0.7))
    expected, least = policy.costs.of(np.array([[3.0, 4.0]]), None)
    assert expected[0] == pytest.approx(0.7)
    assert least[0] == pytest.approx(0.7 * count / (count + 1) * (1 - (count + 1) ** -0.5))


def test_a_ceiling_is_never_passed():
    policy = eb.Budgeted(eb.EigenUCB(floor=0.5, seed=0), 10.0, ceiling=1.0)
    actions = next(decision_sets())
    for _ in range(30):
        decision = policy.choose(actions, costs=[0.5, 2.0, 1.0, 1.5, 0.2])
        assert decision.index in (0, 2, 4)
        assert decision.cost == [0.5, 2.0, 1.0, 1.5, 0.2][decision.index]
        policy.learn(decision, float(decision.index))
    assert_refused(policy, lambda: policy.choose(actions, costs=np.full(5, 1.1)))
    assert_refused(policy, lambda: policy.choose(actions, costs=[0.5, 2, 2, 2, 2], allowed=[1, 2]))
    # Predicted ones count as well: after a few tries only the cheap model is left.
    learned = eb.Budgeted(eb.EigenUCB(seed=0), 10.0, ceiling=0.5)
    _, chosen = spend(learned, 300)
    assert chosen[150:].count(2) == 0


def test_what_is_paid_late_takes_the_place_of_what_was_expected():
    policy = eb.Budgeted(eb.EigenUCB(seed=0), 0.1)
    spend(policy, 30)
    before = policy.spent
    waiting = [policy.choose(actions) for actions, *_ in world(10, seed=1)]
    assert policy.spent == pytest.approx(before + sum(decision.cost for decision in waiting))
    loaded: Any = from_bytes(to_bytes(policy))
    for one in (policy, loaded):
        one.learn_many(waiting, np.ones(10), costs=np.full(10, 0.25))
        assert one.spent == pytest.approx(before + 2.5)
    assert to_bytes(policy) == to_bytes(loaded)


def test_saved_in_the_middle_it_goes_on_bit_for_bit():
    policy = eb.Budgeted(eb.EigenTS(seed=0), 0.1)
    spend(policy, 60)
    loaded = from_bytes(to_bytes(policy))
    assert spend(policy, 40, seed=1) == spend(loaded, 40, seed=1)
    assert to_bytes(policy) == to_bytes(loaded)


def test_looking_at_probabilities_changes_nothing():
    policy = eb.Budgeted(eb.EigenUCB(seed=0), 0.1)
    spend(policy, 60)
    actions = next(world(1, seed=5))[0]
    policy.probabilities(actions)  # the belief may have a fit to catch up with
    before = to_bytes(policy)
    chances = policy.probabilities(actions, costs=[0.0, 9.0, 9.0])
    assert chances.tolist() == [1.0, 0.0, 0.0]
    assert to_bytes(policy) == before
    assert policy.choose(actions, costs=[0.0, 9.0, 9.0]).index == 0


def test_replicas_add_up_what_they_spent():
    first, second = (eb.Budgeted(eb.EigenUCB(center="none", seed=0), 0.1) for _ in range(2))
    spend(first, 40, seed=1)
    spend(second, 40, seed=2)
    total, moment = first.spent + second.spent, first.costs.moment + second.costs.moment
    first.merge([second])
    assert first.spent == pytest.approx(total)
    assert (first.costs.evidence.count, first.pacer.count) == (80, 80)
    np.testing.assert_allclose(first.costs.moment, moment)


def test_bad_costs_are_refused_and_leave_no_trace():
    policy = eb.Budgeted(eb.EigenUCB(seed=0), 0.1)
    spend(policy, 5)
    actions = next(world(1))[0]
    decision = policy.choose(actions)
    bad: Any
    for bad in ([1.0], [1.0, -1.0, 1.0], [1.0, np.inf, 1.0], "cheap", [[1.0] * 3], [None, "a", 1.0]):
        assert_refused(policy, lambda bad=bad: policy.choose(actions, costs=bad))
        assert_refused(policy, lambda bad=bad: policy.choose_many([actions], costs=[bad]))
    for bad in (-1.0, np.nan, np.inf, "much", [0.1]):
        assert_refused(policy, lambda bad=bad: policy.learn(decision, 1.0, cost=bad))
    assert_refused(policy, lambda: policy.learn_many([decision], [1.0], costs=[0.1, 0.2]))
    assert_refused(policy, lambda: policy.choose_many([actions], costs=[None, None]))
    assert_refused(policy, lambda: policy.choose_list(actions, 2))


def test_settings_are_refused_in_one_sentence():
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (eb.EigenUCB(), {"budget": 0.0}, "budget is 0"),
        (eb.EigenUCB(), {"budget": 1.0, "horizon": 0}, "horizon is 0; expected a whole number of at least 1"),
        (eb.EigenUCB(), {"budget": 1.0, "ceiling": -1.0}, "ceiling is -1"),
        (eb.PSLB(noise=0.1), {"budget": 1.0}, "does not keep the sums that costs are learned on"),
        (3, {"budget": 1.0}, "policy is a int; expected a policy without a budget"),
    ]
    for policy, options, sentence in cases:
        with pytest.raises(ValueError, match=sentence):
            eb.Budgeted(policy, **options)


@pytest.mark.parametrize("strict", [False, True])
def test_stretches_of_decisions_cost_at_most_two_horizons_more_than_their_budgets(strict):
    """At every start and of every length; a strict pacer even where an action costs more than that, here 12 budgets."""
    rng = np.random.default_rng(4)
    pacer, paid = Pacer(0.5, horizon=5, strict=strict), []
    for row in range(600):
        dear = float(rng.uniform(1.0, 6.0))
        costs, values = np.array([0.1, dear]), np.array([0.0, float(rng.random())])
        priced = values - pacer.price(values[costs <= pacer.ceiling], costs[costs <= pacer.ceiling]) * costs
        priced[costs > pacer.affordable] = -np.inf
        # Nothing expensive is chosen in the first third, so that as much is saved as may be.
        index = 0 if row < 200 else int(priced.argmax())
        pacer.commit(costs[index], costs.max())
        paid.append(costs[index])
    over = np.cumsum([0.0, *(np.array(paid) - 0.5)])
    most = float((over[:, None] - over[None, :])[np.tril_indices(len(over))].max())
    allowed = 2 * 5 * 0.5
    # What is not strict may save for the 6.0, and be in debt by twice as much.
    assert most <= (allowed if strict else 6.0 + 12.0) + 1e-9
    assert most > 0.5 * allowed
    assert max(paid) <= allowed or not strict


def test_what_the_budget_can_never_pay_for_does_not_raise_the_price():
    """With an action of 50 budgets that nobody may choose, the others are chosen as without it."""
    plain, crowded = (eb.Budgeted(eb.LinUCB(), 1.0, horizon=5, strict=True) for _ in range(2))
    rng = np.random.default_rng(1)
    for _ in range(300):
        costs, reward = [0.1, float(rng.uniform(1.0, 3.0)), 50.0], float(rng.random())
        one = plain.choose(np.eye(3), allowed=[0, 1], costs=costs)
        other = crowded.choose(np.eye(3), costs=costs)
        assert one.index == other.index
        for policy, decision in ((plain, one), (crowded, other)):
            policy.learn(decision, reward + decision.index)
    assert plain.spent == crowded.spent > 250.0


def test_an_action_that_may_cost_less_than_expected_is_bought_from_full_savings():
    """Expected to cost 12 budgets, with a ceiling of 10: whether it is saved for depends on what it costs at best."""
    values, costs = np.array([0.1, 1.0]), np.array([0.2, 12.0])
    for least, bought in ((10.5, False), (9.5, True)):
        pacer, chosen = Pacer(1.0, 5, strict=True), []
        for _ in range(40):
            charges, dearest = pacer.charges(values, costs, np.array([0.2, least]))
            index = int((values - charges).argmax())
            chosen.append(index)
            assert index == 0 or pacer.credit == 5.0
            pacer.commit(costs[index], dearest)
        # Saving up takes 5/0.8 decisions.
        assert (chosen.index(1) if bought else 1 not in chosen) == (7 if bought else True)


@pytest.mark.parametrize(("most", "needed"), [(4.0, -5.0), (8.0, 4.0), (12.0, None)])
def test_what_an_answer_may_cost_at_most_must_be_affordable(most, needed):
    """Expected to cost 3 of 1 budget a decision, with a ceiling of 10: bought once twice the credit covers the most.

    Nothing else is for sale, so that the price is 0; money is saved all the same where that is what is missing.
    """
    values, costs = np.array([0.1, 1.0]), np.array([0.9, 3.0])
    pacer, credits = Pacer(1.0, 5, strict=True), []
    for number in range(200):
        # The dear action is worth it once in ten decisions, which the budget pays for.
        offered = values if number % 10 == 0 else np.array([0.1, -1.0])
        credit = pacer.credit
        charges, dearest = pacer.charges(offered, costs, costs, np.array([0.9, most]))
        index = int((offered - charges).argmax())
        pacer.commit(costs[index], dearest)
        credits += [credit] if index else []
    if needed is None:
        assert not credits
    else:
        assert len(credits) >= 2
        assert min(credits) >= needed


def test_a_pacer_goes_on_from_its_state():
    rng = np.random.default_rng(5)
    pacer = Pacer(0.3)
    for row in range(600):
        count = int(rng.integers(1, 6))
        values, costs = rng.integers(0, 4, count) / 4, rng.integers(0, 4, count) / 4
        if row == 400:
            state, copy = pacer.state(), Pacer(0.3)
            copy.restore(state)
        price = pacer.price(values, costs)
        pacer.commit(float(costs[0]), 1.0)
        if row >= 400:
            assert copy.price(values, costs) == price
            copy.commit(float(costs[0]), 1.0)
