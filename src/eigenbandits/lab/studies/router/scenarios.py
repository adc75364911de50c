"""What the requests are: the four experiments of ParetoBandit, in its order and with its seeds, and RouteLLM's pairs.

ParetoBandit: Taberner-Miller 2026, github.com/ParetoBandit/ParetoBandit, experiments 01 to 04. Every one of them learns
on the split `val` in random order first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigenbandits.environments import Round
from eigenbandits.inputs import Array
from eigenbandits.lab.studies.router.data import MODELS, PRICES, read

# Budgets of the experiments 02 to 04: dollars per request.
BUDGETS = (3.0e-4, 6.62e-4, 1.87e-3)
LEVELS = 7
# Requests in each of the three phases of the experiments 02 and 03.
PHASE = 608
MISTRAL, GEMINI, FLASH = 1, 2, 3
# Experiment 02: the price of Gemini drops to $0.10 and $0.10. Experiment 03: every answer of Mistral is worth 0.75.
NEW_PRICE = (0.1, 0.1)
DEGRADED = 0.75
# Shares of calls to the strong model that may be bought on RouteLLM's pairs; 3,000 requests to learn, 3,000 measured.
STRONG_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
PAIR_REQUESTS = 3000


class Request(NamedTuple):
    """One request: the prompt's vector, what each model's answer is worth and costs, and the phase, 0 for learning."""

    vector: Array
    rewards: Array
    costs: Array
    phase: int


@dataclass(frozen=True)
class Requests:
    """The stream of requests of a scenario, from the file that `data.prepare` wrote."""

    file: str
    scenario: str

    @property
    def name(self) -> str:
        """A short name."""
        return self.scenario

    def instance(self, seed: int) -> RequestsInstance:
        """Return the requests in the order that belongs to a seed."""
        return RequestsInstance(read(self.file), self.scenario, seed)


class RequestsInstance:
    """The requests of one seed.

    Of the attributes, `models` are those available at first, `budgets` one for each level, 0 for none, `focus` the
    model that the scenario is about, `phases` the number of requests in each phase, and `current` the request of the
    round.
    """

    theta = basis = np.zeros(0)
    structure = action_bound = None
    noise = theta_bound = 0.0

    def __init__(self, data: Mapping[str, Array], scenario: str, seed: int) -> None:
        self.data, self.scenario, self.seed = data, scenario, seed
        self.models: tuple[str, ...] = MODELS[:3]
        self.focus = {"degraded": MISTRAL, "arrival": FLASH, "bad-arrival": FLASH}.get(scenario, GEMINI)
        if scenario == "pairs":
            self.models, self.focus = ("strong", "weak"), 0
            self.budgets = np.array(STRONG_SHARES)
            self.phases: tuple[int, ...] = (PAIR_REQUESTS, PAIR_REQUESTS)
            return
        means = data["val_costs"].mean(axis=0)
        self.budgets = (
            np.geomspace(means.min(), means.max(), LEVELS) if scenario == "pacing" else np.array([*BUDGETS, 0.0])
        )
        measured: tuple[int, ...] = (PHASE, PHASE, PHASE)
        if scenario == "pacing":
            measured = (len(data["test_vectors"]),)
        elif self.focus == FLASH:
            measured = (len(data["test_k4_vectors"]),)
        self.phases = (len(data["val_vectors"]), *measured)

    def rounds(self) -> Iterator[Round]:
        """Go through the requests."""
        for request in self.requests():
            self.current = request
            yield Round(np.eye(len(request.rewards)), request.rewards, 0.0)

    def requests(self) -> Iterator[Request]:
        """Go through the requests."""
        rng, data = np.random.default_rng(self.seed), self.data
        if self.scenario == "pairs":
            yield from self._pairs(rng)
            return
        yield from _part(data, "val", rng.permutation(len(data["val_vectors"])), 0)
        if self.scenario == "pacing":
            yield from _part(data, "test", rng.permutation(len(data["test_vectors"])), 1)
            return
        if self.focus == FLASH:
            for request in _part(data, "test_k4", rng.permutation(len(data["test_k4_vectors"])), 1):
                rewards = request.rewards.copy()
                rewards[FLASH] *= 0.5 if self.scenario == "bad-arrival" else 1.0
                yield request._replace(rewards=rewards)
            return
        # The same prompts for all seeds, drawn by seed 42, and in the third phase those of the first again.
        drawn = np.random.default_rng(42).permutation(len(data["test_vectors"]))
        parts = (drawn[:PHASE], drawn[PHASE : 2 * PHASE], drawn[:PHASE])
        orders = [part[rng.permutation(PHASE)] for part in parts]
        yield from _part(data, "test", orders[0], 1)
        ratio = sum(NEW_PRICE) / sum(PRICES[MODELS[GEMINI]])
        for request in _part(data, "test", orders[1], 2):
            rewards, costs = request.rewards.copy(), request.costs.copy()
            if self.scenario == "price":
                costs[GEMINI] *= ratio
            else:
                rewards[MISTRAL] = DEGRADED
            yield request._replace(rewards=rewards, costs=costs)
        yield from _part(data, "test", orders[2], 3)

    def _pairs(self, rng: np.random.Generator) -> Iterator[Request]:
        for number, row in enumerate(pair_rows(self.data, rng)):
            vector = self.data["pairs_vectors"][row].astype(np.float64)
            yield Request(vector, self.data["pairs_rewards"][row], np.array([1.0, 0.0]), number // PAIR_REQUESTS)


def pair_rows(data: Mapping[str, Array], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the rows of RouteLLM's pairs that a run goes through, those to learn from first."""
    return rng.permutation(len(data["pairs_vectors"]))[: 2 * PAIR_REQUESTS]


def _part(data: Mapping[str, Array], split: str, rows: NDArray[np.intp], phase: int) -> Iterator[Request]:
    vectors, rewards, costs = (data[f"{split}_{name}"] for name in ("vectors", "rewards", "costs"))
    for row in rows.tolist():
        yield Request(vectors[row].astype(np.float64), rewards[row], costs[row], phase)
