"""Users who look at lists: what they click, what is told of it, and the best list, against brute force."""

from itertools import islice, permutations

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.environments import Lists, LowRank

CLICKS = LowRank(dim=4, rank=2, arms=5, noise_kind="bernoulli", rate=0.4, theta_norm=2.0)


def rounds(examination, count=3, seed=0):
    return Lists(CLICKS, count, examination).instance(seed).rounds()


def test_the_same_seed_gives_the_same_rounds():
    for one, other in islice(zip(rounds("all"), rounds("all"), strict=True), 5):
        np.testing.assert_array_equal(one.actions, other.actions)
        np.testing.assert_array_equal(one.liked, other.liked)
    one, other = next(rounds("all")), next(rounds("all", seed=1))
    assert not np.array_equal(one.actions, other.actions)


@pytest.mark.parametrize("examination", ["all", "cascade", (0.5, 1.0, 0.25)])
def test_clicks_and_values_agree(examination):
    """The expected number of clicks is that of the users who come; no list has more than the best."""
    expected, clicked = [], []
    for offered in islice(rounds(examination), 1500):
        assert offered.count == 3
        expected.append(offered.value([4, 0, 2]))
        clicked.append(offered.reward([4, 0, 2]))
        if len(expected) < 20:
            values = [offered.value(order) for order in permutations(range(5), 3)]
            assert offered.best == pytest.approx(max(values), abs=1e-12)
    error = np.std(clicked) / np.sqrt(len(clicked))
    assert np.mean(clicked) == pytest.approx(np.mean(expected), abs=4.0 * error)


def test_what_is_told():
    for offered in islice(rounds("cascade"), 50):
        liked = np.flatnonzero(offered.liked[[3, 1, 0]])
        assert offered.outcome([3, 1, 0]) == (int(liked[0]) if len(liked) else None)
    for offered in islice(rounds("all"), 50):
        np.testing.assert_array_equal(offered.outcome([3, 1, 0]), offered.liked[[3, 1, 0]])


def test_what_cannot_be_played():
    with pytest.raises(ValueError, match=r"^count is 0; "):
        Lists(CLICKS, 0)
    with pytest.raises(ValueError, match=r"^examination is 'some'; "):
        Lists(CLICKS, 2, "some")
    gaussian = Lists(LowRank(dim=4, rank=2, arms=5), 2)
    with pytest.raises(ValueError, match=r"^lists need values from 0 to 1"):
        next(gaussian.instance(0).rounds())


@pytest.mark.parametrize("examination", ["all", "cascade", (1.0, 0.5, 0.25)])
def test_lists_are_learned(examination):
    policy, chance = eb.EigenUCB(seed=0), []
    earned = []
    for offered in islice(rounds(examination), 300):
        ranked = policy.choose_list(offered.actions, offered.count, examination=offered.examination)
        policy.learn(ranked, offered.outcome(ranked.indices))
        earned.append(offered.value(ranked.indices) / offered.best)
        chance.append(offered.value([0, 1, 2]) / offered.best)
    assert np.mean(earned[150:]) > 0.95 > np.mean(chance)
