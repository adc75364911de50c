"""What users hand in: what is taken, what is refused, and in which words."""

import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import eigenbandits as eb
from eigenbandits import inputs

# Of a size that double precision can work with, or nothing at all.
FINITE = st.floats(-1e50, 1e50).filter(lambda value: value == 0.0 or abs(value) >= 1e-50)
SETS = hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=FINITE)


@given(SETS)
def test_finite_numbers_are_taken_as_they_are(actions):
    with warnings.catch_warnings():
        # Sums of huge numbers may overflow on the way; that is not the user's concern.
        warnings.simplefilter("error")
        found = inputs.as_actions(actions, None)
    assert found.dtype == np.float64
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, actions)
    np.testing.assert_array_equal(inputs.as_actions(actions.tolist(), actions.shape[1]), actions)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_too_large_or_too_small_to_be_squared_is_refused(dtype):
    largest, smallest = (1e50, 1e-50) if dtype == "float64" else (1e15, 1e-15)
    for good in (0.0, 0.9 * largest, 1.1 * smallest):
        inputs.as_actions([[0.0, good], [0.0, 0.0]], 2, dtype=dtype)
    # Many numbers that are each within reach, though their sum is not, and small ones beside an ordinary one.
    inputs.as_actions(np.full((4, 2), 0.9 * largest), 2, dtype=dtype)
    inputs.as_actions([[1.0, 1e-3 * smallest]], 2, dtype=dtype)
    with pytest.raises(ValueError, match=r"actions holds -?1\.1e\+\d+ at \(1, 0\), whose powers do not fit into float"):
        inputs.as_actions([[0.0, 1.0], [-1.1 * largest, 0.0]], 2, dtype=dtype)
    with pytest.raises(ValueError, match=r"nothing above 9e-\d+ in size, .*multiply by a constant"):
        inputs.as_actions([[0.0, 0.9 * smallest]], 2, dtype=dtype)
    # A reward may be as small as it likes.
    assert inputs.as_reward(1e-200) == 1e-200
    assert inputs.as_rewards([1e-200, 0.0], 2).tolist() == [1e-200, 0.0]
    for bad in (1e51, -1e51):
        with pytest.raises(ValueError, match=r"reward is -?1e\+51; expected at most 1e\+50 in size"):
            inputs.as_reward(bad)
        with pytest.raises(ValueError, match=r"rewards holds -?1e\+51 at \(1,\)"):
            inputs.as_rewards([0.0, bad], 2)


@given(SETS, st.data(), st.sampled_from([np.nan, np.inf, -np.inf]))
def test_one_bad_number_is_found_and_named(actions, data, bad):
    place = tuple(data.draw(st.integers(0, side - 1)) for side in actions.shape)
    actions[place] = bad
    first = tuple(int(i) for i in np.argwhere(~np.isfinite(actions))[0])
    with pytest.raises(ValueError, match="expected finite numbers only") as caught:
        inputs.as_actions(actions, None)
    assert str(caught.value) == f"actions holds {bad} at {first}; expected finite numbers only."


def test_what_is_wrong_with_a_set_is_said_in_words():
    expectations = {
        "actions is empty; expected at least one row, one vector per thing to choose from.": [],
        "actions has shape (3,); expected two axes, (number of vectors, dimension). "
        "For a single vector use vector.reshape(1, -1).": [1.0, 2.0, 3.0],
        "actions has shape (1, 1, 1); expected two axes, (number of vectors, dimension).": [[[1.0]]],
        "actions has vectors of length 0; expected at least one number in each.": [[], []],
        "actions has vectors of length 3; this policy has seen vectors of length 2.": [[1.0, 2.0, 3.0]],
    }
    for message, actions in expectations.items():
        with pytest.raises(ValueError, match="actions") as caught:
            inputs.as_actions(actions, 2)
        assert str(caught.value) == message
    with pytest.raises(ValueError, match=r"^vectors is empty"):
        inputs.as_actions(np.zeros((0, 2)), 2, what="vectors")


@pytest.mark.parametrize(
    "actions", [[["1", "2"]], [[1 + 1j, 0]], [[None, 1]], [[1.0], [1.0, 2.0]], {"a": 1}, np.datetime64("2020")]
)
def test_what_is_no_number_is_refused(actions):
    with pytest.raises(ValueError, match=r"^actions (holds|cannot be read|has shape).*\.$"):
        inputs.as_actions(actions, None)


def test_an_array_that_will_not_convert_tells_why_in_one_line():
    class Stubborn:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("call detach() first.\nSee the manual.")

    with pytest.raises(ValueError, match=r"^actions cannot be read as an array of numbers: call detach\(\) first\.$"):
        inputs.as_actions(Stubborn(), None)


def test_a_mask_that_hides_nothing_is_no_mask():
    actions = np.ma.masked_array([[1.0, 2.0]], [[False, False]])
    np.testing.assert_array_equal(inputs.as_actions(actions, 2), [[1.0, 2.0]])


def test_one_vector():
    np.testing.assert_array_equal(inputs.as_action([1, 2], 2), [1.0, 2.0])
    np.testing.assert_array_equal(inputs.as_action([[1, 2]], 2), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"^action has shape \(2, 2\); expected one vector of shape \(dimension,\)"):
        inputs.as_action(np.ones((2, 2)), 2)
    with pytest.raises(ValueError, match=r"^theta has vectors of length 3; "):
        inputs.as_action(np.ones(3), 2, what="theta")


@pytest.mark.parametrize("reward", [0, -1.5, True, np.float32(0.25), np.int64(3), np.array(2.0), Decimal("0.5")])
def test_rewards_that_are_numbers(reward):
    assert inputs.as_reward(reward) == float(reward)


def test_a_fraction_is_a_number():
    assert inputs.as_reward(Fraction(1, 4)) == 0.25


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        (np.nan, "reward is nan; expected a finite number. Leave out rewards that are not known."),
        (-np.inf, "reward is -inf; expected a finite number. Leave out rewards that are not known."),
        (None, "reward is None; expected one finite number."),
        ("0.5", "reward is '0.5'; expected one finite number."),
        (b"1", "reward is b'1'; expected one finite number."),
        ([1.0], "reward is [1.0]; expected one finite number."),
        (np.ones(1), "reward is array([1.]); expected one finite number."),
        (1j, "reward is 1j; expected one finite number."),
        (np.ma.masked, "reward is masked; expected one finite number."),
    ],
)
@pytest.mark.filterwarnings("error")
def test_rewards_that_are_not(reward, message):
    with pytest.raises(ValueError, match="reward is") as caught:
        inputs.as_reward(reward)
    assert str(caught.value) == message


def test_a_long_reward_is_shown_in_short():
    with pytest.raises(ValueError, match="reward is") as caught:
        inputs.as_reward(np.ones((50, 50)))
    assert len(str(caught.value)) < 120
    with pytest.raises(ValueError, match="reward is 1000"):
        inputs.as_reward(10**400)


def test_rewards_of_a_batch():
    np.testing.assert_array_equal(inputs.as_rewards((1, 2), 2), [1.0, 2.0])
    for rewards, match in [
        ([1.0], r"^rewards has shape \(1,\); expected \(2,\), one for each action\.$"),
        ([[1.0, 2.0]], r"^rewards has shape \(1, 2\); expected \(2,\)"),
        ([1.0, np.nan], r"^rewards holds nan at \(1,\)"),
        (["1", "2"], r"^rewards holds str"),
    ]:
        with pytest.raises(ValueError, match=match):
            inputs.as_rewards(rewards, 2)


def test_what_may_be_chosen():
    for good in ([True, False, True], np.array([True, False, True]), [2, 0], (0, 2), np.array([0, 2], dtype=np.uint8)):
        assert inputs.as_allowed(good, 3).tolist() == [0, 2]
    for bad, message in [
        ([False] * 3, "allowed excludes every action; expected at least one that may be chosen."),
        ([], "allowed excludes every action; expected at least one that may be chosen."),
        ([True] * 2, "allowed is a mask of 2; expected 3, one for each action."),
        ([0, 3], "allowed holds the index 3; expected indices from 0 to 2."),
        ([-1], "allowed holds the index -1; expected indices from 0 to 2."),
        # Read as indices, a mask of whole numbers would allow the first two actions.
        ([1, 0, 1], "allowed holds the index 1 more than once; expected each once, or a mask of True and False."),
        ([0.0, 1.0], "allowed is [0.0, 1.0]; expected a mask of 3 truth values, or indices."),
        (1, "allowed is 1; expected a mask of 3 truth values, or indices."),
    ]:
        with pytest.raises(ValueError, match="allowed") as caught:
            inputs.as_allowed(bad, 3)
        assert str(caught.value) == message
    assert inputs.as_allowed_many(None, [2, 3]) == [None, None]
    with pytest.raises(ValueError, match=r"^allowed for decision set 1 holds the index 3; "):
        inputs.as_allowed_many([None, [3]], [2, 3])


def test_numbers_as_parameters():
    assert inputs.number(np.float32(0.5), "noise", least=0.0) == 0.5
    assert inputs.number(0, "noise", least=0.0) == 0.0
    for value, limits, message in [
        (0.0, {"above": 0.0}, "ridge is 0; expected a number above 0."),
        (-1, {"least": 0.0}, "ridge is -1; expected a number of at least 0."),
        (np.nan, {}, "ridge is nan; expected a finite number."),
        (True, {}, "ridge is True; expected a number."),
        ("1", {}, "ridge is '1'; expected a number."),
        (None, {}, "ridge is None; expected a number."),
    ]:
        with pytest.raises(ValueError, match="ridge is") as caught:
            inputs.number(value, "ridge", **limits)
        assert str(caught.value) == message


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 2.0])
def test_probabilities_lie_strictly_between(value):
    assert inputs.probability(0.05, "delta") == 0.05
    with pytest.raises(ValueError, match=r"^delta is .*; expected a number .*\.$"):
        inputs.probability(value, "delta")


def test_whole_numbers_and_words():
    assert inputs.whole(np.int32(4), "rank") == 4
    for value in (0, -1, 1.5, 2.0, True, "3", None):
        with pytest.raises(ValueError, match=r"^rank is .*; expected a whole number of at least 1\.$"):
            inputs.whole(value, "rank")
    assert inputs.one_of("a", "word", ("a", "b")) == "a"
    with pytest.raises(ValueError, match=r"^word is 'c'; expected one of 'a', 'b'\.$"):
        inputs.one_of("c", "word", ("a", "b"))


def test_a_word_for_the_noise_is_answered_with_how_it_is_learned():
    with pytest.raises(ValueError, match="'estimate'; leave it out, and it is estimated"):
        eb.EigenUCB(noise="estimate")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"expected the standard deviation of a reward .* EigenUCB estimates it"):
        eb.PSLB(noise="estimate")  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", ["a", -1, 0.5])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ValueError, match=f"seed is {seed!r}; expected a whole number of at least 0, or None"):
        eb.EigenUCB(seed=seed)


def test_a_file_in_no_folder_is_refused_by_the_name_of_the_folder(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"there is no such folder; make it before writing x.eb to it: .*nowhere"
    ):
        eb.EigenUCB().save(tmp_path / "nowhere" / "x.eb")


def test_a_folder_is_refused_as_a_file(tmp_path):
    with pytest.raises(IsADirectoryError, match="this is a folder; give the name of a file in it"):
        eb.EigenUCB().save(tmp_path)
    assert not list(tmp_path.iterdir())
