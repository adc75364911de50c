"""Coverage against a twin that computes every set afresh in every round from the raw vectors and rewards."""

import math
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest

import eigenbandits as eb
from eigenbandits.environments import LowRank
from eigenbandits.lab.experiments.results import Results
from eigenbandits.lab.studies.coverage import Bound, CoverageMonitor, exceeded, experiment, summarize
from eigenbandits.subspace import PCA
from eigenbandits.subspace.effective import Effective
from eigenbandits.subspace.error import SAFETY
from eigenbandits.subspace.pca import BLOCK, is_sampled

DELTA, RIDGE = 0.1, 1.0
# Little perturbation and many arms: the theorem's ε falls below 1 within a few rounds.
EASY = LowRank(dim=5, rank=2, arms=30, perturbation=0.02)


def cover(env, rounds, seed, **settings):
    """Return the monitor of one run."""
    monitor = CoverageMonitor(**settings, seed=seed)
    eb.run(monitor, env, rounds, seed)
    return monitor


def estimated(values, rank, count, safety):
    """The estimate of ‖P̂ − P‖ as its docstring states it, term by term."""
    if count <= rank:
        return math.inf
    v = [[values[j] * values[k] / (count * (values[j] - values[k]) ** 2) for k in range(rank, len(values))]
         for j in range(rank)]  # fmt: skip
    largest_row = max(sum(row) for row in v)
    largest_column = max(sum(row[k] for row in v) for k in range(len(values) - rank))
    return safety * (math.sqrt(largest_row) + math.sqrt(largest_column))


def twin(env, rounds, seed):
    """Return truth and bound of every set in every round, from the definitions alone."""
    instance = env.instance(seed)
    theta, true = instance.theta, instance.basis @ instance.basis.T
    S, L, R, m, d = instance.theta_bound, instance.action_bound, instance.noise, env.rank, env.dim
    picked = eb.run(eb.PSLB(noise=0.5, rank=env.rank, delta=DELTA), env, rounds, seed).choices
    offered: list[np.ndarray] = []
    X: list[np.ndarray] = []
    r: list[float] = []
    pairs: dict[Bound, list[tuple[float, float]]] = {}
    sizes: list[tuple[float, float]] = []
    refreshed = frames = 0
    effective = Effective()  # has tests of its own
    effective.start(np.ones((1, d)))
    waiting: list[np.ndarray] = []
    V = np.zeros((d, m))
    for t, (round_, index) in enumerate(zip(islice(instance.rounds(), rounds), picked, strict=True), start=1):
        offered.extend(round_.actions)
        n = len(offered)
        known = V if frames else None
        if len(waiting) + env.arms > BLOCK:
            effective.add_batch(np.array(waiting), known, None)
            waiting = []
        waiting.extend(round_.actions)
        if is_sampled(t):
            effective.add_set(round_.actions, n, known, None)
        if n >= (1.0 + PCA().growth) * refreshed:
            effective.add_batch(np.array(waiting), known, None)
            waiting = []
            A = np.array(offered)
            values, vectors = np.linalg.eigh(A.T @ A / n)
            values, V = values[::-1], np.asarray(vectors[:, ::-1][:, :m])
            refreshed, refreshed_set = n, t
            frames += 1
            effective.follow(values, m)
            inflation, largest = effective.doubt(n, t, centered=False)
        chosen, rewards = np.array(X).reshape(-1, d), np.array(r)
        gram, b = chosen.T @ chosen, chosen.T @ rewards
        Z = gram + RIDGE * np.eye(d)
        gap = theta - np.linalg.solve(Z, b)
        truth = math.sqrt(gap @ Z @ gap)
        logdet = np.linalg.slogdet(Z)[1] - d * math.log(RIDGE)
        omega = {
            "logdet": R * math.sqrt(logdet + 2 * math.log(1 / DELTA)) + S * math.sqrt(RIDGE),
            "paper": R * math.sqrt(2 * math.log(1 / DELTA) + d * math.log(1 + t * L**2 / (m * RIDGE)))
            + S * math.sqrt(RIDGE),
        }
        for radius, bound in omega.items():
            pairs.setdefault(Bound("C_d", radius, "none"), []).append((truth, bound))
        hat = V @ V.T
        tilt = float(np.linalg.norm(hat - true, 2))
        size = estimated(values, m, refreshed / inflation, 1.0) / max(1.0 - largest / values[m - 1], 1e-300)
        sizes.append((tilt, size))
        B = V.T @ gram @ V + RIDGE * np.eye(m)
        gap = V.T @ theta - np.linalg.solve(B, V.T @ b)
        truth = math.sqrt(gap @ B @ gap)
        eigenvalues, rotation = np.linalg.eigh(B)
        root = (rotation / np.sqrt(eigenvalues)) @ rotation.T
        couplings = {
            "sharp": np.linalg.norm(root @ V.T @ gram @ (np.eye(d) - hat), 2),
            "general": np.linalg.norm(root @ V.T @ gram, 2),
        }
        logdet = np.linalg.slogdet(B)[1] - m * math.log(RIDGE)
        for anytime in (False, True):
            delta = 6 * DELTA / (math.pi * t) ** 2 if anytime else DELTA
            delta_seen = 6 * DELTA / (math.pi * refreshed_set) ** 2 if anytime else DELTA
            errors = {
                "estimated": min(1.0, SAFETY * size),
                "theorem": eb.theory.projection_error(instance.structure, refreshed, d, m, delta_seen),
            }
            for source, error in errors.items():
                pairs.setdefault(Bound("C_p", "", source, anytime), []).append((tilt, error))
                noise = R * math.sqrt(logdet + 2 * math.log(1 / delta))
                for radius, coupling in couplings.items():
                    bound = noise + error * S * coupling + S * math.sqrt(RIDGE)
                    pairs.setdefault(Bound("C_m", radius, source, anytime), []).append((truth, bound))
                growth = m * math.log(1 + t * L**2 / (m * RIDGE))
                gamma = L**2 / RIDGE / math.log(1 + L**2 / RIDGE)
                bound = R * math.sqrt(2 * math.log(1 / delta) + growth) + S * math.sqrt(RIDGE)
                bound += error * S * L * math.sqrt(gamma * t * growth)
                pairs.setdefault(Bound("C_m", "worst-case", source, anytime), []).append((truth, bound))
        X.append(round_.actions[index])
        r.append(round_.reward(index))
    return pairs, sizes


def test_every_set_is_measured_as_the_definitions_have_it():
    rounds = 30
    for seed in range(2):
        seen = cover(EASY, rounds, seed, delta=DELTA)
        pairs, sizes = twin(EASY, rounds, seed)
        assert set(seen.nearest) == set(pairs)
        for key, found in pairs.items():
            telling = [(truth, bound) for truth, bound in found if not (key.set == "C_p" and bound >= 1.0)]
            nearest = max((truth / bound for truth, bound in telling), default=0.0)
            assert seen.nearest[key] == pytest.approx(nearest, rel=1e-6), key
            truth, bound = found[-1]
            assert seen.looseness[key] == pytest.approx(bound / truth, rel=1e-6), key
        assert seen.safety == pytest.approx(max(tilt / size for tilt, size in sizes), rel=1e-6)
        for source in ("estimated", "theorem"):
            bounds = [bound for _, bound in pairs[Bound("C_p", "", source)]]
            first = next((t for t, bound in enumerate(bounds, start=1) if bound < 1.0), None)
            assert seen.first_below.get(source) == first
            assert first in range(1, rounds)  # or the case would test nothing


def test_a_truth_outside_the_subspace_is_seen_to_leave_the_projected_set(tmp_path):
    outside = LowRank(dim=6, rank=2, arms=10, perturbation=2.0, theta="outside", noise=0.05)
    results = experiment(outside, rounds=300, seeds=2).run(tmp_path, progress="none")
    # A δ so small that even the limit for two runs is far below 1.
    rows = {tuple(row[name] for name in Bound._fields): row for row in summarize(results, 1e-6)}
    assert rows["C_m", "sharp", "estimated", False]["left"] == 2
    assert not rows["C_m", "sharp", "estimated", False]["holds"]
    assert rows["C_d", "logdet", "none", False]["left"] == 0  # the ambient set asks nothing of the subspace


def test_without_a_structure_there_is_no_theorem():
    heavy = LowRank(dim=6, rank=2, arms=10, vectors="heavy")
    seen = cover(heavy, 10, 0)
    assert {key.error for key in seen.nearest} == {"none", "estimated"}
    assert all(math.isfinite(value) for value in seen.nearest.values())


def test_where_the_subspace_is_everything_its_error_is_nothing(tmp_path):
    results = experiment(LowRank(dim=3, rank=3, arms=4), rounds=10, seeds=1).run(tmp_path, progress="none")
    assert results.final(Bound("C_p", "", "estimated").column("nearest")) == 0.0
    assert results.final("safety") == 0.0
    row = next(row for row in summarize(results, 0.05) if row["set"] == "C_p" and row["error"] == "estimated")
    assert row["bound_over_truth"] is None


def measured(nearest, looseness, safety=(0.0,) * 4, set_="C_m"):
    bound = Bound(set_, "sharp", "estimated")
    columns = {bound.column("nearest"): nearest, bound.column("looseness"): looseness, "safety": list(safety)}
    keys = {"experiment": ["x"] * 4, "policy": ["p"] * 4, "environment": ["e"] * 4, "seed": range(4), "round": [9] * 4}
    found = pa.table(keys | columns)
    return Results(None, found, found.select(list(keys)), {"settings": {"name": "x"}})  # type: ignore[arg-type]


@pytest.mark.parametrize(("set_", "times"), [("C_d", 1), ("C_p", 3), ("C_m", 4)])
def test_shares_and_limits_are_those_worked_out_by_hand(set_, times):
    (row,) = summarize(measured([0.5, 1.0, 1.01, 3.0], [9.0, 2.0, 4.0, 3.0], set_=set_), delta=0.05)
    assert (row["runs"], row["left"], row["share"]) == (4, 2, 0.5)  # on the boundary is inside
    allowed = times * 0.05
    assert row["allowed"] == pytest.approx(allowed)
    assert row["limit"] == pytest.approx(allowed + 3 * math.sqrt(allowed * (1 - allowed) / 4))
    assert row["holds"] is (set_ != "C_d")  # ½ against 0.377, 0.686 and 0.8
    assert row["bound_over_truth"] == 3.5
    assert row["nearest"] == 3.0


def test_the_share_of_runs_that_exceed_a_safety_factor():
    seen = measured([0.0] * 4, [1.0] * 4, [0.9, 1.1, 1.2, 1.3])
    assert [exceeded(seen, factor) for factor in (0.5, 1.1, 1.25, 2.0)] == [1.0, 0.5, 0.25, 0.0]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"delta": 1.0}, "delta is 1; expected a number between 0 and 1"),
        ({"seeds": 0}, "seeds is 0; expected a whole number of at least 1"),
    ],
)
def test_bad_settings_are_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        experiment(EASY, **wrong)
