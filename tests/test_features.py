"""Query ⊙ item: every number against sums written out, and the scores against inner products."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eigenbandits as eb
from eigenbandits.features import Product, centered, group_of, product


def by_hand(query, items, groups, mean):
    """Sum the products one by one."""
    found = np.zeros((len(items), max(groups) + 1))
    for k, item in enumerate(items):
        for j, group in enumerate(groups):
            found[k, group] += query[j] * (item[j] - mean[j])
    return found


def test_without_groups_it_is_the_product_number_by_number():
    query, items = np.array([1.0, -2.0, 3.0]), np.array([[1.0, 2.0, 3.0], [5.0, 0.0, 1.0]])
    np.testing.assert_array_equal(product(query, items, center=False), [[1.0, -4.0, 9.0], [5.0, 0.0, 3.0]])
    # The mean of the items is (3, 1, 2).
    np.testing.assert_array_equal(product(query, items), [[-2.0, -2.0, 3.0], [2.0, 2.0, -3.0]])


@given(
    st.integers(1, 12).flatmap(lambda width: st.tuples(st.just(width), st.integers(1, width))),
    st.integers(1, 5),
    st.integers(0, 5),
    st.sampled_from(["no", "own", "given"]),
)
def test_it_is_the_sum_over_groups(sizes, count, seed, centring):
    width, dim = sizes
    rng = np.random.default_rng(seed)
    query, items = rng.standard_normal(width), rng.standard_normal((count, width))
    mean = {"no": np.zeros(width), "own": items.mean(axis=0), "given": rng.standard_normal(width)}[centring]
    center = {"no": False, "own": True, "given": mean}[centring]
    actions = eb.features.product(query, items, dim=dim, center=center, seed=seed)
    np.testing.assert_allclose(actions, by_hand(query, items, group_of(width, dim, seed), mean), atol=1e-12)
    # θ* is the vector of ones: the sum of an action is the score of its item, less what all share.
    np.testing.assert_allclose(actions @ np.ones(dim), items @ query - mean @ query, atol=1e-12)


def test_the_order_of_the_scores_is_that_of_the_model():
    rng = np.random.default_rng(0)
    query, items = rng.standard_normal(200), rng.standard_normal((50, 200)) + 3.0
    for center, dim in itertools.product((True, False), (None, 7, 100, 200)):
        scores = product(query, items, dim=dim, center=center).sum(axis=1)
        assert np.argsort(scores).tolist() == np.argsort(items @ query).tolist()


def test_a_bias_takes_part_as_one_more_number():
    rng = np.random.default_rng(1)
    weights, bias, hidden = rng.standard_normal((6, 9)), 5.0 * rng.standard_normal(6), rng.standard_normal(9)
    actions = product(np.append(hidden, 1.0), np.column_stack([weights, bias]), dim=4, center=False)
    np.testing.assert_allclose(actions.sum(axis=1), weights @ hidden + bias)


def test_a_part_of_the_catalogue_is_centred_by_the_mean_of_all():
    rng = np.random.default_rng(2)
    query, items = rng.standard_normal(8), rng.standard_normal((10, 8))
    part = product(query, items[3:6], dim=4, center=items.mean(axis=0))
    np.testing.assert_allclose(part, product(query, items, dim=4)[3:6])


def test_several_queries_are_several_decision_sets():
    rng = np.random.default_rng(3)
    queries, items = rng.standard_normal((5, 9)), rng.standard_normal((4, 9))
    for dim in (None, 3):
        sets = product(queries, items, dim=dim)
        assert sets.shape == (5, 4, dim or 9)
        for query, actions in zip(queries, sets, strict=True):
            np.testing.assert_allclose(product(query, items, dim=dim), actions, atol=1e-12)


def test_groups_are_random_even_and_repeatable():
    groups = group_of(2049, 100, seed=0)
    counts = np.bincount(groups)
    assert len(counts) == 100
    assert set(counts.tolist()) == {20, 21}
    np.testing.assert_array_equal(group_of(2049, 100, seed=0), groups)
    assert (group_of(2049, 100, seed=1) != groups).any()
    # At random, neighbours share a group once in 100 times: 20 ± 3·√20 of 2,048.
    assert (groups[1:] == groups[:-1]).sum() < 34


def test_logits_of_any_model_are_segments_times_it():
    rng = np.random.default_rng(4)
    layer = Product.grouped(rng.standard_normal((7, 11)), group_of(11, 4, seed=0))
    queries, models = rng.standard_normal((3, 11)), rng.standard_normal((2, 4))
    expected = np.einsum("nkd,pd->nkp", layer.segments(queries), models)
    np.testing.assert_allclose(layer.logits(queries, models), expected)


def test_a_policy_learns_from_them():
    """Items with one popular direction: after 300 rounds PSLB errs less than one that never learns."""
    rng = np.random.default_rng(5)
    items = rng.standard_normal((5, 40))
    policy, mistakes = eb.PSLB(noise=0.5, seed=0), []
    for _ in range(300):
        query = rng.standard_normal(40)
        decision = policy.choose(product(query, items, dim=10))
        right = int(decision.index == np.argmax(items @ query))
        mistakes.append(1 - right)
        policy.learn(decision, right)
    # Four of five random choices are wrong: 240 ± 3·√(300 · 0.16) = 240 ± 21.
    assert sum(mistakes) < 219
    assert sum(mistakes[-100:]) < sum(mistakes[:100])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([1.0, 2.0], [[1.0, 2.0, 3.0]]), "query has length 2; expected 3, the length of the items"),
        (([1.0, 2.0], [[1.0, 2.0]], 3), "dim is 3; expected at most 2, the length of the items"),
        (([1.0, 2.0], [[1.0, 2.0]], 0), "dim is 0; expected a whole number of at least 1"),
        (([1.0, 2.0], [[1.0, 2.0]], 1, [1.0]), "center has length 1; expected 2"),
        (([1.0, np.nan], [[1.0, 2.0]]), "query holds nan"),
        (([1.0, 2.0], [1.0, 2.0]), "items has shape"),
        (([[[1.0, 2.0]]], [[1.0, 2.0]]), "query has shape"),
        (([1.0, 2.0], []), "items is empty"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        product(*arguments)


def test_centring_leaves_what_was_handed_in_alone():
    items = np.ones((2, 3))
    centered(items, True)
    product(np.ones(3), items, dim=2)
    np.testing.assert_array_equal(items, np.ones((2, 3)))


def test_bilinear_features_are_the_principal_directions_of_all_products():
    """The scatter of q ⊗ x over all pairs, both about their means, is Σ_q ⊗ Σ_x: its leading eigenvalues are ours."""
    rng = np.random.default_rng(0)
    queries, items = rng.standard_normal((40, 4)) * [3, 2, 1, 0.5], rng.standard_normal((6, 5))
    features = eb.features.Bilinear(queries, items, dim=7)
    rows = np.concatenate([features(query) for query in queries])
    products = np.einsum("ni,kj->nkij", queries - queries.mean(0), items - items.mean(0)).reshape(-1, 20)
    largest = np.sort(np.linalg.eigvalsh(products.T @ products / len(products)))[::-1][:7]
    scatter = rows.T @ rows / len(rows)
    # Uncorrelated, in that order, and of a root mean square length of 1.
    np.testing.assert_allclose(scatter, np.diag(largest / largest.sum()), atol=1e-12)


def test_bilinear_features_hold_every_matrix_between_queries_and_items():
    rng = np.random.default_rng(0)
    queries, items, matrix = rng.standard_normal((30, 3)), rng.standard_normal((8, 3)), rng.standard_normal((3, 3))
    features = eb.features.Bilinear(queries, items, dim=100)
    assert features.dim == 9
    values = (queries - queries.mean(0)) @ matrix @ (items - items.mean(0)).T
    rows = np.concatenate([features(query) for query in queries])
    theta, residual, *_ = np.linalg.lstsq(rows, values.ravel(), rcond=None)
    assert float(residual.sum()) < 1e-20
    # The same θ for items that were not there at first.
    others = rng.standard_normal((2, 3))
    expected = (queries[0] - queries.mean(0)) @ matrix @ (others - items.mean(0)).T
    np.testing.assert_allclose(features(queries[0], others) @ theta, expected)
    np.testing.assert_allclose(features.scores(queries[0], others), others @ queries[0])
    np.testing.assert_allclose(features.scores(queries[0]), items @ queries[0])


@pytest.mark.parametrize(
    ("queries", "items", "message"),
    [
        (np.ones((3, 2)), np.eye(2), "expected at least two different ones of each"),
        (np.eye(2), np.ones((1, 2)), "expected at least two different ones of each"),
    ],
)
def test_bilinear_features_need_what_differs(queries, items, message):
    with pytest.raises(ValueError, match=message):
        eb.features.Bilinear(queries, items)


def test_a_query_of_another_length_is_refused():
    features = eb.features.Bilinear(np.eye(3), np.eye(4))
    with pytest.raises(ValueError, match="query"):
        features(np.ones(4))
    with pytest.raises(ValueError, match="query"):
        features.scores(np.ones(3))
