"""SciPy's BLAS has one thread while a policy works, and as many as before at all other times."""

from collections.abc import Iterator

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import eigenbandits as eb
from eigenbandits import linalg


def threads() -> list[int]:
    """Return the numbers of threads that threadpoolctl reads, SciPy's pool and all others."""
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture
def pool() -> Iterator[linalg.Pool]:
    found = linalg.scipy_pool()
    if found is None:
        pytest.skip("SciPy shares its BLAS with NumPy here; install both from PyPI's wheels on Linux to run this test.")
    before = found.count()
    found.limit(2)
    yield found
    found.limit(before)


def test_it_is_the_pool_that_threadpoolctl_finds(pool: linalg.Pool) -> None:
    before = sorted(threads())
    pool.limit(3)
    after = sorted(threads())
    assert pool.count() == 3
    assert 3 in after
    assert sum(after) - sum(before) == 1


def test_only_while_the_function_runs(pool: linalg.Pool) -> None:
    inside = linalg.one_thread(pool.count)
    assert (inside(), pool.count()) == (1, 2)


def test_an_exception_restores_it_too(pool: linalg.Pool) -> None:
    @linalg.one_thread
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert pool.count() == 2


def test_a_policy_works_in_one_thread(pool: linalg.Pool) -> None:
    counts = []

    class Counting(eb.rules.Optimism):
        def choose(self, view, count, rng):
            counts.append(pool.count())
            return super().choose(view, count, rng)

    policy = eb.Policy(eb.subspace.Whole(), eb.belief.Ambient(noise=0.1), Counting())
    policy.learn(policy.choose(np.eye(3)), 1.0)
    assert (counts, pool.count()) == ([1], 2)
    with pytest.raises(ValueError, match=r"NaN|finite"):
        policy.choose([[np.nan, 0.0, 1.0]])
    assert pool.count() == 2


def test_a_blas_without_these_functions_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    linalg.scipy_pool.cache_clear()
    monkeypatch.setattr("eigenbandits.linalg.threads.find_spec", lambda name: None)
    assert linalg.scipy_pool() is None
    assert linalg.one_thread(lambda: 7)() == 7
    linalg.scipy_pool.cache_clear()
