"""Single precision only ever tells which actions to look at: choices are those of full precision."""

from typing import Any

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.belief import Finding, ambient_view
from eigenbandits.belief.shortlist import ListSize
from eigenbandits.linalg import SymmetricSum


def clones(policy, monkeypatch, sets, rewards):
    """Play the same rounds with and without the short cut and return the choices of both."""
    choices = []
    for many, few in ((ambient_view.MANY, ambient_view.FEW), (10**9, 10**9)):
        monkeypatch.setattr(ambient_view, "MANY", many)
        monkeypatch.setattr(ambient_view, "FEW", few)
        player = policy.clone()
        indices = []
        for actions, reward in zip(sets, rewards, strict=True):
            decision = player.choose(actions)
            indices.append(decision.index)
            player.learn(decision, reward)
        choices.append(indices)
    return choices


def awkward_sets(rng, scale, dim):
    sets = [scale * rng.standard_normal((80, dim)) for _ in range(60)]
    for actions in sets[::7]:
        actions[3] = actions[5]  # equals
        actions[8] = 0.0
        actions[9] *= 1e-30
    return sets


@pytest.mark.parametrize("scale", [1e-45, 1e-8, 1.0])
@pytest.mark.parametrize("dim", [3, 40, 300])
@pytest.mark.parametrize("policy", [eb.OFUL(noise=0.5), eb.PSLB(noise=0.5, seed=0)])
def test_choices_are_those_of_full_precision(policy, dim, scale, monkeypatch):
    rng = np.random.default_rng(0)
    sets = awkward_sets(rng, scale, dim)
    short, full = clones(policy, monkeypatch, sets, rng.standard_normal(60))
    assert short == full


@pytest.mark.parametrize("dim", [3, 40, 300])
@pytest.mark.parametrize("policy", [eb.OFUL(noise=0.5), eb.OFUL(noise=0.5, radius="paper")])
def test_actions_far_larger_than_the_ridge_are_told_apart_as_far_as_full_precision_can(policy, dim):
    """With a ridge of 1 under actions of 1e8 all known directions have widths of the size of double rounding.

    Which of such actions comes first then depends on the order of summation, so values are compared, not choices.
    """
    rng = np.random.default_rng(0)
    player: Any = policy.clone()
    for actions, reward in zip(awkward_sets(rng, 1e8, dim), rng.standard_normal(60), strict=True):
        decision = player.choose(actions)
        view = player.belief.view(actions)
        uppers = view.uppers()
        best = int(uppers.argmax())
        # What some 100 roundings in the largest entry of Z⁻¹ may add to the square of a width.
        off = 100.0 * np.finfo(float).eps * player.belief.largest * float(actions[best] @ actions[best])
        assert uppers[decision.index] >= uppers[best] - 2.0 * view.omega * np.sqrt(off)
        player.learn(decision, float(reward))


def test_widths_far_below_single_precision_are_still_told_apart(monkeypatch):
    """After 20,000 rewards along every axis the widths are of the size of what single precision may be off."""
    rng = np.random.default_rng(1)
    policy = eb.OFUL(noise=0.5, ridge=1e-3)
    policy.learn_many(np.repeat(np.eye(20), 1_000, axis=0), np.zeros(20_000))
    for _ in range(20):
        actions = 1.0 + 1e-4 * rng.standard_normal((200, 20))
        exact = policy.belief.view(actions)
        uppers = exact.uppers()
        index, value = policy.belief.view(actions).best()
        assert index == int(uppers.argmax())
        assert value == pytest.approx(float(uppers.max()), rel=1e-12)


@pytest.mark.parametrize("dim", [20, 300])
def test_the_bounds_are_never_below_what_they_bound_and_seldom_far_above(dim):
    rng = np.random.default_rng(2)
    policy = eb.OFUL(noise=0.5)
    for _ in range(300):
        decision = policy.choose(rng.standard_normal((5, dim)))
        policy.learn(decision, float(rng.standard_normal()))
    # More rows than are multiplied at a time.
    actions = rng.standard_normal((1000, dim))
    view: Any = policy.belief.view(actions)
    bounds, uppers = view._bounds(), view.uppers()
    assert (bounds >= uppers).all()
    assert np.median((bounds - uppers) / uppers) < 1e-2


def low_rank_sets(rng, count, dim=300, rank=12, arms=100):
    """Sets near a subspace, with copies, near copies and pairs that differ in the last digits of single precision."""
    axes = rng.standard_normal((rank, dim)) / dim**0.5
    for _ in range(count):
        actions = rng.standard_normal((arms, rank)) @ axes + 1e-3 * rng.standard_normal((arms, dim)) / dim**0.5
        actions[1] = actions[0]
        actions[3] = actions[2] * (1.0 + 1e-9)
        actions[5] = actions[4] + 1e-8 * rng.standard_normal(dim)
        yield actions


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", [eb.EigenUCB, eb.PSLB])
def test_few_directions_leave_the_choice_to_exact_values(kind, dtype):
    """The choice is the argmax of exact values over all rows, and the compression has ruled most of them out."""
    rng = np.random.default_rng(5)
    # With an error of 1 the projected set says nothing, and the ambient one decides alone.
    known = {"noise": 0.3, "rank": 12, "projection_error": 1.0} if kind is eb.PSLB else {}
    policy = kind(dtype=dtype, seed=0, **known)
    belief = getattr(policy.belief, "ambient", policy.belief)
    theta = rng.standard_normal(300)
    compressed, left = 0, []
    note = belief.short_list.note

    def recorded(found):
        if found.left is not None:
            left.append(found.left / found.compared)
        note(found)

    belief.short_list.note = recorded
    for actions in low_rank_sets(rng, 250):
        # The best row comes three times.
        actions[[7, 50, 93]] = actions[int((actions @ theta).argmax())]
        array = actions.astype(dtype)
        decision = policy.choose(array)
        view: Any = belief.view(policy.lift(array, None)[0])
        # The values one by one, of all rows, without any bounds.
        exact = np.array([view.upper_of(row) for row in range(len(array))])
        assert decision.index == int(exact.argmax())
        assert decision.upper == exact.max()
        compressed += belief.inverse.compression is not None
        policy.learn(decision, float(actions[decision.index] @ theta + 0.3 * rng.standard_normal()))
    assert compressed > 50
    assert np.median(left) < 0.2


def test_views_of_many_actions_change_nothing_and_findings_do():
    """Counting what short lists save is left to `note`, and making the compression to `follow`."""
    rng = np.random.default_rng(6)
    policy = eb.EigenUCB(seed=0)
    theta = rng.standard_normal(300)
    *played, last = low_rank_sets(rng, 160)
    for actions in played:
        decision = policy.choose(actions)
        policy.learn(decision, float(actions[decision.index] @ theta + 0.3 * rng.standard_normal()))
    belief: Any = policy.belief
    lifted = policy.lift(last, None)[0]
    compressions = set()
    for tired in (False, True):
        belief.follow(policy.subspace.frame())
        before, compression = dict(vars(belief.short_list)), belief.inverse.compression
        compressions.add(id(compression))
        for _ in range(2):
            view = belief.view(lifted)
            index, _ = view.best()
            finding = view.finding(index)
            assert vars(belief.short_list) == before
            assert belief.inverse.compression is compression is not None
        assert (finding.list_size.compared, finding.list_size.left is None) == (100, tired)
        # A list that has left everything pauses; one choice later it is tried again.
        belief.note(Finding(list_size=ListSize(100, 100)))
        assert vars(belief.short_list) != before
    belief.note(finding)
    assert not belief.short_list.active
    belief.note(finding)
    belief.note(finding)
    assert belief.short_list.active
    assert len(compressions) == 1


@pytest.mark.parametrize("waiting", [0, 5])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_compressed_lengths_are_never_below_the_exact_ones(waiting, scale):
    rng = np.random.default_rng(3)
    dim, directions = 320, 20
    root = rng.standard_normal((dim, dim)) * np.logspace(0, -4, dim)
    matrix = root @ root.T / dim
    basis = np.linalg.qr(rng.standard_normal((dim, directions)))[0]
    total = SymmetricSum(sign=-1.0)
    total.start(dim, block=32, scale=1.0)
    total.reset(np.asfortranarray(matrix))
    total.compress(basis)
    # What Bayes's rule takes off leaves the matrix positive semidefinite.
    for _ in range(64 + waiting):
        row = rng.standard_normal(dim)
        solved = matrix @ row
        gain = float(row @ solved)
        total.add(solved, 1.0 / (1.0 + gain))
        matrix -= np.outer(solved, solved) / (1.0 + gain)
    assert total.fill == waiting or (waiting == 0 and total.fill == 32)
    assert total.compression is not None
    # More rows than are multiplied at a time.
    inside = rng.standard_normal((500, directions)) @ basis.T
    rows = (scale * np.concatenate([inside, inside + 1e-3 * rng.standard_normal((500, dim))])).astype(np.float32)
    exact = np.sqrt(np.einsum("ij,jk,ik->i", rows.astype(float), matrix, rows.astype(float)))
    found = total.lengths(rows)
    assert (found >= exact).all()
    # Rows in the span lose little; 20 directions of 320, so the others may lose more.
    assert np.median(found[:500] / exact[:500]) < 1.3
