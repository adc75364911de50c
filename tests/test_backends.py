"""The numba backend against NumPy: each function by itself, then whole policies, choice by choice."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.checks.cases import CASES
from tests.checks.play import decision_sets, play

import eigenbandits as eb
from eigenbandits import backends, extras, linalg
from eigenbandits.linalg import Kernels, kernels

pytest.importorskip("numba", reason='numba is not installed; run: pip install "eigenbandits[fast]"')

PLAIN = vars(Kernels())
SEEDS, SIZES, SCALES = st.integers(0, 10**6), st.integers(1, 9), st.sampled_from([1e-8, 1.0, 1e8])


@pytest.fixture(scope="module")
def native():
    """Return the compiled functions by name, and leave the process as it was."""
    before = eb.get_backend()
    eb.set_backend("numba")
    found = dict(vars(kernels))
    eb.set_backend(before)
    return found


@pytest.fixture
def back():
    before = eb.get_backend()
    yield
    eb.set_backend(before)


def _agree(found, expected):
    """Compare results one by one, numbers to a billionth of their size."""
    found, expected = (one if isinstance(one, tuple) else (one,) for one in (found, expected))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        size = float(np.abs(other).max(initial=0.0)) if np.size(other) else 0.0
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * max(size, np.finfo(float).tiny))


def _spd(rng, dim, scale=1.0):
    root = rng.standard_normal((dim, dim + 2))
    return root @ root.T * scale


@settings(max_examples=60)
@given(SEEDS, SIZES, SIZES, SCALES)
def test_the_ambient_bounds_agree(native, seed, dim, count, scale):
    rng = np.random.default_rng(seed)
    actions, center = scale * rng.standard_normal((count, dim)), rng.standard_normal(dim)
    actions[rng.integers(count)] = 0.0
    inverse = np.ascontiguousarray(_spd(rng, dim))
    index, uppers, estimates, solved = native["ambient_best"](actions, inverse, center, 1.7)
    best, *others = PLAIN["ambient_best"](actions, inverse, center, 1.7)
    # The plain form in full, with no function of the library.
    squares = np.einsum("ij,jk,ik->i", actions, inverse, actions)
    _agree(uppers, actions @ center + 1.7 * np.sqrt(squares))
    _agree((uppers, estimates), (others[0], others[1]))
    assert uppers[index] == pytest.approx(others[0][best], rel=1e-9, abs=1e-12 * scale)
    _agree(solved, inverse @ actions[index])
    estimate, length = native["ambient_bound"](actions[index], solved, center)
    assert estimate + 1.7 * length == pytest.approx(uppers[index], rel=1e-9, abs=1e-9 * scale)


@settings(max_examples=100)
@given(SEEDS, st.integers(1, 8), st.floats(0.5, 2.5), st.sampled_from([0.0, 1e-3, 0.3, 1.0]))
def test_without_a_rival_no_neglected_action_is_above_the_favorite(native, seed, count, omega, known):
    rng = np.random.default_rng(seed)
    estimates, lengths, weight = rng.standard_normal(count), rng.exponential(size=count), float(rng.integers(1, 1000))
    # The first action is ahead, and known better than the others, or exactly.
    lengths[0] *= known
    estimates[0] += 2.0
    uppers = estimates + omega * lengths
    favorite = int(uppers.argmax())
    standard = min(1.0 / lengths[favorite] ** 2, weight) if lengths[favorite] else weight
    radii = 0.8 * np.sqrt(2.0 * np.log(np.maximum(standard * lengths**2, 1.0)))
    raised = estimates + np.maximum(omega, radii) * lengths
    bounds = np.delete(estimates + max(omega, radii.max()) * lengths, favorite)
    for rivaled in (native["rivaled"], PLAIN["rivaled"]):
        found = rivaled(uppers, estimates, favorite, omega, 0.8, weight)
        assert found or raised.max() <= uppers[favorite] + 1e-9
        assert not found or bounds.max() >= uppers[favorite] - 1e-9


@settings(max_examples=60)
@given(SEEDS, SIZES, st.booleans())
def test_the_ambient_step_is_that_of_a_fresh_inverse(native, seed, dim, waits):
    rng = np.random.default_rng(seed)
    matrix, moment = _spd(rng, dim) + np.eye(dim), rng.standard_normal(dim)
    action, reward = rng.standard_normal(dim), float(rng.standard_normal())
    for step in (native["ambient_step"], PLAIN["ambient_step"]):
        inverse = np.linalg.inv(matrix)
        inverse = np.ascontiguousarray(0.5 * (inverse + inverse.T))
        held = inverse.copy()
        center = inverse @ moment
        before = center.copy()
        given_inverse = np.zeros((0, 0)) if waits else inverse
        gain, lost, after = step(action, held @ action, center, given_inverse, reward, 1e-14)
        assert not lost
        assert gain == pytest.approx(action @ held @ action, rel=1e-9)
        np.testing.assert_array_equal(center, before)
        expected = np.linalg.inv(matrix + np.outer(action, action))
        np.testing.assert_allclose(after, expected @ (moment + reward * action), rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(inverse, held if waits else expected, rtol=1e-7, atol=1e-8)


def test_a_step_that_is_lost_in_rounding_changes_nothing(native):
    inverse, center = np.eye(3), np.ones(3)
    for step in (native["ambient_step"], PLAIN["ambient_step"]):
        _, lost, after = step(np.ones(3), 1e-20 * np.ones(3), center, inverse, 1.0, 1e-14)
        assert lost
        assert after is not None
        np.testing.assert_array_equal(after, np.ones(3))
        np.testing.assert_array_equal(inverse, np.eye(3))


@settings(max_examples=40)
@given(SEEDS, st.integers(1, 9), st.integers(1, 9), st.sampled_from(["float64", "float32"]), st.booleans())
def test_reading_agrees(native, seed, dim, count, dtype, with_intercept):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, dim + 1))
    directions = np.ascontiguousarray(np.linalg.qr(rng.standard_normal((dim, dim)))[0][:, :rank])
    lifted = rng.standard_normal((count, dim + with_intercept)).astype(dtype)
    vectors = lifted[:, :-1] if with_intercept else lifted
    tolerance = 1e-9 if dtype == "float64" else 2e-3
    exact = vectors.astype(np.float64)
    rest = np.linalg.norm(exact - exact @ directions @ directions.T, axis=1)
    for read in (native["read"], PLAIN["read"]):
        inside, outside = read(vectors, directions)
        assert inside.dtype == outside.dtype == np.float64
        np.testing.assert_allclose(inside, exact @ directions, atol=tolerance)
        # The root of a difference: rounding of 1e-16 shows as 1e-8.
        np.testing.assert_allclose(outside, rest, atol=1e-6 if dtype == "float64" else tolerance)


@settings(max_examples=60)
@given(SEEDS, SIZES, SCALES, st.booleans())
def test_the_fit_agrees(native, seed, size, scale, coupled):
    rng = np.random.default_rng(seed)
    rows = scale * rng.standard_normal((int(rng.integers(0, 2 * size + 1)), size))
    gram, ridge, moment = rows.T @ rows, 0.7 * scale**2, rng.standard_normal(size)
    leak = scale * rng.standard_normal((size, 5))
    cross_gram = leak @ leak.T if coupled else np.zeros((0, 0))
    shape, root, log_det, center, coupling = native["fit"](gram, moment, ridge, cross_gram)
    expected = gram + ridge * np.eye(size)
    _agree(shape, expected)
    np.testing.assert_allclose(root.T @ root @ expected, np.eye(size), atol=1e-8)
    assert log_det == pytest.approx(np.linalg.slogdet(expected)[1], rel=1e-9, abs=1e-9)
    _agree(center, np.linalg.solve(expected, moment))
    values, vectors = np.linalg.eigh(expected)
    half = vectors / np.sqrt(values) @ vectors.T
    assert coupling == pytest.approx(np.linalg.norm(half @ leak, 2) if coupled else 0.0, rel=1e-8)
    _agree((log_det, center, coupling), PLAIN["fit"](gram, moment, ridge, cross_gram)[2:])


def test_a_matrix_that_rounding_has_spoilt_is_lifted_to_its_floor_in_both(native):
    gram = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-7]])
    _, root, log_det, _, _ = native["fit"](gram, np.ones(2), 1e-12, np.zeros((0, 0)))
    expected, log_det_expected = linalg.whitening(gram + 1e-12 * np.eye(2), 1e-12)
    np.testing.assert_allclose(root.T @ root, expected.T @ expected, rtol=1e-3)
    assert log_det == pytest.approx(log_det_expected, rel=1e-6)


@settings(max_examples=40)
@given(SEEDS, SIZES, SIZES)
def test_the_projected_bounds_agree(native, seed, size, count):
    rng = np.random.default_rng(seed)
    coordinates, center, slack = rng.standard_normal((count, size)), rng.standard_normal(size), rng.random(count)
    root = np.linalg.inv(np.linalg.cholesky(_spd(rng, size) + np.eye(size)))
    expected = coordinates @ center + 0.3 * np.linalg.norm(coordinates @ root.T, axis=1) + slack
    for layout in (np.ascontiguousarray, np.asfortranarray):
        uppers, estimates = native["projected_bounds"](coordinates, layout(root), center, 0.3, slack)
        _agree((uppers, estimates), (expected, coordinates @ center))


@settings(max_examples=60)
@given(SEEDS, st.integers(1, 7), st.booleans(), st.sampled_from(["none", "sharp", "general"]), st.booleans())
def test_the_projected_step_agrees(native, seed, dim, with_offset, coupling, frozen):
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, dim + 1))
    basis = np.ascontiguousarray(np.linalg.qr(rng.standard_normal((dim, dim)))[0][:, :rank])
    directions = basis if coupling == "sharp" else None
    offset = rng.standard_normal(dim) if with_offset and coupling == "sharp" else None
    action, reward = rng.standard_normal(dim), 0.4
    action.setflags(write=not frozen)
    z = action @ basis
    rest = action if directions is None else action - basis @ z
    rest = rest if offset is None else rest - offset
    for step in (native["projected_step"], PLAIN["projected_step"]):
        gram, moment, cross = _spd(rng, rank), rng.standard_normal(rank), rng.standard_normal((rank, dim))
        cross_gram = cross @ cross.T
        old = [one.copy() for one in (gram, moment, cross, cross_gram)]
        couples = coupling != "none"
        step(action, reward, basis, directions, offset, couples, gram, moment, cross, cross_gram)
        np.testing.assert_allclose(gram, old[0] + np.outer(z, z), atol=1e-10)
        np.testing.assert_allclose(moment, old[1] + reward * z, atol=1e-10)
        wanted = old[2] + np.outer(z, rest) if couples else old[2]
        np.testing.assert_allclose(cross, wanted, atol=1e-10)
        np.testing.assert_allclose(cross_gram, wanted @ wanted.T, atol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_policy_chooses_the_same_compiled(case, back):
    eb.set_backend("numpy")
    plain = play(case.make(), decision_sets(count=60))
    eb.set_backend("numba")
    native = play(case.make(), decision_sets(count=60))
    assert [one.index for one in native] == [one.index for one in plain]
    np.testing.assert_allclose([one.upper for one in native], [one.upper for one in plain], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("options", [{}, {"rank": 4}, {"dtype": "float32"}], ids=["default", "rank", "float32"])
def test_a_long_game_is_the_same_compiled(options, back):
    traces = []
    for backend in ("numpy", "numba"):
        eb.set_backend(backend)
        env = eb.environments.LowRank(dim=60, rank=4, arms=8)
        traces.append(eb.run(eb.PSLB(noise=0.1, seed=0, **options), env, rounds=800, seed=3).regret[-1])
    assert traces[1] == pytest.approx(traces[0], rel=0.02)


def test_a_policy_may_change_over(tmp_path, back):
    rng = np.random.default_rng(0)
    sets = rng.standard_normal((60, 6, 12))
    indices = []
    for order in (("numpy", "numpy"), ("numpy", "numba"), ("numba", "numpy")):
        eb.set_backend(order[0])
        policy: eb.Policy = eb.PSLB(noise=0.1, rank=3, seed=0)
        chosen = []
        for t, actions in enumerate(sets):
            if t == 30:
                policy.save(tmp_path / "policy.eb")
                eb.set_backend(order[1])
                policy = eb.load(tmp_path / "policy.eb")
            decision = policy.choose(actions)
            policy.learn(decision, float(decision.action[0]))
            chosen.append(decision.index)
        indices.append(chosen)
    assert indices[0] == indices[1] == indices[2]


def _ask(asked):
    code = "import eigenbandits as eb; print(eb.get_backend())"
    environment = os.environ | {backends.VARIABLE: asked}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)


def test_the_environment_can_ask_for_it():
    assert _ask("numba").stdout.strip() == "numba"
    assert _ask("numpy").stdout.strip() == "numpy"
    assert f"{backends.VARIABLE} is 'yes'; expected 'numpy' or 'numba'." in _ask("yes").stderr


def test_a_process_started_later_follows(back):
    for backend in ("numba", "numpy"):
        eb.set_backend(backend)
        assert os.environ[backends.VARIABLE] == backend
        assert eb.get_backend() == backend


def test_a_compiler_that_fails_leaves_plain_functions(back, monkeypatch):
    # In this order: what is patched is put back before the process goes back.
    eb.set_backend("numpy")
    monkeypatch.setattr(backends, "_rehearse", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        eb.set_backend("numba")
    assert vars(kernels) == PLAIN
    assert os.environ[backends.VARIABLE] == "numpy"


def test_a_backend_that_does_not_exist_is_named():
    before = eb.get_backend()
    with pytest.raises(ValueError, match="backend is 'torch'; expected one of 'numpy', 'numba'"):
        eb.set_backend("torch")
    assert eb.get_backend() == before


def test_without_numba_a_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    missing = r"The backend 'numba' needs numba; run: pip install \"eigenbandits\[fast"
    with pytest.raises(extras.MissingExtraError, match=missing):
        linalg.native.compiled.__wrapped__(("fit",))


def test_the_lab_distinguishes_results_by_backend(back):
    from eigenbandits.lab.experiments import provenance

    eb.set_backend("numpy")
    plain = provenance.code_fingerprint()
    eb.set_backend("numba")
    assert provenance.code_fingerprint() == f"{plain}-numba"
