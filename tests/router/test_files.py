"""Routers on disk: they go on bit for bit, and damage is refused."""

import numpy as np
import pytest

from eigenbandits.router import Model, Router


def played(router, rounds, seed):
    rng = np.random.default_rng(seed)
    chosen = []
    for _ in range(rounds):
        route = router.route(rng.standard_normal(6))
        router.feedback(route.id, float(rng.random()), cost=float(rng.random()))
        chosen.append((route.model, route.estimate, route.cost))
    return chosen


@pytest.mark.parametrize("budget", [None, 0.3])
def test_a_loaded_router_goes_on_bit_for_bit(tmp_path, budget):
    router = Router([Model("a", 1.0), Model("b", (1.0, 2.0)), "c"], budget=budget, seed=0)
    played(router, 90, 0)
    waiting = router.route(np.ones(6))
    router.save(tmp_path / "router.eb")
    loaded = Router.load(tmp_path / "router.eb")
    assert loaded.models == router.models
    assert loaded.history.state() == router.history.state()
    # Not beyond the 128th prompt; the router finds its directions anew there, from the same sums.
    assert played(loaded, 60, 1) == played(router, 60, 1)
    assert loaded.feedback(waiting.id, 0.5, cost=0.1) == "learned"
    assert loaded.feedback(waiting.id, 0.5, cost=0.1) == "repeated"


def test_damage_is_refused(tmp_path):
    path = tmp_path / "router.eb"
    Router(["a"], seed=0).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="is not a saved router, or is truncated or damaged"):
        Router.load(path)
    path.write_bytes(b"PK no")
    with pytest.raises(ValueError, match="is not a saved router"):
        Router.load(path)
