"""What a decision and its feedback cost, compared with ParetoBandit in the same run."""

import time
from collections.abc import Callable, Mapping

import numpy as np

from eigenbandits.inputs import Array
from eigenbandits.lab.reporting.tables import aligned
from eigenbandits.lab.studies.router.data import MODELS, PRICES
from eigenbandits.lab.studies.router.policies import pareto_features, pareto_router
from eigenbandits.lab.studies.router.scenarios import BUDGETS
from eigenbandits.router import Model, Router

# Requests until the next router has its turn: long enough for caches to be warm.
BLOCK = 100
REQUESTS = 1785
LEGEND = """\
Microseconds of a processor for one request, the routers taking turns: the fastest twentieth, the median and the mean of
routing and feedback together, once the first half of the requests has been learned. The mean holds everything:
directions found again and priors fitted, too. floor: one product of three models with a prompt."""


def timing(data: Mapping[str, Array], peer: bool = False) -> str:
    """Return the table of times as text."""
    vectors = data["val_vectors"].astype(np.float64)[:REQUESTS]
    rewards, costs = data["val_rewards"], data["val_costs"]
    turns: dict[str, Callable[[int], float]] = {"Router, d = 384": _ours(vectors, rewards, costs)}
    if peer:
        short = np.array([pareto_features(vector) for vector in vectors])
        whole = np.column_stack([vectors, np.ones(len(vectors))])
        turns["ParetoBandit, its PCA, d = 26"] = _peer(short, rewards, costs)
        turns["ParetoBandit, d = 385"] = _peer(whole, rewards, costs)
    thetas = np.ones((3, vectors.shape[1]))

    def floor(row: int) -> float:
        begin = time.process_time()
        _ = thetas @ vectors[row]
        return time.process_time() - begin

    turns["floor"] = floor
    found = {name: np.empty(len(vectors)) for name in turns}
    for start in range(0, len(vectors), BLOCK):
        for name, turn in turns.items():
            for row in range(start, min(start + BLOCK, len(vectors))):
                found[name][row] = 1e6 * turn(row)
    cells = []
    for name, times in found.items():
        late = times[len(times) // 2 :]
        cells.append([name, f"{np.quantile(late, 0.05):.1f}", f"{np.median(late):.1f}", f"{late.mean():.1f}"])
    return "\n\n".join((aligned(["microseconds", "fastest 5 %", "median", "mean"], cells), LEGEND))


def _ours(vectors: Array, rewards: Array, costs: Array) -> Callable[[int], float]:
    router = Router([Model(name, PRICES[name]) for name in MODELS[:3]], budget=BUDGETS[1], seed=0)

    def turn(row: int) -> float:
        begin = time.process_time()
        route = router.route(vectors[row])
        middle = time.process_time()
        place = MODELS.index(route.model)
        reward, cost = float(rewards[row, place]), float(costs[row, place])
        again = time.process_time()
        router.feedback(route.id, reward, cost)
        return middle - begin + time.process_time() - again

    return turn


def _peer(vectors: Array, rewards: Array, costs: Array) -> Callable[[int], float]:
    router = pareto_router(BUDGETS[1], False, vectors.shape[1])

    def turn(row: int) -> float:
        begin = time.process_time()
        model, log = router.route(vectors[row])
        middle = time.process_time()
        place = MODELS.index(model)
        reward, log.cost_usd = float(rewards[row, place]), float(costs[row, place])
        again = time.process_time()
        router.process_feedback(log.request_id, reward=reward)
        return middle - begin + time.process_time() - again

    return turn
