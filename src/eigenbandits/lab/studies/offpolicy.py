"""How often off-policy intervals cover the truth, on logs that each randomized policy writes while it learns."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

from eigenbandits.algorithms import (
    OFUL,
    PSLB,
    EigenTS,
    EigenUCB,
    EpsilonGreedy,
    LinTS,
    LinUCB,
    ProjectedThompson,
    SquareCB,
)
from eigenbandits.environments import LowRank, LowRankInstance
from eigenbandits.inputs import Array, one_of, share
from eigenbandits.lab.experiments import Experiment, Record, Results, entry
from eigenbandits.lab.reporting.tables import aligned, percent
from eigenbandits.offpolicy import Log, estimate
from eigenbandits.policy import Decision, Policy

DIM, RANK, NOISE = 10, 2, 0.5
# Added to every reward, so that a uniform target is worth exactly this.
LEVEL = 1.0
ARMS = (5, 100, 500)
METHODS = ("ips", "dr")
REQUIRED = 0.93
"""The coverage required of a 95 % interval; 300 logs can hardly distinguish it from 95 %."""
# Decision sets that give the value of a target without a closed form.
_SETS = 20_000
LEGEND = """\
truth: what the target earns on average; mean: of the estimates; width: median width of the intervals; weight: mean
importance weight; events: median number of effective events; warned: share of estimates with a warning.
uniform: every action with the same probability; tilted: e² times as likely for a reward higher by one."""

# Loggers, from a floor and a seed; ε-greedy's floor is its ε.
LOGGERS: Mapping[str, Callable[[float, int | None], Policy]] = {
    "LinTS": lambda floor, seed: LinTS(noise=NOISE, floor=floor, seed=seed),
    "EigenTS": lambda floor, seed: EigenTS(floor=floor, seed=seed),
    "ProjectedThompson": lambda floor, seed: ProjectedThompson(noise=NOISE, floor=floor, seed=seed),
    "EpsilonGreedy": lambda floor, seed: EpsilonGreedy(epsilon=floor, seed=seed),
    "SquareCB": lambda floor, seed: SquareCB(floor=floor, seed=seed),
    "EigenUCB": lambda floor, seed: EigenUCB(rule="randomized", floor=floor, seed=seed),
    "OFUL": lambda floor, seed: OFUL(noise=NOISE, rule="randomized", floor=floor, seed=seed),
    "LinUCB": lambda floor, seed: LinUCB(rule="randomized", floor=floor, seed=seed),
    "PSLB": lambda floor, seed: PSLB(noise=NOISE, rule="randomized", floor=floor, seed=seed),
}


def _uniform(values: Array) -> Array:
    return np.full(len(values), 1.0 / len(values))


def _tilted(values: Array) -> Array:
    weights = np.exp(2.0 * (values - values.max()))
    return np.asarray(weights / weights.sum())


# Targets: the probability of each action, from the true values of all of them.
TARGETS: Mapping[str, Callable[[Array], Array]] = {"uniform": _uniform, "tilted": _tilted}


class Logger:
    """One of `LOGGERS`, which knows the truth, keeps a log of its decisions, and evaluates the targets from it."""

    def __init__(self, policy: str, floor: float = 0.1, seed: int | None = None) -> None:
        self.policy = LOGGERS[one_of(policy, "policy", tuple(LOGGERS))](share(floor, "floor"), seed)
        self.sets: list[Array] = []
        self.choices: list[int] = []
        self.rewards: list[float] = []
        self.propensities: list[float] = []

    def reveal(self, instance: LowRankInstance) -> None:
        """Read the truth."""
        self.theta = instance.theta

    def choose(self, actions: Array) -> Decision:
        """Choose as the policy does."""
        decision = self.policy.choose(actions)
        assert decision.propensity is not None, "every logger is randomized"
        self.sets.append(actions)
        self.choices.append(decision.index)
        self.propensities.append(decision.propensity)
        return decision

    def learn(self, decision: Decision, reward: float) -> None:
        """Learn, and log the reward."""
        self.policy.learn(decision, reward + LEVEL)
        self.rewards.append(reward + LEVEL)

    def log(self) -> Log:
        """Return the log so far."""
        return Log(np.array(self.sets), self.choices, self.rewards, self.propensities)

    def diagnostics(self) -> dict[str, float]:
        """Return what is estimated from the log for each target and method."""
        log = self.log()
        found: dict[str, float] = {}
        for target, probabilities in TARGETS.items():
            wanted = np.array([probabilities(actions @ self.theta) for actions in self.sets])
            for method in METHODS:
                one = estimate(log, wanted, method)
                low, high = one.interval
                numbers = {
                    "value": one.value,
                    "low": low,
                    "high": high,
                    "mean_weight": one.mean_weight,
                    "effective_events": one.effective_events,
                    "warned": float(bool(one.warnings)),
                }
                found |= {f"{target}:{method}:{name}": number for name, number in numbers.items()}
        return found


def environment(arms: int) -> LowRank:
    """Return where logs are written."""
    return LowRank(DIM, RANK, arms, perturbation=1.0, noise=NOISE)


@cache
def true_value(target: str, arms: int) -> float:
    """Return what a target earns on average: by symmetry the level, or the mean over many decision sets."""
    if target == "uniform":
        return LEVEL
    # One instance is as good as another: their vectors differ by a rotation, and so do their θ*.
    rounds = islice(environment(arms).instance(0).rounds(), _SETS)
    worth = [float(TARGETS[target](offered.values) @ offered.values) for offered in rounds]
    return LEVEL + float(np.mean(worth))


def experiment(
    loggers: Sequence[str] = tuple(LOGGERS),
    arms: Sequence[int] = ARMS,
    rounds: int = 1000,
    seeds: int = 300,
    floor: float = 0.1,
    first_seed: int = 1000,
) -> Experiment:
    """Return the experiment whose results `summarize` reads."""
    for name in loggers:
        Logger(name, floor)  # refuses an unknown logger, or a bad floor
    return Experiment(
        name="offpolicy-coverage",
        policies={name: entry(Logger, policy=name, floor=floor) for name in loggers},
        environments={str(size): environment(size) for size in arms},
        seeds=range(first_seed, first_seed + seeds),
        rounds=rounds,
        record=Record(points=1, accuracy=0),
        description="How often off-policy intervals cover the truth.",
    )


def summarize(results: Results) -> list[dict[str, Any]]:
    """Return one row for each number of actions, logger, target and method: how often the intervals held the truth."""
    rows = []
    for e, size in enumerate(results.environments):
        for p, logger in enumerate(results.policies):
            for target in TARGETS:
                for method in METHODS:
                    found = {
                        name: results.final(f"{target}:{method}:{name}")[p, e]
                        for name in ("value", "low", "high", "mean_weight", "effective_events", "warned")
                    }
                    rows.append(_row(int(size), logger, target, method, found))
    return rows


def _row(arms: int, logger: str, target: str, method: str, found: Mapping[str, Array]) -> dict[str, Any]:
    truth = true_value(target, arms)
    coverage = float(np.mean((found["low"] <= truth) & (truth <= found["high"])))
    return {
        "arms": arms,
        "logger": logger,
        "target": target,
        "method": method,
        "logs": len(found["value"]),
        "truth": truth,
        "mean": float(found["value"].mean()),
        "coverage": coverage,
        "holds": coverage >= REQUIRED,
        "width": float(np.median(found["high"] - found["low"])),
        "weight": float(found["mean_weight"].mean()),
        "events": float(np.median(found["effective_events"])),
        "warned": float(found["warned"].mean()),
    }


def report(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows of `summarize` as text, with what the columns mean and whether every line holds."""
    headers = ["K", "logger", "target", "method", "truth", "mean", "coverage", "width", "weight", "events", "warned"]
    cells = [
        [
            *(str(row["arms"]), row["logger"], row["target"], row["method"]),
            *(f"{row[name]:.3f}" for name in ("truth", "mean")),
            percent(row["coverage"]),
            *(f"{row[name]:.2f}" for name in ("width", "weight")),
            f"{row['events']:.0f}",
            percent(row["warned"]),
        ]
        for row in rows
    ]
    bad = [f"{row['logger']} ({row['method']}, {row['target']}, K = {row['arms']})" for row in rows if not row["holds"]]
    least = percent(REQUIRED)
    verdict = f"Below {least}: {', '.join(bad)}." if bad else f"Every line covers the truth in at least {least}."
    return "\n".join((aligned(headers, cells), "", LEGEND, verdict))
