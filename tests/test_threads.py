"""BLAS has one thread while a policy works, and as many as before at all other times."""

from collections.abc import Iterator

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import eigenbandits as eb
from eigenbandits import linalg
from eigenbandits.linalg import threads


@pytest.fixture
def pools() -> Iterator[tuple[linalg.Pool, ...]]:
    found = linalg.pools()
    if not found:
        pytest.skip("NumPy and SciPy use no OpenBLAS here; install both from PyPI's wheels on Linux to run this test.")
    before = [pool.count() for pool in found]
    for pool in found:
        pool.limit(2)
    yield found
    for pool, count in zip(found, before, strict=True):
        pool.limit(count)


def counts(pools: tuple[linalg.Pool, ...]) -> list[int]:
    return [pool.count() for pool in pools]


def test_they_are_the_pools_that_threadpoolctl_finds(pools: tuple[linalg.Pool, ...]) -> None:
    for place, pool in enumerate(pools, 3):
        pool.limit(place)
    found = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    assert set(range(3, 3 + len(pools))) <= found


def test_only_while_the_function_runs(pools: tuple[linalg.Pool, ...]) -> None:
    inside = linalg.one_thread(lambda: counts(pools))
    assert inside() == [1] * len(pools)
    assert counts(pools) == [2] * len(pools)


def test_an_exception_restores_them_too(pools: tuple[linalg.Pool, ...]) -> None:
    @linalg.one_thread
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert counts(pools) == [2] * len(pools)


def test_a_policy_works_in_one_thread(pools: tuple[linalg.Pool, ...]) -> None:
    inside = []

    class Counting(eb.rules.Optimism):
        def choose(self, view, count, rng):
            inside.append(counts(pools))
            return super().choose(view, count, rng)

    policy = eb.Policy(eb.subspace.Whole(), eb.belief.Ambient(noise=0.1), Counting())
    policy.learn(policy.choose(np.eye(3)), 1.0)
    with pytest.raises(ValueError, match=r"NaN|finite"):
        policy.choose([[np.nan, 0.0, 1.0]])
    assert inside == [[1] * len(pools)]
    assert counts(pools) == [2] * len(pools)


def test_another_blas_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    linalg.pools.cache_clear()
    monkeypatch.setattr(threads, "_NAMES", ("another_blas_{}_threads",))
    assert linalg.pools() == ()
    assert linalg.one_thread(lambda: 7)() == 7
    linalg.pools.cache_clear()
