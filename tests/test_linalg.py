"""Sums of outer products in blocks, and inverses of matrices that rounding has spoilt, against dense NumPy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenbandits import linalg

STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "add_rows", "adjust", "flush", "reset"]), st.integers(1, 9)), max_size=14
)


@settings(max_examples=60)
@given(
    *(st.integers(0, 10**6), st.integers(1, 7), st.sampled_from([0, 1, 4]), st.sampled_from([1.0, -1.0])),
    *(st.sampled_from([0.0, 2.5]), st.sampled_from([0, 9]), STEPS),
)
def test_a_sum_in_blocks_is_the_dense_sum(seed, dim, block, sign, scale, first, steps):
    rng = np.random.default_rng(seed)
    total = linalg.SymmetricSum(sign)
    total.start(dim, block, scale, first)
    expected = scale * np.eye(dim)
    for kind, count in steps:
        rows = rng.standard_normal((count, dim))
        if kind == "add":
            for row in rows:
                total.add(row)
            expected = expected + sign * rows.T @ rows
        elif kind == "add_rows":
            total.add_rows(np.asfortranarray(rows))
            expected = expected + sign * rows.T @ rows
        elif kind == "adjust":
            total.adjust(rows, -0.7)
            expected = expected - 0.7 * rows.T @ rows
        elif kind == "reset":
            expected = rows.T @ rows
            total.reset(np.asfortranarray(np.tril(expected)))
        else:
            np.testing.assert_allclose(np.tril(total.flush()), np.tril(expected), atol=1e-9)
        vector, columns = rng.standard_normal(dim), rng.standard_normal((dim, 3))
        np.testing.assert_allclose(total.times(vector), expected @ vector, atol=1e-9)
        np.testing.assert_allclose(total.times_columns(columns), expected @ columns, atol=1e-9)
        assert total.trace() == pytest.approx(np.trace(expected), abs=1e-9)
    np.testing.assert_allclose(total.full(), expected, atol=1e-9)


@pytest.mark.parametrize("scale", [0.0, 1.0])
@pytest.mark.parametrize("block", [0, 4])
def test_a_product_changes_nothing(block, scale):
    rng = np.random.default_rng(0)
    total = linalg.SymmetricSum(sign=-1.0)
    total.start(5, block, 100.0 * scale)
    for row in rng.standard_normal((2, 5)):
        total.add(row)
    before = {name: np.copy(value) for name, value in total.state().items()}
    rows = rng.standard_normal((9, 5))
    total.times(rows[0])
    total.times_columns(rows.T)
    total.times_rows(rows)
    if scale:
        # Bounds are for positive definite matrices.
        total.most(rows.astype(np.float32), np.square(rows).sum(axis=1))
    total.copied()
    for name, value in total.state().items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


@pytest.mark.parametrize("first", [0, 8])
def test_a_sum_survives_its_state(first):
    rng = np.random.default_rng(0)
    total, copy = linalg.SymmetricSum(), linalg.SymmetricSum()
    total.start(5, 4, first=first)
    for row in rng.standard_normal((6, 5)):
        total.add(row)
    copy.restore(total.state())
    for row in rng.standard_normal((4, 5)):
        total.add(row)
        copy.add(row)
        assert copy.fill == total.fill
        np.testing.assert_array_equal(copy.times(row), total.times(row))
    np.testing.assert_array_equal(copy.full(), total.full())


def test_a_blank_sum_has_all_of_its_memory_when_its_first_block_is_full():
    """Every column of the lower half has been written to by then, an even share for each row."""
    total = linalg.SymmetricSum()
    total.start(50, 4, first=7)
    # What the memory might hold, were it not zero: seen only where nothing was written.
    total.half[:] = np.nan
    left = []
    for rows in (np.ones((2, 50)), np.ones((5, 50))):
        total.add_rows(rows)
        left.append(np.isnan(total.half[np.tril_indices(50)]).any())
        assert total.trace() == 50.0 * total.fill
        np.testing.assert_array_equal(total.times_columns(np.ones((50, 3))), np.full((50, 3), 50.0 * total.fill))
    assert left == [True, False]
    assert total.blank
    total.add(np.ones(50))
    assert not total.blank
    assert total.waiting.shape == (4, 50)
    np.testing.assert_array_equal(total.full(), np.full((50, 50), 8.0))


@given(st.integers(0, 10**6), st.integers(1, 8), st.floats(1e-6, 1e6))
def test_inverse_and_whitening_of_sound_matrices(seed, dim, floor):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((dim + 2, dim)) * np.sqrt(floor)
    matrix = rows.T @ rows + floor * np.eye(dim)
    vector = rng.standard_normal(dim)
    half, solution, log_det = linalg.inverse(np.asfortranarray(np.tril(matrix)), floor, vector)
    expected = np.linalg.inv(matrix)
    np.testing.assert_allclose(np.tril(half), np.tril(expected), rtol=1e-8, atol=1e-12 / floor)
    np.testing.assert_allclose(solution, expected @ vector, rtol=1e-8, atol=1e-11 / floor)
    assert log_det == pytest.approx(np.linalg.slogdet(matrix)[1], rel=1e-9, abs=1e-9)
    root, log_det = linalg.whitening(matrix, floor)
    np.testing.assert_allclose(root.T @ root, expected, rtol=1e-8, atol=1e-12 / floor)
    assert log_det == pytest.approx(np.linalg.slogdet(matrix)[1], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("size", [1e8, 1e9, 1e12])
@pytest.mark.parametrize("seed", range(5))
def test_a_ridge_lost_in_rounding_is_put_back(size, seed):
    """x xᵀ + I with ‖x‖² above 1e16: no eigenvalue is below 1, though the matrix in memory no longer says so."""
    rng = np.random.default_rng(seed)
    x = size * rng.standard_normal(5)
    matrix = np.outer(x, x) + np.eye(5)
    half, solution, log_det = linalg.inverse(np.asfortranarray(np.tril(matrix)), 1.0, 3.0 * x)
    full = np.tril(half) + np.tril(half, -1).T
    # Rounding is of the size of the eigenvalues themselves here; without the floor they could be anything.
    assert np.linalg.eigvalsh(full).max() <= 2.0
    assert log_det >= np.log1p(x @ x) - 1.0
    # (x xᵀ + I)⁻¹ 3x = 3x/(1 + ‖x‖²), of which what matters is the product with x.
    assert x @ solution == pytest.approx(3.0, rel=1e-4)
    root, log_det = linalg.whitening(matrix, 1.0)
    assert np.linalg.eigvalsh(root.T @ root).max() <= 2.0
    assert log_det >= np.log1p(x @ x) - 1.0


def test_products_in_single_precision_come_back_in_double():
    rng = np.random.default_rng(1)
    vectors, columns = rng.standard_normal((4, 6)), rng.standard_normal((6, 2))
    single: Any = vectors.astype(np.float32)
    for found, expected in (
        (linalg.project(single, columns), vectors @ columns),
        (linalg.square_norms(single), np.sum(vectors**2, axis=1)),
    ):
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_the_largest_eigenvalue():
    matrix = np.diag([1.0, 5.0, 3.0])
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))[0]
    assert linalg.largest_eigenvalue(turn @ matrix @ turn.T) == pytest.approx(5.0)


def test_an_outer_product_is_added_in_place_to_a_matrix_of_any_shape():
    rng = np.random.default_rng(0)
    for rows, columns in [(1, 1), (1, 5), (4, 1), (4, 7)]:
        matrix = rng.standard_normal((rows, columns))
        x, y = rng.standard_normal(rows), rng.standard_normal(columns)
        wanted = [[matrix[i, j] + x[i] * y[j] for j in range(columns)] for i in range(rows)]
        linalg.add_outer(matrix, x, y)
        assert matrix == pytest.approx(np.array(wanted), rel=1e-13)


def test_an_outer_product_is_not_lost_in_a_copy_of_a_matrix_that_blas_cannot_change():
    with pytest.raises(AssertionError, match="copy"):
        linalg.add_outer(np.zeros((3, 4)).T, np.ones(4), np.ones(3))


@pytest.mark.parametrize("block", [0, 4])
def test_bounds_in_single_precision_follow_every_change(block):
    rng = np.random.default_rng(0)
    total = linalg.SymmetricSum(sign=-1.0)
    total.start(6, block, scale=9.0)
    rows = rng.standard_normal((8, 6)).astype(np.float32)
    dense = 9.0 * np.eye(6)

    def agrees():
        wanted = np.einsum("ij,jk,ik->i", rows, dense, rows)
        found = total.most(rows, np.square(rows).sum(axis=1))
        assert (found >= wanted).all()
        assert found == pytest.approx(wanted, rel=1e-4)

    agrees()
    for _ in range(6):
        row = 0.5 * rng.standard_normal(6)
        total.add(row)
        dense -= np.outer(row, row)
        agrees()
    more = 0.2 * rng.standard_normal((3, 6))
    total.add_rows(more)
    dense -= more.T @ more
    agrees()
    total.adjust(more, 2.0)
    dense += 2.0 * more.T @ more
    agrees()
    kept = total.state()
    total.reset(np.asfortranarray(np.diag(np.arange(1.0, 7.0))))
    dense, old = np.diag(np.arange(1.0, 7.0)), dense
    agrees()
    total.restore(kept | {"half": np.asfortranarray(old), "fill": 0})
    dense = old
    agrees()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_thin_matrix_is_the_dense_one(sign):
    rng = np.random.default_rng(0)
    dim, plus, rows = 300, rng.standard_normal((3, 300)), 0.01 * rng.standard_normal((4, 300))
    thin = linalg.SymmetricSum(sign)
    thin.start(dim, 32)
    thin.reset_thin(2.0, plus, rows, room=2)
    dense = 2.0 * np.eye(dim) + plus.T @ plus + sign * rows.T @ rows
    probe = rng.standard_normal((5, dim))
    for step in range(4):
        assert thin.thin == (step < 3)
        np.testing.assert_allclose(thin.times(probe[0]), dense @ probe[0], rtol=1e-9)
        np.testing.assert_allclose(thin.times_rows(probe), probe @ dense, rtol=1e-9)
        np.testing.assert_allclose(thin.times_columns(probe.T), dense @ probe.T, rtol=1e-9)
        if sign < 0.0:
            exact = np.einsum("ij,jk,ik->i", probe, dense, probe)
            found = thin.most(probe.astype(np.float32), np.square(probe).sum(axis=1))
            assert (found >= exact).all()
            # Within some roundings of the trace, 900, times ‖x‖², 300.
            np.testing.assert_allclose(found, exact, rtol=0.03)
        row = 0.01 * rng.standard_normal(dim)
        thin.add(row, 0.5)
        dense += sign * 0.5 * np.outer(row, row)
    np.testing.assert_allclose(thin.full(), dense, rtol=1e-9, atol=1e-12)
