"""Replicas of a policy merge into the one that a single process would have, or are refused and leave no trace."""

import numpy as np
from tests.checks.play import assert_same, decision_sets, look, play

import eigenbandits as eb
from eigenbandits.policy.files import from_bytes, to_bytes
from eigenbandits.testing.play import assert_refused

PROBE = next(decision_sets(seed=9))


def logged(count, seed):
    """Return what some system was offered, chose and earned."""
    rng = np.random.default_rng(seed)
    sets = list(decision_sets(count=count, seed=seed))
    rows = rng.integers(5, size=count)
    return [
        (actions, int(row), float(actions[row].sum() + 0.1 * rng.standard_normal()))
        for actions, row in zip(sets, rows, strict=True)
    ]


def teach(policy, log):
    """Show a policy the sets of a log and let it learn what was chosen, whatever it would have chosen itself."""
    for actions, row, reward in log:
        policy.observe(actions)
        lifted = policy.centering.lift(policy_reads(policy, actions))[0][row].astype(float)
        lifted.setflags(write=False)
        policy.learn(eb.Decision(row, policy_reads(policy, actions)[row], 0, 0.0, 0.0, lifted=lifted), reward)


def policy_reads(policy, actions):
    return actions.astype(policy.dtype)


def made(case, **options):
    """Return a policy whose sketch, if it has one, holds everything."""
    return case.make(seed=3, **({"size": 8} if case.sketched else {}), **options)


def summarizes(policy):
    """Whether it keeps a summary in place of the sums, from which nothing can be taken off."""
    return isinstance(policy.subspace, eb.subspace.Streaming) or isinstance(policy.belief, eb.belief.Sketched)


def estimates_an_error(policy):
    """Whether its radii depend on how alike the vectors of successive sets were, which no sum knows."""
    return getattr(policy.subspace, "projection_error", 0.0) == "estimated"


def assert_one(merged, one, case):
    """Compare a merged policy with the one of a single process, made anew from its sums as well."""
    one.merge([])
    assert merged.round == one.round
    assert merged.diagnostics().rewards_learned == one.diagnostics().rewards_learned
    assert (merged.subspace.seen, merged.subspace.sets) == (one.subspace.seen, one.subspace.sets)
    digits = 1e-4 if case.single else 1e-8
    for sums in ("moment", "total"):
        assert_close(getattr(merged.subspace, sums, None), getattr(one.subspace, sums, None), digits)
    evidence = getattr(merged.belief, "evidence", None) or getattr(
        getattr(merged.belief, "ambient", None), "evidence", None
    )
    if evidence is not None:
        twin = getattr(one.belief, "evidence", None) or one.belief.ambient.evidence
        for sums in ("gram", "moment", "squares"):
            assert_close(getattr(evidence, sums), getattr(twin, sums), digits)
    if not summarizes(one) and not estimates_an_error(one):
        for found, expected in zip(look(merged, PROBE), look(one, PROBE), strict=True):
            np.testing.assert_allclose(found, expected, rtol=10 * digits, atol=10 * digits)


def assert_close(found, expected, digits):
    if expected is None:
        return
    found, expected = (one.full() if hasattr(one, "full") else np.asarray(one) for one in (found, expected))
    if expected.size:
        np.testing.assert_allclose(found, expected, rtol=digits, atol=digits * float(np.abs(expected).max()))


def test_replicas_merge_into_one_process(case):
    logs = [logged(12, seed) for seed in (4, 5, 6)]
    replicas, one = [made(case) for _ in logs], made(case)
    for replica, log in zip(replicas, logs, strict=True):
        teach(replica, log)
        teach(one, log)
    first, *others = replicas
    kept = [to_bytes(other) for other in others]
    if case.forgets:
        assert_refused(first, lambda: first.merge(others))
        return
    first.merge(others)
    assert [to_bytes(other) for other in others] == kept
    assert_one(first, one, case)


def test_a_snapshot_counts_once(case):
    base, one = made(case), made(case)
    for policy in (base, one):
        teach(policy, logged(8, 4))
    replicas = [from_bytes(to_bytes(base)) for _ in range(3)]
    for replica, seed in zip(replicas, (5, 6, 7), strict=True):
        teach(replica, logged(8, seed))
        teach(one, logged(8, seed))
    first, *others = replicas
    if summarizes(first) or case.forgets:
        assert_refused(first, lambda: first.merge(others, base=base))
        return
    first.merge(others, base=base)
    assert_one(first, one, case)


def test_a_merged_policy_is_saved_and_goes_on(case):
    first, second = made(case), made(case)
    play(first, decision_sets(count=10))
    play(second, decision_sets(count=10, seed=2))
    if case.forgets:
        assert_refused(first, lambda: first.merge([second]))
        return
    first.merge([second])
    loaded = from_bytes(to_bytes(first))
    assert_same(play(first, decision_sets(seed=3)), play(loaded, decision_sets(seed=3)))


def test_a_policy_that_has_seen_nothing_adds_nothing(case):
    fresh, used, other = (case.make(seed=3) for _ in range(3))
    fresh.merge([other])
    assert to_bytes(fresh) == to_bytes(case.make(seed=3))
    play(used, decision_sets(count=10))
    if case.forgets:
        assert_refused(fresh, lambda: fresh.merge([used, other]))
        return
    fresh.merge([used, other])
    used.merge([other])
    assert fresh.round == used.round
    for found, expected in zip(look(fresh, PROBE), look(used, PROBE), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_strangers_are_refused(case):
    policy, narrow = case.make(seed=3), case.make(dim=5, seed=3)
    play(policy, decision_sets(count=3))
    play(narrow, decision_sets(dim=5, count=3))
    stranger = eb.Greedy(ridge=2.0) if case.kind is eb.Greedy else eb.Greedy()
    again = from_bytes(to_bytes(policy))
    for others in ([stranger], [narrow], [policy], [again, again], [None]):
        assert_refused(policy, lambda others=others: policy.merge(others))
    assert_refused(policy, lambda: policy.merge([case.make(seed=3)], base=again))
