"""Coverage of the certified set against dense algebra, and the decision sets that it is tried on."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.belief import MixtureSet
from eigenbandits.environments import LowRank
from eigenbandits.lab.certified import SETS, WATCHED, Offer, Settings, Sighting, cover, summarize

SMALL = LowRank(dim=5, rank=2, arms=6, perturbation=0.5)


def twin(settings, seed):
    """Return the largest truth/bound by dense matrices, from the actions and rewards of the same play."""
    instance = settings.environment.instance(seed)
    theta, true = instance.theta, instance.basis @ instance.basis.T
    S, d = instance.theta_bound, len(instance.theta)
    belief = MixtureSet(instance.noise, S, settings.delta)
    policy = eb.Policy(eb.subspace.PCA(), belief, eb.rules.Optimism(), seed=seed)
    offer = Offer(settings.sets, theta)
    X, r, regret = np.zeros((0, d)), np.zeros(0), 0.0
    nearest = dict.fromkeys(WATCHED, 0.0)
    for fresh in islice(instance.rounds(), settings.rounds):
        actions = offer.actions(fresh.actions, belief)
        decision = policy.choose(actions)
        frame = policy.subspace.current()
        assert frame is not None
        span = frame.directions
        hat = span @ span.T
        inner, outer = belief.structured.inside, belief.structured.outside
        level, b = belief.level(), X.T @ r
        # ‖(I − P̂)P‖₂, which for equal ranks is ‖P̂ − P‖₂.
        errors = {"true": float(np.linalg.norm((np.eye(d) - hat) @ true, 2)), "estimated": belief.error}
        found = {"rho": (np.sum((r - X @ theta) ** 2), level)}
        for name, error in errors.items():
            W = inner * hat + outer * (np.eye(d) - hat)
            found[f"subspace, {name} ε"] = ellipsoid(
                X, r, b, W, theta, level, S**2 * (inner + (outer - inner) * error**2)
            )
        if belief.scores[0] <= belief.scores[1] and found["subspace, estimated ε"][1] >= 0:
            found["subspace, deciding"] = found["subspace, estimated ε"]
        flat = belief.ambient_ridge.outside
        found["whole"] = ellipsoid(X, r, b, flat * np.eye(d), theta, level, flat * S**2)
        for name, (truth, bound) in found.items():
            nearest[name] = max(nearest[name], truth / bound if bound > 0 else math.inf)
        reward = float(actions[decision.index] @ theta + fresh.noise)
        policy.learn(decision, reward)
        offer.learn(decision, reward)
        X, r = np.vstack([X, actions[decision.index]]), np.append(r, reward)
        regret += np.max(actions @ theta) - actions[decision.index] @ theta
    return nearest, regret


def ellipsoid(X, r, b, W, theta, level, penalty):
    Z = X.T @ X + W
    gap = theta - np.linalg.solve(Z, b)
    return gap @ Z @ gap, level - (r @ r - b @ np.linalg.solve(Z, b)) + penalty


@pytest.mark.parametrize("kind", SETS)
def test_what_is_seen_is_what_dense_algebra_sees(kind):
    settings = Settings(SMALL, rounds=40, seeds=2, sets=kind, first_seed=3)
    for seed, seen in zip((3, 4), cover(settings), strict=True):
        nearest, regret = twin(settings, seed)
        assert seen.regret == pytest.approx(regret)
        for name in WATCHED:
            assert seen.nearest[name] == pytest.approx(nearest[name], rel=1e-6), name


def test_decision_sets_follow_the_rewards():
    rng = np.random.default_rng(0)
    theta, first, second = rng.normal(size=4), rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    belief = MixtureSet(0.5, 1.0)
    belief.start(4)
    offer = Offer("withdrawn", theta)
    np.testing.assert_array_equal(offer.actions(first, belief), first)
    offer.learn(eb.Decision(1, first[1], 1, estimate=0.5, upper=1.0), 0.6)
    expected = first.copy()
    expected[1] = second[1]  # better than expected, so sold out
    np.testing.assert_array_equal(offer.actions(second, belief), expected)
    offer.learn(eb.Decision(2, first[2], 2, estimate=0.5, upper=1.0), 0.4)
    np.testing.assert_array_equal(offer.actions(rng.normal(size=(3, 4)), belief), expected)
    belief.structured.center = rng.normal(size=4)
    for kind, pull in (("neighbors", belief.structured.center), ("adversary", belief.structured.center - theta)):
        moved = Offer(kind, theta).actions(first, belief)
        unit = pull / np.linalg.norm(pull)
        lengths = np.linalg.norm(first, axis=1)
        np.testing.assert_allclose(moved @ unit, (first @ unit + lengths) / math.sqrt(2))
        np.testing.assert_allclose(
            moved - np.outer(moved @ unit, unit), (first - np.outer(first @ unit, unit)) / math.sqrt(2)
        )


def test_a_truth_outside_the_subspace_leaves_its_set_or_refutes_it_and_not_the_whole():
    outside = LowRank(dim=6, rank=2, arms=10, perturbation=2.0, theta="outside", noise=0.05)
    seen = cover(Settings(outside, rounds=400, seeds=2))
    assert all(one.nearest["subspace, estimated ε"] > 1.0 for one in seen)
    assert all(one.refuted for one in seen)
    assert all(one.nearest["whole"] < 1.0 for one in seen)


def test_shares_and_limits_are_those_worked_out_by_hand():
    ratios = ([0.5, 1.0, 1.01, math.inf], [0.1] * 4, [0.2] * 4, [2.0] * 4, [1.0] * 4)
    seen = [
        Sighting(dict(zip(WATCHED, found, strict=True)), i == 0, float(i))
        for i, found in enumerate(zip(*ratios, strict=True))
    ]
    rows = {row["set"]: row for row in summarize(seen, delta=0.05)}
    limit = 0.05 + 3 * math.sqrt(0.05 * 0.95 / 4)
    assert (rows["rho"]["left"], rows["rho"]["share"], rows["rho"]["holds"]) == (2, 0.5, False)  # the edge is inside
    assert rows["rho"]["limit"] == pytest.approx(limit)
    assert rows["whole"]["holds"]
    estimated = rows["subspace, estimated ε"]
    assert (estimated["left"], estimated["granted"], estimated["holds"]) == (4, None, None)
    assert rows["rho"]["refuted"] == 0.25
    assert rows["rho"]["regret"] == 1.5


@pytest.mark.parametrize(("wrong", "words"), [({"sets": "few"}, "sets is 'few'"), ({"delta": 0.0}, "delta is 0")])
def test_bad_settings_are_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        Settings(SMALL, **wrong)
