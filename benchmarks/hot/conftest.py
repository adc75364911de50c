"""What the hot-path benchmarks share: one BLAS thread, and policies that have left their first rounds behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

import pytest

import eigenbandits as eb
from benchmarks.data import NOISE, Size
from benchmarks.hot.played import Played


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with import_module("threadpoolctl").threadpool_limits(limits=1):
        yield


POLICIES: dict[str, Callable[[], eb.Policy]] = {
    "eigen": lambda: eb.EigenUCB(seed=0),
    "pslb-projected": lambda: eb.PSLB(noise=NOISE, rank=4, intersect=False, seed=0),
    "projected-ts": lambda: eb.ProjectedThompson(noise=NOISE, rank=4, seed=0),
    "oful": lambda: eb.OFUL(noise=NOISE, seed=0),
    "lints": lambda: eb.LinTS(noise=NOISE, samples=1, seed=0),
    "soful": lambda: eb.SOFUL(noise=NOISE, seed=0),
}
SIZES = {"d100-K10": Size(100, 10), "d500-K10": Size(500, 10), "d100-K1000": Size(100, 1_000)}


@pytest.fixture(params=POLICIES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=SIZES)
def played(request: pytest.FixtureRequest, name: str) -> Played:
    size = SIZES[request.param]
    return Played(POLICIES[name](), size, ahead=max(8, 20_000_000 // (8 * 10 * size.dim * size.arms)))
