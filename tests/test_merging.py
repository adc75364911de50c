"""Merging against one process, sums written out row by row, and the guarantees of what is only summarized."""

from typing import Any

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.merging import Replica, Shift
from eigenbandits.policy.files import from_bytes, to_bytes
from eigenbandits.policy.replicas import copy_of
from eigenbandits.subspace.error import subspace_distance
from eigenbandits.subspace.revisits import Revisits

SHARDS = 8


def shards(dim=32, rows=400, arms=6, seed=0, mean=0.0, level=0.0, scale=1.0):
    """Return logs of one system, (sets, chosen vectors, rewards), whose shards differ in their means."""
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal(dim) / np.sqrt(dim)
    axes = rng.standard_normal((min(4, dim), dim))
    found = []
    for _ in range(SHARDS):
        center = mean + 0.3 * rng.standard_normal(dim)
        sets = (
            rng.standard_normal((rows, arms, len(axes))) @ axes + 0.2 * rng.standard_normal((rows, arms, dim)) + center
        )
        chosen = sets[np.arange(rows), rng.integers(arms, size=rows)]
        found.append((scale * sets, scale * chosen, level + chosen @ theta + 0.1 * rng.standard_normal(rows)))
    return found


def teach(policy, sets, chosen, rewards):
    for actions in sets:
        policy.observe(actions)
    policy.learn_many(chosen, rewards)


def both(make, **options):
    """Return a policy that eight replicas were merged into, and that of one process."""
    logs = shards(**options)
    replicas, one = [make() for _ in logs], make()
    for replica, log in zip(replicas, logs, strict=True):
        teach(replica, *log)
        teach(one, *log)
    first, *others = replicas
    first.merge(others)
    one.merge([])
    return first, one


def assert_close(found, expected, digits=1e-10):
    size = float(np.abs(expected).max()) or 1.0
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=digits * size)


MAKERS = {
    "EigenUCB": lambda: eb.EigenUCB(seed=0),
    "EigenTS": lambda: eb.EigenTS(center="none", seed=0),
    "OFUL": lambda: eb.OFUL(noise=0.1),
    "OFUL-mean": lambda: eb.OFUL(noise=0.1, center="mean"),
    "LinUCB": lambda: eb.LinUCB(),
    "LinTS": lambda: eb.LinTS(noise=0.1, seed=0),
    "Greedy": lambda: eb.Greedy(),
    "PSLB": lambda: eb.PSLB(noise=0.1, rank=4, projection_error=0.1, center="mean"),
    "CBRAP": lambda: eb.CBRAP(noise=0.1, rank=8, seed=0),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_eight_shards_equal_one_process(kind):
    """The shards center on different means, so that their references, κ and origins all differ."""
    merged, one = both(MAKERS[kind], mean=5.0, level=-3.0)
    assert merged.diagnostics().rewards_learned == SHARDS * 400
    probe = shards(rows=1, seed=1, mean=5.0)[0][0][0]
    first, second = merged.choose(probe, observe=False), one.choose(probe, observe=False)
    assert first.index == second.index
    # κ and the reference are those of the first rows, which the first shard and the one process share.
    assert first.estimate == pytest.approx(second.estimate, rel=1e-10)
    assert first.upper == pytest.approx(second.upper, rel=1e-10)
    center, expected = (getattr(policy.belief, "center", None) for policy in (merged, one))
    if center is not None:
        assert_close(center, expected)
        assert_close(merged.belief.inverse.full(), one.belief.inverse.full())


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("dim", [1, 3])
def test_units_and_few_dimensions(scale, dim):
    merged, one = both(lambda: eb.EigenUCB(seed=0), dim=dim, rows=20, scale=scale, mean=2.0, level=1e3)
    assert_close(merged.belief.center, one.belief.center, 1e-8)


def test_many_dimensions():
    """Beyond 512 dimensions the prior is learned from a sample: of the rewards of all shards, evenly."""
    merged, one = both(lambda: eb.EigenUCB(seed=0), dim=520, rows=40, arms=2, level=2.0)
    assert merged.belief.sample.complete
    assert merged.belief.sample.fill == 320
    np.testing.assert_allclose(merged.belief.sample.rows, one.belief.sample.rows, atol=1e-9)
    np.testing.assert_allclose(merged.belief.sample.rewards, one.belief.sample.rewards, atol=1e-9)
    assert_close(merged.belief.evidence.gram.full(), one.belief.evidence.gram.full())
    more, _ = both(lambda: eb.EigenUCB(seed=0), dim=520, rows=300, arms=1, level=2.0)
    sample = more.belief.sample
    # The least power of two that leaves at most 1,024.
    assert (sample.seen, sample.stride, sample.fill) == (2400, 4, 600)


def test_a_shift_is_what_lifting_anew_would_give():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((50, 4)) + 3.0
    theirs, ours = (eb.EigenUCB().centering for _ in range(2))
    theirs.start(vectors[:5], 2.0)
    ours.start(vectors[5:10] + 1.0, None)
    shift = ours.shift_from(theirs)
    rows, expected = theirs.lift_vectors(vectors), ours.lift_vectors(vectors)
    np.testing.assert_allclose(shift.rows(rows), expected, atol=1e-12)
    np.testing.assert_allclose(shift.gram(np.tril(rows.T @ rows)), expected.T @ expected, rtol=1e-12)
    lengths, longest = np.linalg.norm(expected, axis=1), [shift.longest(float(np.linalg.norm(row))) for row in rows]
    assert (lengths <= np.array(longest) + 1e-12).all()
    matrix = shift.rows(np.eye(5)).T
    assert shift.square_norm() == pytest.approx(np.linalg.norm(matrix, 2) ** 2)
    assert Shift(None, 1.0, 2.0).longest(np.sqrt(10.0)) == pytest.approx(np.sqrt(13.0))


def test_forecasts_add_up():
    """The reading of rewards as regrets keeps the sums that the replicas' own decisions gave it, about one origin."""
    rng = np.random.default_rng(0)
    replicas: list[Any] = []
    rows: list[Any] = []
    for level in (10.0, -4.0):
        policy = eb.EigenUCB(seed=0)
        for learned in range(100):
            decision = policy.choose(rng.standard_normal((5, 3)))
            reward = level + float(decision.action[0]) + 0.1 * rng.standard_normal()
            policy.learn(decision, reward)
            if learned >= 2:  # nothing is forecast before two rewards have differed
                rows.append((decision.forecast, reward))
        replicas.append(policy)
    merged, other = replicas
    members = len(merged.belief.weights)
    merged.merge([other])
    best = np.array([forecast[1 : members + 1] for forecast, _ in rows])
    behind = np.array([forecast[members + 1 :] for forecast, _ in rows])
    for place in range(members):
        values = np.array([reward for _, reward in rows])
        columns = np.stack([best[:, place], behind[:, place], -(behind[:, place] < 0.0).astype(float), values])
        expected = np.cov(columns, bias=True) * len(rows)
        np.testing.assert_allclose(
            merged.belief.prior.moments(merged.belief.origin)[place], expected, rtol=1e-8, atol=1e-8
        )


def test_a_reward_that_two_replicas_reached_is_a_bound():
    base = eb.EigenUCB(seed=0)
    base.learn_many(np.eye(3), [0.0, 0.5, 1.0])
    again: list[Any] = [from_bytes(to_bytes(base)) for _ in range(2)]
    for policy, reward in zip(again, (0.25, 0.75), strict=True):
        policy.learn([1.0, 1.0, 0.0], reward)
    first, second = again
    first.merge([second], base=base)
    # One reward of 1, which all three know of.
    assert (first.belief.censoring.highest, first.belief.censoring.above) == (1.0, False)
    apart: list[Any] = [eb.EigenUCB(seed=0) for _ in range(2)]
    for policy in apart:
        policy.learn_many(np.eye(3), [0.0, 0.5, 1.0])
    apart[0].merge(apart[1:])
    assert apart[0].belief.censoring.above
    assert apart[0].belief.censoring.below


def test_a_merged_sketch_keeps_its_bound():
    """0 ⪯ Σ − SᵀS ⪯ ρI, the guarantee of frequent directions, for the Σ of all shards and the merged sketch."""
    logs = shards(dim=20, rows=100, mean=1.0)
    for center in ("none", "mean"):
        policies: list[Any] = [eb.SOFUL(noise=0.1, size=4) for _ in logs]
        if center == "mean":
            policies = [
                eb.Policy(eb.subspace.PCA(2), eb.belief.Sketched(0.1, 4), eb.rules.Optimism(), "mean") for _ in logs
            ]
        for policy, log in zip(policies, logs, strict=True):
            teach(policy, *log)
        first, *others = policies
        first.merge(others)
        rows = first.centering.lift_vectors(np.concatenate([chosen for _, chosen, _ in logs]))
        sketch = first.belief.rows[: first.belief.fill]
        missing = np.linalg.eigvalsh(rows.T @ rows - sketch.T @ sketch)
        assert missing[0] > -1e-8 * missing[-1]
        assert missing[-1] <= first.belief.lost * (1 + 1e-10)
        np.testing.assert_allclose(first.belief.moment, np.concatenate([r for *_, r in logs]) @ rows)


def certified() -> Any:
    return eb.Policy(eb.subspace.PCA(2, projection_error=0.1), eb.belief.MixtureSet(0.5, 1.0), eb.rules.Optimism())


def test_certified_scores_of_replicas():
    """The member with λI has the score of one process; the other, the sum of what the replicas scored."""
    logs = shards(dim=5, rows=30)
    policies, one = [certified() for _ in logs], certified()
    for policy, log in zip(policies, logs, strict=True):
        teach(policy, *log)
        teach(one, *log)
    structured = sum(policy.belief.scores[0] for policy in policies)
    first, *others = policies
    first.merge(others)
    assert first.belief.scores[1] == pytest.approx(one.belief.scores[1], rel=1e-10)
    assert first.belief.scores[0] == pytest.approx(structured, rel=1e-12)


def test_a_merged_certified_set_holds_the_truth():
    """A set granted δ = 0.05, merged from three replicas that chose by themselves, in 30 worlds."""
    left = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        theta = np.array([0.8, -0.6, 0.0, 0.0])
        policies: list[Any] = [
            eb.Policy(eb.subspace.PCA(2), eb.belief.MixtureSet(0.5, 1.0, delta=0.05), eb.rules.Optimism())
            for _ in range(3)
        ]
        for policy in policies:
            for _ in range(20):
                decision = policy.choose(rng.standard_normal((4, 4)) * [1.0, 1.0, 0.1, 0.1])
                policy.learn(decision, float(decision.action @ theta) + 0.5 * rng.standard_normal())
        first, *others = policies
        first.merge(others)
        ridge, square = first.belief.ambient_ridge, first.belief.squares()[1]
        away = theta - ridge.center
        left += float(away @ ridge.precision(first.belief.evidence) @ away) > square if square >= 0 else True
    # 1.5 expected at the most; more than 5 in 30 would have a probability below 1 %.
    assert left <= 5


def test_streaming_replicas_find_the_span_of_all():
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.standard_normal((40, 3)))[0].T
    policies: list[Any] = [eb.PSLB(noise=0.1, rank=3, subspace="streaming", intersect=False, seed=0) for _ in range(4)]
    for policy in policies:
        for _ in range(100):
            actions = rng.standard_normal((5, 3)) @ axes + 0.1 * rng.standard_normal((5, 40))
            decision = policy.choose(actions)
            policy.learn(decision, float(decision.action @ axes[0]))
    errors = [subspace_distance(axes.T, policy.subspace.directions) for policy in policies]
    held = sum(policy.belief.gram.trace() for policy in policies)
    first, *others = policies
    first.merge(others)
    found = first.subspace.frame()
    # Four times the vectors: half the error, but for chance.
    assert subspace_distance(axes.T, found.directions) < 0.75 * np.mean(errors)
    assert found.error < 0.2
    assert first.belief.gram.trace() == pytest.approx(held, rel=0.02)
    probe = rng.standard_normal((5, 3)) @ axes
    assert first.choose(probe, observe=False).index == int((probe @ axes[0]).argmax())


def test_replicas_with_the_same_catalog_know_no_more_vectors_than_one():
    """Vectors that come to every replica are the same vectors: the effective number must not grow with replicas."""
    rng = np.random.default_rng(0)
    items = rng.standard_normal((60, 30)) * np.linspace(2.0, 0.2, 30)
    policies: list[Any] = [eb.PSLB(noise=0.1, rank=3, seed=0) for _ in range(4)]
    for policy in policies:
        for _ in range(200):
            policy.choose(items[rng.choice(60, 5, replace=False)])
    alone = [policy.subspace.independent for policy in policies]
    first, *others = policies
    first.merge(others)
    assert first.subspace.added == 4000
    assert 0.5 * np.mean(alone) < first.subspace.independent < 1.5 * np.mean(alone)
    fresh: list[Any] = [eb.PSLB(noise=0.1, rank=3, seed=0) for _ in range(4)]
    for policy in fresh:
        for _ in range(200):
            policy.choose(rng.standard_normal((5, 30)) * np.linspace(2.0, 0.2, 30))
    alone = [policy.subspace.independent for policy in fresh]
    fresh[0].merge(fresh[1:])
    assert fresh[0].subspace.independent > 2.5 * np.mean(alone)


def test_pooled_anchors_are_shared_by_weight():
    parts = []
    for number, stood in enumerate((300, 100)):
        part = Revisits()
        part.start(2)
        part.anchors[:] = float(number)
        part.filled, part.stood = 128, stood
        parts.append(Replica(part))
    merged = Revisits()
    merged.merge(parts, 400, np.zeros((2, 0)), None, 2.0, 0.0)
    assert (merged.filled, merged.stood) == (128, 400)
    assert merged.anchors[0, :, 0].sum() == 32


def test_what_did_not_start_from_base_is_refused():
    base, other = eb.OFUL(noise=0.1), eb.OFUL(noise=0.1)
    base.learn_many(np.eye(3), np.ones(3))
    other.learn([1.0, 0.0, 0.0], 1.0)
    policy = from_bytes(to_bytes(base))
    before = to_bytes(policy)
    with pytest.raises(ValueError, match="did not start from base; leave base out"):
        policy.merge([other], base=base)
    with pytest.raises(ValueError, match=r"noise=0\.2 instead of noise=0\.1"):
        policy.merge([eb.OFUL(noise=0.2)])
    with pytest.raises(ValueError, match="is a Greedy; expected a replica of this OFUL"):
        policy.merge([eb.Greedy()])
    assert to_bytes(policy) == before
    projected: list[Any] = [eb.CBRAP(noise=0.1, rank=2, seed=seed) for seed in (0, 1)]
    for one in projected:
        one.learn([1.0, 0.0, 0.0], 1.0)
    with pytest.raises(ValueError, match="give all of them the same seed"):
        projected[0].merge(projected[1:])


def test_a_part_that_does_not_say_how_it_adds_up_is_refused():
    class Counting(eb.belief.Ambient):
        _state_names = (*eb.belief.Ambient._state_names, "calls")

        def __init__(self, noise):
            super().__init__(noise)
            self.calls = 0

    first, second = (eb.Policy(eb.subspace.Whole(), Counting(0.1), eb.rules.Optimism()) for _ in range(2))
    second.learn([1.0], 1.0)
    with pytest.raises(ValueError, match="Counting has state but no method merge"):
        first.merge([second])


@pytest.mark.parametrize("snapshot", [True, False])
def test_replicas_with_scores_add_up(snapshot):
    """From one snapshot, and with units that each has fixed for itself."""
    rng = np.random.default_rng(0)
    rounds = [(rng.standard_normal((4, 5)), rng.standard_normal(4)) for _ in range(40)]
    base: Any = eb.EigenUCB(seed=0)
    if snapshot:
        base.choose(rounds[0][0], scores=rounds[0][1])
    whole: Any
    whole, *parts = (copy_of(base) for _ in range(3))
    for number, (actions, scores) in enumerate(rounds):
        for policy in (whole, parts[number % 2]):
            policy.observe(actions)
            policy.learn(actions[0], float(np.sin(actions[0, 0])), score=scores[0])
    merged: Any = parts[0]
    merged.merge(parts[1:], base=base if snapshot else None)
    # All but the shapes' forecasts, which each replica made with what it knew by then.
    ours, theirs = (policy.belief.evidence for policy in (merged, whole))
    assert ours.count == theirs.count == 40
    origin = merged.belief.origin - whole.belief.origin
    column = theirs.gram.full()[:, 5] / merged.belief.kappa
    np.testing.assert_allclose(ours.gram.full(), theirs.gram.full(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours.moment + origin * column, theirs.moment, rtol=1e-10, atol=1e-12)
    assert merged.choose(rounds[0][0], scores=rounds[0][1]).lifted.shape == (7,)


def test_with_scores_and_without_are_no_replicas():
    scored, without = eb.EigenUCB(seed=0), eb.EigenUCB(seed=0)
    scored.choose(np.eye(3), scores=[1.0, 2.0, 3.0])
    without.choose(np.eye(3))
    for first, second in ((scored, without), (without, scored)):
        with pytest.raises(ValueError, match=r"others\[0\] was given scores and others were not, or the reverse"):
            first.merge([second])
