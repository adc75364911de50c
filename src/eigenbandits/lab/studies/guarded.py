"""A guarded policy and its baseline: how often it falls below the share that was promised, and what that costs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from eigenbandits.algorithms import EigenUCB, Oracle
from eigenbandits.environments import LowRank, LowRankInstance, Round
from eigenbandits.inputs import Array, one_of, probability, share
from eigenbandits.lab.experiments import Experiment, Record, Results, entry
from eigenbandits.lab.reporting.tables import aligned, percent
from eigenbandits.lab.studies.wrapped import WrappedInstance
from eigenbandits.policy import Decision, Policy
from eigenbandits.wrappers.guarded import Guarded

# How a run starts; see the legend. Only someone who knows θ* can be the adversary.
STARTS = ("plain", "best", "poisoned", "contrary", "adversary", "no guard")
POISON = 200
# Expected rewards are INTERCEPT ± √2 · SPREAD at most, so that none is negative.
INTERCEPT, SPREAD = 0.5, 0.3
# The bound on ‖θ*‖ that the guard is given; the truth is 0.58.
BOUND = 1.0
# From this round on regret is compared.
LATE = 1000
LEGEND = f"""\
broken: runs in any round of which the expected reward so far was below a share 1 − α of the baseline's.
kept: rounds in which the guard kept to the baseline against the policy. late: regret after round {LATE:,}.
plain: EigenUCB with a baseline that takes the median action. best: the baseline takes the best one. poisoned: the
policy has learned {POISON} rewards of the opposite sign before. contrary: the policy always wants the worst action.
adversary: half of each action is the current error of the guard's estimate. no guard: as plain, without a guard."""


@dataclass(frozen=True)
class PositiveRewards(LowRank):
    """`LowRank` with a column of ones, and expected rewards that are never negative."""

    def instance(self, seed: int) -> Any:
        """Draw the problem that belongs to a seed."""
        return PositiveInstance(super().instance(seed))


class PositiveInstance(WrappedInstance):
    """One drawn problem of `PositiveRewards`: θ* (d + 1,) has the intercept last.

    If an `estimate` (d + 1,) is set, actions are drawn toward its current error.
    """

    def __init__(self, model: LowRankInstance) -> None:
        super().__init__(model)
        self.theta = np.append(SPREAD * model.theta / np.linalg.norm(model.theta), INTERCEPT)
        self.estimate: Array | None = None

    def rounds(self) -> Iterator[Round]:
        """Start the stream from its first round; it never ends."""
        for fresh in self.model.rounds():
            drawn = fresh.actions
            if self.estimate is not None:
                pull = (self.estimate - self.theta)[:-1]
                norms = np.linalg.norm(drawn, axis=1, keepdims=True)
                drawn = 0.5 * (drawn + norms * pull / np.linalg.norm(pull))
            actions = np.column_stack([drawn, np.ones(len(drawn))])
            yield Round(actions, actions @ self.theta, fresh.noise)


class GuardMonitor:
    """A guarded policy that knows the truth and compares what it earns with what the baseline would; see `STARTS`."""

    def __init__(self, start: str, alpha: float = 0.1, delta: float = 0.01, seed: int | None = None) -> None:
        self.start = one_of(start, "start", STARTS)
        self.alpha, self.delta, self.seed = share(alpha, "alpha"), probability(delta, "delta"), seed
        self.account = self.lowest = self.late = 0.0
        self.rounds = 0

    def reveal(self, instance: PositiveInstance) -> None:
        """Read the truth, and set up the policy."""
        self.instance, theta = instance, instance.theta
        self.policy: Policy = EigenUCB(center="none", seed=self.seed)
        if self.start == "contrary":
            self.policy = Oracle(theta=-theta)
        if self.start == "poisoned":
            vectors = np.random.default_rng(self.seed).standard_normal((POISON, len(theta)))
            self.policy.learn_many(vectors, -vectors @ theta)
        if self.start != "no guard":
            self.policy = Guarded(
                *(self.policy, self.baseline, self.alpha), noise=instance.noise, theta_bound=BOUND, delta=self.delta
            )
        if self.start == "adversary":
            instance.estimate = np.zeros(len(theta))

    def baseline(self, actions: Array) -> int:
        """Return the row of the best action, or of that of median value."""
        order = np.argsort(actions @ self.instance.theta)
        return int(order[-1] if self.start == "best" else order[len(order) // 2])

    def choose(self, actions: Array) -> Decision:
        """Choose, and compare in expectation."""
        decision = self.policy.choose(actions)
        values = actions @ self.instance.theta
        self.account += float(values[decision.index] - (1.0 - self.alpha) * values[self.baseline(actions)])
        self.lowest = min(self.lowest, self.account)
        self.rounds += 1
        if self.rounds > LATE:
            self.late += float(values.max() - values[decision.index])
        return decision

    def learn(self, decision: Decision, reward: float) -> None:
        """Learn, and let the adversary know."""
        self.policy.learn(decision, reward)
        if self.start == "adversary" and isinstance(self.policy, Guarded):
            self.instance.estimate = self.policy.proved.center

    def diagnostics(self) -> dict[str, float]:
        """Return the lowest balance of the account, the late regret, and how often the guard kept to the baseline."""
        kept = self.policy.guard.kept if isinstance(self.policy, Guarded) else 0
        return {"lowest": self.lowest, "late": self.late, "kept": float(kept)}


def experiment(
    environment: LowRank,
    rounds: int = 2000,
    seeds: int = 200,
    alpha: float = 0.1,
    delta: float = 0.01,
    first_seed: int = 1000,
) -> Experiment:
    """Return the experiment whose results `summarize` reads: every start on every seed."""
    if rounds <= LATE:
        raise ValueError(f"rounds is {rounds}; expected more than {LATE}, after which regret is compared.")
    GuardMonitor("plain", alpha, delta)  # refuses a bad α or δ
    return Experiment(
        name="guarded",
        policies={start: entry(GuardMonitor, start=start, alpha=alpha, delta=delta) for start in STARTS},
        environments={"positive": PositiveRewards(**asdict(environment))},
        seeds=range(first_seed, first_seed + seeds),
        rounds=rounds,
        record=Record(points=1, accuracy=0),
        description="How often a guarded policy breaks its promise to the baseline.",
    )


def summarize(results: Results, delta: float) -> list[dict[str, Any]]:
    """Return one row for each start: runs, those that broke the promise, and mean regret."""
    lowest, kept, regret, late = (results.final(name)[:, 0] for name in ("lowest", "kept", "regret", "late"))
    return [
        {
            "start": start,
            "runs": len(results.seeds),
            # Sums of thousands of rounded terms may end a rounding below 0.
            "broken": int(np.count_nonzero(lowest[p] < -1e-9)),
            "allowed": None if start == "no guard" else delta,
            "kept": float(kept[p].mean()),
            "regret": float(regret[p].mean()),
            "late": float(late[p].mean()),
        }
        for p, start in enumerate(results.policies)
    ]


def report(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows of `summarize` as text, with what the columns mean and what the guard costs."""
    cells = [
        [
            *(row["start"], f"{row['broken']} of {row['runs']}"),
            "–" if row["allowed"] is None else percent(row["allowed"]),
            *(f"{row[name]:.1f}" for name in ("kept", "regret", "late")),
        ]
        for row in rows
    ]
    guarded = [row for row in rows if row["start"] != "no guard"]
    broken, runs = sum(row["broken"] for row in guarded), sum(row["runs"] for row in guarded)
    late = {row["start"]: row["late"] for row in rows}
    verdict = (
        f"With a guard the promise was broken in {broken} of {runs:,} runs. Late regret was "
        f"{late['plain']:.2f} with a guard (plain) and {late['no guard']:.2f} without."
    )
    return "\n".join((aligned(["start", "broken", "allowed", "kept", "regret", "late"], cells), "", LEGEND, verdict))
