"""Diagnostics in words: each sentence on a problem whose truth is known."""

import re

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.environments import LowRank
from eigenbandits.explanation import explain


def said(policy, environment, rounds):
    eb.run(policy, environment, rounds=rounds, seed=0)
    return " ".join(policy.diagnostics().summary)


def model(**settings):
    return LowRank(**({"dim": 40, "rank": 3, "arms": 10, "perturbation": 1.0, "noise": 0.1} | settings))


def test_the_rank_comes_with_its_reason():
    words = said(eb.PSLB(noise=0.1), model(), 60)
    assert "Rank 3 of 40: 3 directions stand out of the noise" in words
    assert "the subspace is known up to an angle whose sine is 0." in words


def test_without_a_subspace_no_direction_is_praised():
    words = said(eb.PSLB(noise=0.1), model(rank=40), 150)
    assert "no direction stands out of the noise" in words
    assert "the subspace is not known yet (ε = 1)" in words


def test_items_that_come_again_are_counted_in_words():
    items = next(model(arms=50).instance(0).rounds()).actions
    policy, rng = eb.PSLB(noise=0.1), np.random.default_rng(0)
    for _ in range(100):
        policy.choose(items[rng.choice(50, 5, replace=False)])
    assert "From 500 vectors, worth " in " ".join(policy.diagnostics().summary)


def test_a_cut_says_which_set_decides_and_what_it_cannot_see():
    words = said(eb.PSLB(noise=0.1, rank=3), model(), 200)
    assert re.search(r"The projected set decides in (9\d|100)% of the choices;", words)
    assert "a cut cannot see" in words


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ({"share_bound_by_projected": 0.1}, "decides in 10% of the choices only"),
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
