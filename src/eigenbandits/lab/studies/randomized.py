"""The cost of leaving some choices of an optimistic policy to chance."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eigenbandits.algorithms import OFUL, PSLB, EigenUCB, LinUCB
from eigenbandits.environments import LowRank
from eigenbandits.inputs import Array, one_of
from eigenbandits.lab.experiments import Experiment, Record, Results, entry
from eigenbandits.lab.reporting.tables import aligned
from eigenbandits.policy import Decision, Policy
from eigenbandits.rules import RandomizedOptimism

NOISE = 0.5
PAPER = LowRank(100, 4, 10, noise=NOISE)
"""The paper's model, as in `eigenbandits compare`."""
LIMIT = 1.1
"""How much regret chance may cost, as a multiple of the regret without it."""

POLICIES: Mapping[str, Callable[[int | None], Policy]] = {
    "EigenUCB": lambda seed: EigenUCB(seed=seed),
    "OFUL": lambda seed: OFUL(noise=NOISE, seed=seed),
    "LinUCB": lambda seed: LinUCB(seed=seed),
    "PSLB": lambda seed: PSLB(noise=NOISE, seed=seed),
}


class Optimist:
    """One of the optimistic `POLICIES`, with or without chance, that counts what it leaves to chance.

    `gamma` is γ of `rules.RandomizedOptimism`; None leaves nothing to chance.
    """

    def __init__(self, policy: str, gamma: float | None = None, seed: int | None = None) -> None:
        self.policy = POLICIES[one_of(policy, "policy", tuple(POLICIES))](seed)
        self.likely: list[float] = []
        if gamma is not None:
            self.policy.rule = RandomizedOptimism(gamma)

    def choose(self, actions: Array) -> Decision:
        """Choose as the policy does."""
        decision = self.policy.choose(actions)
        self.likely.append(1.0 if decision.propensity is None else decision.propensity)
        return decision

    def learn(self, decision: Decision, reward: float) -> None:
        """Learn as the policy does."""
        self.policy.learn(decision, reward)

    def diagnostics(self) -> dict[str, float]:
        """Return the share of choices that were less likely than not: those that optimism would not have made."""
        return {"by_chance": float(np.mean(np.array(self.likely) < 0.5))}


def experiment(
    environments: Mapping[str, Any],
    policies: Sequence[str],
    gammas: Sequence[float],
    rounds: int,
    seeds: int,
    first_seed: int = 1000,
) -> Experiment:
    """Return the experiment whose results `summarize` reads."""
    for gamma in gammas:
        RandomizedOptimism(gamma)  # refuses a bad γ
    cells: dict[str, Any] = {}
    for name in policies:
        cells[name] = entry(Optimist, policy=name)
        cells |= {f"{name}, γ = {gamma:g}": entry(Optimist, policy=name, gamma=gamma) for gamma in gammas}
    return Experiment(
        name="offpolicy-regret",
        policies=cells,
        environments=environments,
        seeds=range(first_seed, first_seed + seeds),
        rounds=rounds,
        record=Record(points=1, accuracy=0),
        description="Optimistic policies with rule='randomized' and without.",
    )


def summarize(results: Results) -> list[dict[str, Any]]:
    """Return a row for each environment, policy and γ: both regrets, and their ratio with a 95 % interval."""
    regret, chance = results.final("regret"), results.final("by_chance")
    rows = []
    for e, label in enumerate(results.environments):
        for p, name in enumerate(results.policies):
            policy, _, gamma = name.partition(", γ = ")
            if not gamma:
                continue
            plain, randomized = regret[results.policies.index(policy), e], regret[p, e]
            low, high = _ratio_interval(plain, randomized)
            rows.append(
                {
                    "environment": label,
                    "policy": policy,
                    "gamma": float(gamma),
                    "seeds": len(plain),
                    "optimism": float(plain.mean()),
                    "randomized": float(randomized.mean()),
                    "ratio": float(randomized.mean() / plain.mean()),
                    "ratio_low": low,
                    "ratio_high": high,
                    "by_chance": float(chance[p, e].mean()),
                }
            )
    return rows


def _ratio_interval(plain: Array, randomized: Array, resamples: int = 4000) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a ratio of means over the same seeds."""
    drawn = np.random.default_rng(0).integers(0, len(plain), (resamples, len(plain)))
    ratios = randomized[drawn].mean(axis=1) / plain[drawn].mean(axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(low), float(high)


def report(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows of `summarize` as text, and whether every ratio is within the limit."""
    headers = ["environment", "policy", "γ", "optimism", "randomized", "ratio", "95 %", "by chance"]
    cells = [
        [
            *(row["environment"], row["policy"], f"{row['gamma']:g}"),
            *(f"{row[name]:.1f}" for name in ("optimism", "randomized")),
            *(f"{row['ratio']:.3f}", f"{row['ratio_low']:.3f}–{row['ratio_high']:.3f}", f"{row['by_chance']:.4f}"),
        ]
        for row in rows
    ]
    bad = [f"{row['policy']} on {row['environment']} (γ = {row['gamma']:g})" for row in rows if row["ratio"] > LIMIT]
    legend = "by chance: the share of choices that were less likely than not, which optimism would not have made."
    verdict = f"Above {LIMIT}: {', '.join(bad)}." if bad else f"No ratio is above {LIMIT}."
    return "\n".join((aligned(headers, cells), "", legend, verdict))
