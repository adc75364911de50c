"""Labeled examples as bandits, against examples that are written out by hand."""

from itertools import islice

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.environments import Classification

FEATURES = np.arange(4 * 3 * 2, dtype=np.float32).reshape(4, 3, 2)
LABELS = [2, 0, 1, 1]


def seen(environment, seed, count):
    return list(islice(environment.instance(seed).rounds(), count))


def test_the_right_row_is_worth_one_and_every_other_nothing():
    for t, offered in enumerate(seen(Classification(FEATURES, LABELS, shuffle=False), 0, 4)):
        np.testing.assert_array_equal(offered.actions, FEATURES[t])
        assert [offered.reward(row) for row in range(3)] == [float(row == LABELS[t]) for row in range(3)]


def test_every_example_comes_once_before_any_comes_again():
    first = [float(offered.actions[0, 0]) for offered in seen(Classification(FEATURES, LABELS), 3, 8)]
    assert sorted(first[:4]) == sorted(first[4:]) == [0.0, 6.0, 12.0, 18.0]


def test_a_seed_is_an_order_and_repeats_itself():
    environment = Classification(FEATURES, LABELS)
    orders = {tuple(float(offered.actions[0, 0]) for offered in seen(environment, seed, 12)) for seed in range(20)}
    assert len(orders) > 10
    assert len({tuple(float(o.actions[0, 0]) for o in seen(environment, 5, 12)) for _ in range(3)}) == 1


def test_a_decision_set_cannot_be_changed_by_a_policy():
    with pytest.raises(ValueError, match="read-only"):
        seen(Classification(FEATURES, LABELS), 0, 1)[0].actions[0, 0] = 7.0


def test_files_are_mapped_and_give_the_same_rounds(tmp_path):
    np.save(tmp_path / "features.npy", FEATURES)
    np.save(tmp_path / "labels.npy", np.array(LABELS))
    mapped = Classification(tmp_path / "features.npy", str(tmp_path / "labels.npy"))
    assert isinstance(mapped.opened, np.memmap)
    for here, there in zip(seen(mapped, 1, 9), seen(Classification(FEATURES, LABELS), 1, 9), strict=True):
        np.testing.assert_array_equal(here.actions, there.actions)
        np.testing.assert_array_equal(here.values, there.values)


def test_bounds_are_those_of_the_features_and_of_theta():
    instance = Classification(FEATURES, LABELS, theta=[3.0, 4.0]).instance(0)
    assert instance.theta_bound == 5.0
    assert instance.action_bound == pytest.approx(np.hypot(22.0, 23.0))
    assert instance.noise == 0.5
    assert instance.basis.shape == (2, 0)


def test_an_oracle_makes_no_mistake_where_theta_ranks_the_right_row_first():
    rng = np.random.default_rng(0)
    features, theta = rng.standard_normal((50, 4, 6)), rng.standard_normal(6)
    labels = (features @ theta).argmax(axis=1)
    trace = eb.run(eb.Oracle(), Classification(features, labels, theta=theta), rounds=120, seed=2)
    assert trace.regret[-1] == 0.0
    assert trace.rewards.sum() == 120.0
    mistakes = eb.run(eb.Random(seed=0), Classification(features, labels), rounds=120, seed=2)
    assert mistakes.regret[-1] == 120.0 - mistakes.rewards.sum() > 0.0


def test_an_oracle_without_theta_is_told_what_is_missing():
    with pytest.raises(ValueError, match="give it theta="):
        eb.run(eb.Oracle(), Classification(FEATURES, LABELS), rounds=1)


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        (FEATURES[0, 0], LABELS, r"features has shape \(2,\)"),
        (FEATURES[None], LABELS, r"features has shape \(1, 4, 3, 2\)"),
        (FEATURES[0], LABELS, r"labels has shape \(4,\) .* expected \(3,\) whole numbers or words"),
        (FEATURES[0], [0.5, 1.0, 2.0], "holds float64; expected"),
        (FEATURES, [0, 1, 2], r"labels has shape \(3,\)"),
        (FEATURES, [0, 1, 2, 3], "labels holds 3; expected rows from 0 to 2"),
        (FEATURES, [0, 1, 2, -1], "labels holds -1"),
        (FEATURES, [0.0, 1.0, 2.0, 0.0], "whole numbers"),
        ("nowhere.npy", LABELS, "features: there is no file nowhere.npy"),
    ],
)
def test_what_does_not_fit_together_is_refused(features, labels, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        Classification(features, labels)


def test_theta_of_another_length_is_refused():
    with pytest.raises(ValueError, match="theta has length 3; expected 2"):
        Classification(FEATURES, LABELS, theta=[1.0, 2.0, 3.0])


def test_a_file_that_is_cut_short_is_refused(tmp_path):
    np.save(tmp_path / "features.npy", FEATURES)
    whole = (tmp_path / "features.npy").read_bytes()
    (tmp_path / "features.npy").write_bytes(whole[:-10])
    with pytest.raises(ValueError, match="cut short"):
        Classification(tmp_path / "features.npy", LABELS)


def blocks_by_hand(x, classes):
    """Action k as the definition has it, entry by entry: (x, 1)/√(p + 1) in block k of K·(p + 1) numbers."""
    size = len(x) + 1
    rows = []
    for k in range(classes):
        row = [0.0] * (classes * size)
        for j, value in enumerate([*x, 1.0]):
            row[k * size + j] = float(value) / np.sqrt(size)
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64])
def test_features_of_two_axes_are_put_in_blocks(dtype):
    x = (10 * np.random.default_rng(0).standard_normal((6, 4))).astype(dtype)
    labels = [2, 0, 1, 1, 2, 0]
    environment = Classification(x, labels, shuffle=False)
    assert (environment.classes, environment.dim) == (3, 15)
    assert environment.name == "Classification(examples=6, classes=3, dim=15)"
    for t, offered in enumerate(seen(environment, 0, 6)):
        np.testing.assert_allclose(offered.actions, blocks_by_hand(x[t], 3), rtol=1e-15)
        assert [offered.reward(row) for row in range(3)] == [float(row == labels[t]) for row in range(3)]
        assert not offered.actions.flags.writeable
    longest = max(np.linalg.norm(blocks_by_hand(row, 3)[0]) for row in x)
    assert environment.instance(0).action_bound == pytest.approx(longest)
    assert environment.instance(0).basis.shape == (15, 0)


@pytest.mark.parametrize(
    "labels",
    [
        ["pear", "apple", "fig", "apple"],
        np.array(["pear", "apple", "fig", "apple"], dtype=object),
        [9, -3, 5, -3],
        np.array([9, -3, 5, -3], dtype=np.int16),
    ],
)
def test_classes_are_the_labels_that_differ_in_sorted_order(labels):
    environment = Classification(np.ones((4, 2)), labels, shuffle=False)
    assert environment.classes == 3
    order = ["apple", "fig", "pear"] if isinstance(labels[0], str) else [-3, 5, 9]
    for t, offered in enumerate(seen(environment, 0, 4)):
        assert order[int(offered.values.argmax())] == labels[t]


def test_both_forms_play_alike_and_in_the_same_order():
    rng = np.random.default_rng(1)
    x, labels = rng.standard_normal((30, 5)), np.arange(30) % 3
    ready = Classification(np.array([blocks_by_hand(row, 3) for row in x]), labels)
    made = Classification(x, labels)
    for seed in (0, 7):
        # 70 rounds of 30 examples: two whole orders and a part of a third.
        for here, there in zip(seen(made, seed, 70), seen(ready, seed, 70), strict=True):
            np.testing.assert_allclose(here.actions, there.actions, rtol=1e-15)
            np.testing.assert_array_equal(here.values, there.values)


def test_a_linear_rule_with_intercepts_is_an_oracle_on_blocks():
    rng = np.random.default_rng(2)
    x, weights, intercepts = rng.standard_normal((60, 4)), rng.standard_normal((3, 4)), [0.5, -0.5, 0.0]
    labels = (x @ weights.T + intercepts).argmax(axis=1)
    theta = np.column_stack([weights, intercepts]).ravel()
    trace = eb.run(eb.Oracle(), Classification(x, labels, theta=theta), rounds=60, seed=0)
    assert trace.regret[-1] == 0.0


def test_features_of_two_axes_are_mapped_and_never_held_as_blocks(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((5, 3), dtype=np.float32))
    mapped = Classification(tmp_path / "x.npy", [0, 1, 1, 0, 1])
    assert isinstance(mapped.opened, np.memmap)
    assert seen(mapped, 0, 1)[0].actions.shape == (2, 8)
    # 2,000 classes of 1,000 features: all sets would hold 2,000 · 2,000 · 2,002,000 numbers.
    assert Classification(np.ones((2000, 1000)), np.arange(2000)).dim == 2_002_000
