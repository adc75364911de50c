"""The effect of a constant of the library: the measurements behind it, with other values instead."""

import importlib
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np

from eigenbandits.algorithms import EigenUCB
from eigenbandits.environments import Digits, LowRank
from eigenbandits.features import Bilinear
from eigenbandits.lab.errors import unknown
from eigenbandits.lab.experiments import Experiment, Record, Results
from eigenbandits.lab.reporting.tables import aligned
from eigenbandits.lab.studies import drift, estimates
from eigenbandits.lab.studies.robustness import clicks
from eigenbandits.rules import Pacer
from eigenbandits.rules import pacer as pacing
from eigenbandits.rules.pacer import steps
from eigenbandits.translation import Encoder

Measure = Callable[[range], Mapping[str, float]]


def regret(seeds: range) -> dict[str, float]:
    """Return the flagship's regret on the paper's model, the weakest direction, rare clicks and the digits."""
    environments = {
        "paper's model": LowRank(100, 4, 10),
        "θ* on the weakest": LowRank(100, 4, 10, theta="weakest", spread=10.0),
        "no subspace": LowRank(100, 100, 10),
        "clicks, 2 %": clicks.environments()["clicks, 2 %"],
        "digits": Digits(),
        "digits, ReLU": Digits(relu=True),
    }
    results = _run(Experiment("calibrate", {"EigenUCB": EigenUCB()}, environments, list(seeds), 1500, Record(points=1)))
    found = results.final("regret").mean(axis=-1)[0]
    return dict(zip(results.environments, found.tolist(), strict=True))


def wide(seeds: range) -> dict[str, float]:
    """Return the flagship's regret where actions have 1,000 numbers, and the time of a round in milliseconds."""
    environments = {"four directions": LowRank(1000, 4, 10), "no subspace": LowRank(1000, 1000, 10)}
    plan = Experiment("calibrate", {"EigenUCB": EigenUCB()}, environments, list(seeds), 2000, Record(points=1))
    start = time.perf_counter()
    results = _run(plan)
    elapsed = 1000.0 * (time.perf_counter() - start) / (len(environments) * len(seeds) * plan.rounds)
    found = dict(zip(results.environments, results.final("regret").mean(axis=-1)[0].tolist(), strict=True))
    return found | {"a round, ms": elapsed}


def drifting(seeds: range) -> dict[str, float]:
    """Return the regret of memory="auto" as a multiple of that of no memory, with and without changes."""
    policies = {"none": EigenUCB(), "auto": EigenUCB(memory="auto")}
    environments = drift.environments(drift.ROUNDS)
    results = _run(Experiment("calibrate", policies, environments, list(seeds), drift.ROUNDS, Record(points=1)))
    none, auto = results.final("regret").mean(axis=-1)
    return dict(zip(results.environments, (auto / none).tolist(), strict=True))


def errors(seeds: range) -> dict[str, float]:
    """Return by how much the estimated projection error is above the true one, and how often it is exceeded."""
    results = _run(estimates.experiment(len(seeds), seeds.start))
    labels = [label for label in results.environments if estimates.rank_of(results, label) < estimates.DIM]
    truth, found = (
        np.stack([estimates.moments(results, column, label) for label in labels])
        for column in ("truth", f"error:{estimates.SPECTRAL}")
    )
    late = np.exp(np.log(found / truth).mean(axis=(0, 1)))
    ever = [estimates.moments(results, "nearest", label)[:, -1] > 1.0 for label in labels]
    shares = {f"over the truth, round {moment}": ratio for moment, ratio in zip(estimates.MOMENTS, late, strict=True)}
    return shares | {"runs in which it was exceeded, %": 100.0 * float(np.mean(ever))}


def spending(seeds: range) -> dict[str, float]:
    """Return what a pacer spends, and the value that it earns as a share of the best for the whole sequence.

    Five actions whose costs lie three orders of magnitude apart and whose values are known, with a budget between the
    cheapest and the most expensive, for 2,000 decisions.
    """
    spent, over, earned = [], [], []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        costs = 10.0 ** rng.uniform(-3.0, 0.0, (2000, 5))
        values = np.minimum(1.0, 0.6 + 0.1 * np.log10(costs) + 0.2 * rng.random(costs.shape))
        budget = 0.1
        pacer, paid, value = Pacer(budget, pacing.HORIZON), [0.0], 0.0
        for worth, cost in zip(values, costs, strict=True):
            price = pacer.price(worth, cost)
            net = np.where(cost <= max(pacer.affordable, float(cost.min())), worth - price * cost, -math.inf)
            index = int(net.argmax())
            pacer.commit(float(cost[index]), float(cost.max()))
            paid.append(float(cost[index]))
            value += float(worth[index])
        totals = np.cumsum(paid) / (1000 * budget)
        spent.append(0.5 * totals[-1])
        over.append((totals[1000:] - totals[:-1000]).max() - 1.0)
        earned.append(value / _best(values, costs, budget))
    return {
        "spent, % of the budget": 100.0 * float(np.mean(spent)),
        "most above it in 1,000 decisions, %": 100.0 * float(np.max(over)),
        "value, % of the best": 100.0 * float(np.mean(earned)),
    }


def recognized(seeds: range) -> dict[str, float]:
    """Return how many decision sets are refused after a change of encoders: those of the old encoder, and of the new.

    Ten actions of 64 dimensions, eight of which stand out; the new encoder turns them at random and adds 20 % noise.
    1,000 items were embedded by both. With normal numbers, and with Student's t of three degrees of freedom.
    """
    found: dict[str, float] = {}
    for name, freedom in (("normal", math.inf), ("heavy tails", 3.0)):
        refused = np.zeros(2)
        for seed in seeds:
            rng = np.random.default_rng(seed)
            sizes = np.where(np.arange(64) < 8, 4.0, 1.0)
            drawn = rng.standard_normal((3000, 64)) if math.isinf(freedom) else rng.standard_t(freedom, (3000, 64))
            old = drawn * sizes
            turned = old @ np.linalg.qr(rng.standard_normal((64, 64)))[0]
            new = turned + 0.2 * turned.std() * rng.standard_normal(turned.shape)
            encoder = Encoder()
            encoder.change(0, (old[:800], old[800:1000]), (new[:800], new[800:1000]))
            for place, rows in enumerate((old[1000:], new[1000:])):
                refused[place] += sum(map(partial(_refuses, encoder), rows.reshape(200, 10, 64)))
        share = 100.0 * refused / (200 * len(seeds))
        found |= {f"{name}: old refused, %": float(share[0]), f"{name}: new refused, %": float(share[1])}
    return found


def scored(seeds: range) -> dict[str, float]:
    """Return the lead over a scorer, in points: early, late, on queries asked again, and on those never asked.

    Queries of 32 dimensions belong to one of 12 labels, whose vectors they are near; the scorer is the inner product
    with descriptions of the labels that are partly wrong. 200 queries are asked ten times each in one stream, which
    shows what repetitions teach, and each query once in another.
    """
    early, late, again, unseen = [], [], [], []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        labels = rng.standard_normal((12, 32))
        described = labels + 1.2 * rng.standard_normal(labels.shape)
        right = rng.integers(0, 12, 2600)
        queries = labels[right] + 1.5 * rng.standard_normal((2600, 32))
        features = Bilinear(queries[:500], described, 128)
        once, repeated = EigenUCB(seed=seed), EigenUCB(seed=seed)
        leads = [_lead(once, features, queries[place], right[place]) for place in range(2000)]
        early.append(np.mean(leads[:400]))
        late.append(np.mean(leads[-400:]))
        order = np.concatenate([rng.permutation(200) for _ in range(10)])
        again.append(np.mean([_lead(repeated, features, queries[place], right[place]) for place in order][-400:]))
        unseen.append(
            np.mean([_lead(repeated, features, queries[place], right[place], False) for place in range(2000, 2600)])
        )
    found = {"first 400": early, "last 400": late, "asked ten times, last 400": again, "never asked": unseen}
    return {name: 100.0 * float(np.mean(leads)) for name, leads in found.items()}


def _lead(policy: EigenUCB, features: Bilinear, query: np.ndarray, right: int, learns: bool = True) -> float:
    """Return 1 if the policy was right where the scorer was not, −1 for the opposite, else 0."""
    scores = features.scores(query)
    decision = policy.choose(features(query), learns, scores=scores)
    if learns:
        policy.learn(decision, float(decision.index == right))
    return float(decision.index == right) - float(scores.argmax() == right)


def _refuses(encoder: Encoder, actions: np.ndarray) -> bool:
    try:
        encoder.check(actions)
    except ValueError:
        return True
    return False


def _best(values: np.ndarray, costs: np.ndarray, budget: float) -> float:
    """Return the most that the budget can buy over all decision sets: a fractional knapsack of the hulls' steps."""
    slopes, rises = [], []
    left, total = budget * len(values), 0.0
    for worth, cost in zip(values, costs, strict=True):
        found, rise, base = steps(worth, cost)
        left, total = left - base, total + float(worth[cost.argmin()])
        slopes.append(found)
        rises.append(rise)
    for slope, rise in sorted(zip(np.concatenate(slopes), np.concatenate(rises), strict=True), reverse=True):
        if slope <= 0.0 or left <= 0.0:
            break
        bought = min(rise, left)
        left, total = left - bought, total + slope * bought
    return float(total)


@dataclass(frozen=True)
class Constant:
    """A calibrated constant: where it is, what to try by default, and the measurement that it was chosen by."""

    module: str
    name: str
    values: tuple[float, ...]
    measure: Measure

    @property
    def current(self) -> float:
        """Its value."""
        return float(getattr(importlib.import_module(self.module), self.name))

    @contextmanager
    def set_to(self, value: float) -> Iterator[None]:
        """Give it another value for a while, in this process."""
        module = importlib.import_module(self.module)
        before = getattr(module, self.name)
        setattr(module, self.name, type(before)(value))
        try:
            yield
        finally:
            setattr(module, self.name, before)


_SPECTRAL, _EFFECTIVE = "eigenbandits.belief.spectral.belief", "eigenbandits.subspace.effective"
_REPEATS = "eigenbandits.belief.spectral.repeats"
_MEMORIES, _PACER = "eigenbandits.belief.memories", "eigenbandits.rules.pacer"
CONSTANTS = {
    "growth": Constant(_SPECTRAL, "GROWTH", (0.25, 0.5, 1.0), regret),
    "surprising": Constant(_SPECTRAL, "SURPRISING", (3.0, 6.0, 12.0), regret),
    "soonest": Constant(_SPECTRAL, "SOONEST", (0.0, 0.05, 0.2), regret),
    "sample": Constant(_SPECTRAL, "SAMPLE", (256, 512, 1024, 2048), wide),
    "young": Constant(_EFFECTIVE, "YOUNG", (32.0, 128.0, 512.0), errors),
    "few": Constant(_EFFECTIVE, "FEW", (128.0, 512.0, 2048.0), errors),
    "cloned": Constant(_MEMORIES, "CLONED", (0.01, 0.1, 1.0), drifting),
    "drop": Constant(_MEMORIES, "DROP", (0.25, 0.5, 1.0), drifting),
    "farthest": Constant(_MEMORIES, "FARTHEST", (2.0, 3.0, 100.0), drifting),
    "allowance": Constant("eigenbandits.belief.spectral.view", "ALLOWANCE", (0.0, 0.005, 0.01, 0.02, 0.05), scored),
    "patience": Constant("eigenbandits.rules.optimism", "PATIENCE", (0.0, 100.0, 400.0), scored),
    "slope": Constant("eigenbandits.belief.spectral.free", "SCORE_WEIGHT", (1.0, 4.0, 16.0), scored),
    "room": Constant(_REPEATS, "ROOM", (64, 256, 1024, 8192), scored),
    "repeats": Constant(_REPEATS, "WEIGHT", (1.0, 4.0, 16.0), scored),
    "telling": Constant("eigenbandits.translation", "TELLING", (8.0, 32.0, 64.0), recognized),
    "loudest": Constant("eigenbandits.translation", "LOUDEST", (2.0, 8.0, 32.0), recognized),
    "steepness": Constant(_PACER, "STEEPNESS", (1.0, 2.0, 4.0), spending),
    "large": Constant(_PACER, "LARGE", (1.0, 2.0, 4.0), spending),
    "horizon": Constant(_PACER, "HORIZON", (5.0, 10.0, 20.0, 50.0), spending),
    "window": Constant(_PACER, "WINDOW", (64.0, 256.0, 1024.0), spending),
}


def table(name: str, values: Sequence[float], seeds: range) -> str:
    """Return what was measured with each value of one of `CONSTANTS`, by default its own, as text."""
    if name not in CONSTANTS:
        raise unknown("constant", name, CONSTANTS)
    constant = CONSTANTS[name]
    return compared(constant, list(values) or list(constant.values), seeds)


def compared(constant: Constant, values: Sequence[float], seeds: range) -> str:
    """Return what a constant's measure gives with each of some values, as text."""
    columns = []
    for value in values:
        with constant.set_to(value):
            columns.append(constant.measure(seeds))
    rows = [[label, *(f"{column[label]:.4g}" for column in columns)] for label in columns[0]]
    return aligned(["", *(f"{v:g}{' (now)' if v == constant.current else ''}" for v in values)], rows)


def _run(experiment: Experiment) -> Results:
    """Run an experiment in this process, where the constant was changed."""
    with tempfile.TemporaryDirectory() as folder:
        return experiment.run(folder, engine="serial", progress="none")
