"""The router on the decision service."""

import numpy as np
import pytest

from eigenbandits.router import ServedRouter, fitted_basis
from eigenbandits.serve import Client, Settings, running


def test_two_processes_share_what_they_learn(tmp_path):
    rng = np.random.default_rng(0)
    basis = fitted_basis(rng.standard_normal((64, 8)) * [3, 1, 1, 1, 1, 1, 1, 1], rank=4)
    with running(Settings(folder=tmp_path, port=0, log_level="error")) as service, Client(service.url) as client:
        routers = [ServedRouter(client, "models", ["left", "right"], basis, slots=3) for _ in range(2)]
        right = 0
        for number in range(160):
            prompt = rng.standard_normal(8) * [3, 1, 1, 1, 1, 1, 1, 1]
            route = routers[number % 2].route(prompt)
            reward = 0.5 + (0.1 if route.model == "right" else -0.1) * prompt[0]
            right += number >= 80 and (reward > 0.5)
            assert routers[1 - number % 2].feedback(route.id, reward) == "learned"
        assert routers[0].feedback(route.id, reward) == "repeated"
        assert right > 72
        routers[0].add("new")
        assert routers[0].route(prompt, exclude=["left", "right"]).model == "new"
        with pytest.raises(ValueError, match="all 3 slots are taken"):
            routers[0].add("another")


def test_a_budget_is_kept_by_the_service(tmp_path):
    rng = np.random.default_rng(0)
    basis = fitted_basis(rng.standard_normal((64, 8)), rank=4)
    with running(Settings(folder=tmp_path, port=0, log_level="error")) as service, Client(service.url) as client:
        router = ServedRouter(client, "models", ["cheap", "dear"], basis, budget=0.3)
        paid = []
        for _ in range(300):
            route = router.route(rng.standard_normal(8))
            dear = route.model == "dear"
            paid.append(1.0 if dear else 0.1)
            router.feedback(route.id, 0.9 if dear else 0.5, cost=paid[-1])
        assert 0.8 * 0.3 < np.mean(paid[100:]) < 1.1 * 0.3
        assert client.diagnostics("models")["spent"] == pytest.approx(sum(paid))
