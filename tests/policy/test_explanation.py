"""Diagnostics in words: each sentence on a problem whose truth is known."""

import re

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.environments import LowRank
from eigenbandits.policy.explanation import explain, warn


def said(policy, environment, rounds):
    eb.run(policy, environment, rounds=rounds, seed=0)
    return " ".join(policy.diagnostics().summary)


def model(**settings):
    return LowRank(**({"dim": 40, "rank": 3, "arms": 10, "perturbation": 1.0, "noise": 0.1} | settings))


def test_the_rank_comes_with_its_reason():
    words = said(eb.PSLB(noise=0.1), model(), 60)
    assert "Rank 3 of 40: 3 directions stand out from the noise" in words
    assert "the subspace is known up to an angle whose sine is 0." in words


def test_without_a_subspace_no_direction_is_praised():
    words = said(eb.PSLB(noise=0.1), model(rank=40), 150)
    assert "no direction stands out from the noise" in words
    assert "the subspace is not known yet (ε = 1)" in words


def test_items_that_come_again_are_counted_in_words():
    items = next(model(arms=50).instance(0).rounds()).actions
    policy, rng = eb.PSLB(noise=0.1), np.random.default_rng(0)
    for _ in range(100):
        policy.choose(items[rng.choice(50, 5, replace=False)])
    assert "From 500 vectors, worth " in " ".join(policy.diagnostics().summary)


def test_a_cut_says_which_set_decides_and_what_it_cannot_show():
    words = said(eb.PSLB(noise=0.1, rank=3), model(), 200)
    assert re.search(r"The projected set decides (9\d|100)% of the choices;", words)
    assert "a cut cannot show" in words


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ({"share_bound_by_projected": 0.1}, "decides only 10% of the choices"),
        ({"share_bound_by_projected": 0.9, "rounds_contradicted": 3}, "contradicted each other: see the warnings"),
    ],
)
def test_an_intersection_that_does_not_help_is_said_not_to(found, wanted):
    assert wanted in " ".join(explain({"dim": 4} | found))


def test_policies_without_a_subspace_have_little_to_say():
    policy = eb.OFUL(noise=0.5)
    assert policy.diagnostics().summary == ("Nothing has been seen yet.",)
    policy.choose([[1.0, 0.0], [0.0, 1.0]])
    assert policy.diagnostics().summary == ()


def test_the_flagship_says_what_it_has_learned():
    policy = eb.EigenUCB(seed=0)
    policy.choose(np.eye(3))
    assert "No reward has arrived yet" in " ".join(policy.diagnostics().summary)
    policy = eb.EigenUCB(seed=0)
    # Values of variance θᵀCθ: with all of θ* in one of 3 directions of half the energy, 1/6.
    words = said(policy, model(noise=0.4), 400)
    assert "Rank 3 of 40: 3 directions stand out from the noise" in words
    ((power, weight),) = re.findall(r"follows the spectrum to the power (\d) \(weight (\d+)%\)", words)
    assert power in "248"
    assert int(weight) > 20  # the largest of five shares
    ((signal, noise),) = [map(float, sizes) for sizes in re.findall(r"Signal ([\d.]+), noise ([\d.]+)", words)]
    assert noise == pytest.approx(0.4, rel=0.15)
    # The prior's width is known to a factor of two or so: half a decade of the ratio is a step.
    assert np.sqrt(1 / 6) / 2 < signal < 2 * np.sqrt(1 / 6)
    assert policy.diagnostics().warnings == ()


@pytest.mark.parametrize(
    ("shapes", "signal", "wanted"),
    [
        ({"0": 0.9, "1": 0.1}, 0.5, "the power 0 (weight 90%): every direction is equally likely to matter"),
        ({"0": 0.1, "2": 0.9}, 0.5, "half the variance is expected to have 1/4 of the squared weight"),
        ({"0": 0.1, "cut": 0.9}, 0.5, "cuts the spectrum (weight 90%): every direction that stands out"),
        ({"0": 0.1, "2": 0.9}, 0.25, "it takes about 16 rewards to tell actions apart"),
        ({"0": 0.1, "2": 0.9}, 2.0, "one reward says a lot about an action"),
    ],
)
def test_shapes_and_sizes_in_words(shapes, signal, wanted):
    found = {"dim": 4, "shapes": shapes, "widths": {"signal": signal, "noise": 1.0}, "rewards_learned": 9}
    assert wanted in " ".join(explain(found))


def test_a_subspace_that_does_not_help_is_warned_of():
    policy = eb.EigenUCB(seed=0)
    eb.run(policy, model(theta="outside", dim=30, rank=2, perturbation=0.3, noise=0.05), rounds=400, seed=0)
    (warning,) = policy.diagnostics().warnings
    assert warning.startswith("The subspace does not help here")
    assert warn({"shapes": {"0": 0.94, "1": 0.06}}) == []
    assert warn({"dim": 3}) == []
    assert len(warn({"shapes": {"0": 0.96, "1": 0.04}})) == 1
