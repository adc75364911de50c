"""What models are expected to charge, against regressions written out."""

import math

import numpy as np

from eigenbandits.router.costs import SPREAD, ModelCosts


def prompts(count, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([0.3 * rng.standard_normal((count, 4)), np.ones(count)])


def test_the_estimate_is_a_ratio_of_two_ridge_regressions():
    rows, rng = prompts(40), np.random.default_rng(1)
    places, paid = rng.integers(0, 2, 40), rng.random(40)
    paid[3] = np.nan
    costs = ModelCosts([math.nan] * 3, 5)
    costs.learn_many(rows, places, paid)
    for place in range(2):
        known = (places == place) & ~np.isnan(paid)
        gram = rows[known].T @ rows[known]
        ridge = gram + np.trace(gram) / known.sum() * np.eye(5)
        regressed = [np.linalg.solve(ridge, rows[known].T @ each) for each in (paid[known], np.ones(known.sum()))]
        for row in prompts(20, seed=2):
            expected = max(row @ regressed[0], 0.0) / min(max(row @ regressed[1], 0.5), 1.0)
            np.testing.assert_allclose(costs.of(row)[0][place], expected, rtol=1e-12)
    assert costs.of(rows[0])[0][2] == 0.0


def test_one_answer_says_what_a_model_costs_and_many_how_it_depends_on_the_prompt():
    costs, rows = ModelCosts([math.nan], 5), prompts(600, seed=3)
    costs.learn(rows[0], 0, 7.0)
    np.testing.assert_allclose(costs.of(rows[0])[0], [7.0])
    truth = 2.0 + rows[:, 0]
    other = ModelCosts([math.nan], 5)
    for row, cost in zip(rows, truth, strict=True):
        other.learn(row, 0, float(cost))
    found = np.array([other.of(row)[0][0] for row in rows])
    assert np.abs(found - truth).mean() < 0.1 * np.abs(truth - truth.mean()).mean()


def test_one_by_one_is_the_same_as_all_at_once_when_the_estimates_are_due():
    rows, one, many = prompts(64), ModelCosts([math.nan], 5), ModelCosts([math.nan], 5)
    for row in rows:
        one.learn(row, 0, float(row[1] + 1.0))
    one.due = [0]
    one.learn_many(rows[:0], np.zeros(0, dtype=np.intp), np.zeros(0))
    many.learn_many(rows, np.zeros(64, dtype=np.intp), rows[:, 1] + 1.0)
    np.testing.assert_allclose(one.grams, many.grams)
    np.testing.assert_allclose(one.moments, many.moments)


def test_one_unusual_answer_does_not_raise_the_least_plausible_cost_above_the_others():
    costs = ModelCosts([math.nan], 1)
    paid = [20.0, 20.0, 20.0, 240.0, 20.0]
    for cost in paid:
        costs.learn(np.ones(1), 0, cost)
    expected, least, most = costs.of(np.ones(1))
    np.testing.assert_allclose(expected, [64.0])
    np.testing.assert_allclose(least, [20.0])
    # With the ridge of one answer, the mean of five roots is taken for five sixths of what it is.
    roots = np.sqrt(paid)
    part = np.square(roots - 5.0 / 6.0 * roots.mean()).sum() / 320.0
    np.testing.assert_allclose(most, 64.0 * (np.sqrt(1.0 - part) + SPREAD * np.sqrt(part)) ** 2)
    # Of many answers, as far as the usual standard error goes.
    many, drawn = ModelCosts([math.nan], 1), np.random.default_rng(4).exponential(3.0, 400)
    many.learn_many(np.ones((400, 1)), np.zeros(400, dtype=np.intp), drawn)
    error = max(drawn.std(ddof=1) / 20.0, drawn.mean() / np.sqrt(401.0))
    np.testing.assert_allclose(many.of(np.ones(1))[1], [drawn.mean() - error])


def test_a_model_without_answers_costs_what_its_price_says():
    costs = ModelCosts([2.0, 1.0, 50.0, math.nan], 1)
    assert costs.of(np.ones(1))[0].tolist() == [0.0] * 4
    costs.learn(np.ones(1), 0, 6.0)
    assert costs.of(np.ones(1))[0].tolist() == [6.0, 3.0, 150.0, 0.0]
    costs.learn(np.ones(1), 1, 5.0)
    expected, least, most = costs.of(np.ones(1))
    assert expected.tolist() == [6.0, 5.0, 200.0, 0.0]
    # A price is no sample: only answers make it less, or say how much answers vary.
    assert least[2] == most[2] == 200.0


def test_one_answer_in_twenty_costs_more_than_the_most_that_is_plausible():
    """Also where costs depend on the prompt, have a long tail, and vary in proportion to their mean."""
    rng, rows = np.random.default_rng(5), prompts(4000, seed=5)
    paid = (2.0 + rows[:, 0]) * rng.gamma(3.0, 1.0 / 3.0, 4000)
    costs = ModelCosts([math.nan], 5)
    costs.learn_many(rows[:2000], np.zeros(2000, dtype=np.intp), paid[:2000])
    most = np.array([costs.of(row)[2][0] for row in rows[2000:]])
    for chosen in (rows[2000:, 0] > 0.2, rows[2000:, 0] < -0.2):
        assert 0.03 < np.mean(paid[2000:][chosen] > most[chosen]) < 0.08
