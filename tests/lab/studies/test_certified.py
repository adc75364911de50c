"""Coverage of the certified set against dense algebra, and the decision sets that it is tried on."""

import math
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest

import eigenbandits as eb
from eigenbandits.belief import Screened
from eigenbandits.environments import LowRank
from eigenbandits.lab.experiments.results import Results
from eigenbandits.lab.studies.certified import MEASURED, SETS, AdaptiveSets, experiment, summarize

SMALL = LowRank(dim=5, rank=2, arms=6, perturbation=0.5)


def twin(kind, rounds, delta, seed):
    """Return the largest truth/bound by dense matrices, from the actions and rewards of the same run."""
    instance = AdaptiveSets(5, 2, 6, perturbation=0.5, sets=kind).instance(seed)
    theta, true = instance.theta, instance.basis @ instance.basis.T
    S, d = instance.theta_bound, len(instance.theta)
    policy = eb.EigenUCB(certified=True, noise=instance.noise, theta_bound=S, delta=delta, center="none", seed=seed)
    assert isinstance(policy.belief, Screened)
    belief = policy.belief.proved
    X, r, regret = np.zeros((0, d)), np.zeros(0), 0.0
    nearest = dict.fromkeys(MEASURED, 0.0)
    for offered in islice(instance.rounds(), rounds):
        actions = offered.actions
        decision = policy.choose(actions)
        frame = policy.subspace.current()
        assert frame is not None
        span = frame.directions[:, : frame.rank]
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
        reward = float(actions[decision.index] @ theta + offered.noise)
        policy.learn(decision, reward)
        instance.sold_out = decision.index if reward > decision.estimate else None
        instance.estimate = belief.structured.center
        X, r = np.vstack([X, actions[decision.index]]), np.append(r, reward)
        regret += np.max(actions @ theta) - actions[decision.index] @ theta
    return nearest, regret


def ellipsoid(X, r, b, W, theta, level, penalty):
    Z = X.T @ X + W
    gap = theta - np.linalg.solve(Z, b)
    return gap @ Z @ gap, level - (r @ r - b @ np.linalg.solve(Z, b)) + penalty


def run(folder, environment, **settings):
    return experiment(environment, **settings).run(folder, progress="none")


def test_what_is_measured_is_what_dense_algebra_sees(tmp_path):
    results = run(tmp_path, SMALL, rounds=40, seeds=2, first_seed=3)
    assert results.environments == list(SETS)
    for e, kind in enumerate(SETS):
        for i, seed in enumerate((3, 4)):
            nearest, regret = twin(kind, 40, 0.05, seed)
            assert results.final("regret")[0, e, i] == pytest.approx(regret)
            for name in MEASURED:
                found = results.final(f"nearest:{name}")[0, e, i]
                assert found == pytest.approx(nearest[name], rel=1e-6), (kind, name)


def test_decision_sets_follow_the_rewards():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    instance = AdaptiveSets(4, 2, 3, sets="withdrawn").instance(seed=0)
    np.testing.assert_array_equal(instance.actions(first), first)
    instance.sold_out = 1
    expected = first.copy()
    expected[1] = second[1]
    np.testing.assert_array_equal(instance.actions(second), expected)
    instance.sold_out = None
    np.testing.assert_array_equal(instance.actions(rng.normal(size=(3, 4))), expected)
    estimate = rng.normal(size=4)
    for kind in ("neighbors", "adversary"):
        instance = AdaptiveSets(4, 2, 3, sets=kind).instance(seed=0)
        np.testing.assert_array_equal(AdaptiveSets(4, 2, 3).instance(seed=0).actions(first), first)
        instance.estimate = estimate
        pull = estimate if kind == "neighbors" else estimate - instance.theta
        moved, unit = instance.actions(first), pull / np.linalg.norm(pull)
        lengths = np.linalg.norm(first, axis=1)
        np.testing.assert_allclose(moved @ unit, (first @ unit + lengths) / math.sqrt(2))
        np.testing.assert_allclose(
            moved - np.outer(moved @ unit, unit), (first - np.outer(first @ unit, unit)) / math.sqrt(2)
        )


def test_a_truth_outside_the_subspace_leaves_its_set_or_refutes_it_and_not_the_whole(tmp_path):
    outside = LowRank(dim=6, rank=2, arms=10, perturbation=2.0, theta="outside", noise=0.05)
    made = experiment(outside, rounds=400, seeds=2)
    made.environments = {"drawn": made.environments["drawn"]}
    results = made.run(tmp_path, progress="none")
    assert (results.final("nearest:subspace, estimated ε") > 1.0).all()
    assert (results.final("refuted") == 1.0).all()
    assert (results.final("nearest:whole") < 1.0).all()


def test_shares_and_limits_are_those_worked_out_by_hand():
    ratios = ([0.5, 1.0, 1.01, math.inf], [0.1] * 4, [0.2] * 4, [2.0] * 4, [1.0] * 4)
    columns = {f"nearest:{name}": found for name, found in zip(MEASURED, ratios, strict=True)}
    columns |= {"refuted": [1.0, 0.0, 0.0, 0.0], "regret": [0.0, 1.0, 2.0, 3.0]}
    keys = {"experiment": ["x"] * 4, "policy": ["p"] * 4, "environment": ["drawn"] * 4, "seed": range(4)}
    found = pa.table(keys | {"round": [9] * 4} | columns)
    results = Results(None, found, found.select([*keys, "round"]), {"settings": {"name": "x"}})  # type: ignore[arg-type]
    rows = {row["set"]: row for row in summarize(results, delta=0.05)}
    limit = 0.05 + 3 * math.sqrt(0.05 * 0.95 / 4)
    assert (rows["rho"]["left"], rows["rho"]["share"], rows["rho"]["holds"]) == (2, 0.5, False)  # the edge is inside
    assert rows["rho"]["limit"] == pytest.approx(limit)
    assert rows["whole"]["holds"]
    estimated = rows["subspace, estimated ε"]
    assert (estimated["left"], estimated["allowed"], estimated["holds"]) == (4, None, None)
    assert rows["rho"]["refuted"] == 0.25
    assert rows["rho"]["regret"] == 1.5


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="sets is 'few'"):
        AdaptiveSets(5, 2, 6, sets="few")
    with pytest.raises(ValueError, match="delta is 0"):
        experiment(SMALL, delta=0.0)
