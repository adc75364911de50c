"""How often θ* ever leaves the certified set, also where decision sets follow the rewards or know θ* itself."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from eigenbandits.algorithms import EigenUCB
from eigenbandits.belief import Screened
from eigenbandits.environments import LowRank, LowRankInstance, Round
from eigenbandits.inputs import Array, one_of, probability
from eigenbandits.lab.experiments import Experiment, Record, Results, entry
from eigenbandits.lab.reporting.tables import aligned, percent
from eigenbandits.lab.studies.coverage import departures, verdict
from eigenbandits.lab.studies.wrapped import WrappedInstance
from eigenbandits.policy import Decision
from eigenbandits.subspace.error import subspace_distance

# Where decision sets come from; see the legend. Only someone who knows θ* can be the adversary.
SETS = ("drawn", "withdrawn", "neighbors", "adversary")
# What is compared with the truth; see the legend.
MEASURED = ("rho", "whole", "subspace, true ε", "subspace, estimated ε", "subspace, deciding")
# With the estimated ε nothing is proved.
ASSUMED = ("subspace, estimated ε", "subspace, deciding")
LEGEND = """\
left: runs in which the truth was outside in any round; limit: allowed plus three standard errors.
nearest: median over runs of the largest truth/bound, squared; refuted: runs in which the subspace was dropped.
rho: ‖r − Xθ*‖² ≤ ρ, the one event behind all sets; whole: the set with λI; subspace: that with two levels, with the
true error of the subspace, and with the estimated one, which is an assumption and guarantees nothing; deciding: the
latter, counted only in rounds in which it was not dropped.
drawn: sets as the environment draws them. withdrawn: an action whose reward was better than expected sells out.
neighbors: half of each action is the current estimate. adversary: half of it is the estimate's current error."""


@dataclass(frozen=True)
class AdaptiveSets(LowRank):
    """`LowRank` whose decision sets may depend on what has happened; `sets` is one of `SETS`."""

    sets: str = "drawn"

    def __post_init__(self) -> None:
        """Refuse unknown decision sets."""
        super().__post_init__()
        one_of(self.sets, "sets", SETS)

    def instance(self, seed: int) -> Any:
        """Draw the problem that belongs to a seed."""
        return AdaptiveInstance(self.sets, super().instance(seed))


class AdaptiveInstance(WrappedInstance):
    """One drawn problem of `AdaptiveSets`.

    The monitor sets `estimate` (d,), the policy's current estimate, and `sold_out`, the row that the last reward sold
    out.
    """

    def __init__(self, sets: str, model: LowRankInstance) -> None:
        super().__init__(model)
        self.sets = sets
        self.estimate: Array | None = None
        self.sold_out: int | None = None
        self._standing: Array | None = None

    def rounds(self) -> Iterator[Round]:
        """Start the stream from its first round; it never ends."""
        self._standing = None
        for fresh in self.model.rounds():
            actions = self.actions(fresh.actions)
            yield Round(actions, actions @ self.model.theta, fresh.noise, fresh.outcomes)

    def actions(self, fresh: Array) -> Array:
        """Return the next decision set, a function of fresh vectors and of what has happened."""
        if self.sets == "drawn":
            return fresh
        if self.sets == "withdrawn":
            if self._standing is None:
                self._standing = fresh.copy()
            elif self.sold_out is not None:
                self._standing[self.sold_out] = fresh[self.sold_out]
            return self._standing.copy()
        theta = self.model.theta
        estimate = self.estimate if self.estimate is not None else np.zeros_like(theta)
        pull = estimate if self.sets == "neighbors" else estimate - theta
        length = float(np.linalg.norm(pull))
        if length == 0.0:
            return fresh
        norms = np.linalg.norm(fresh, axis=1, keepdims=True)
        return np.asarray((fresh + norms * pull / length) / math.sqrt(2.0))


class CertifiedMonitor:
    """A policy on a certified set that knows the truth and compares it with the set in every round."""

    def __init__(self, delta: float = 0.05, seed: int | None = None) -> None:
        self.delta = probability(delta, "delta")
        self.seed = seed
        self.nearest = dict.fromkeys(MEASURED, 0.0)
        self.refuted = False

    def reveal(self, instance: AdaptiveInstance) -> None:
        """Read the truth, and set up the policy."""
        self.instance = instance
        known = {"noise": instance.noise, "theta_bound": instance.theta_bound, "delta": self.delta}
        self.policy = EigenUCB(certified=True, **known, center="none", seed=self.seed)
        assert isinstance(self.policy.belief, Screened)
        self.belief = self.policy.belief.proved
        self.noise_squares = 0.0

    def choose(self, actions: Array) -> Decision:
        """Compare the set with the truth at the time of the choice."""
        decision = self.policy.choose(actions)
        frame = self.policy.subspace.current()
        assert frame is not None
        self._compare(subspace_distance(frame.leading.directions, self.instance.basis))
        return decision

    def learn(self, decision: Decision, reward: float) -> None:
        """Learn, and let the next decision set know."""
        self.policy.learn(decision, reward)
        self.noise_squares += (reward - float(decision.action @ self.instance.theta)) ** 2
        self.instance.sold_out = decision.index if reward > decision.estimate else None
        self.instance.estimate = self.belief.structured.center

    def diagnostics(self) -> dict[str, float]:
        """Return the largest truth/bound of squares of each measured set, and whether the subspace was dropped."""
        return {f"nearest:{name}": value for name, value in self.nearest.items()} | {"refuted": float(self.refuted)}

    def _compare(self, distance: float) -> None:
        """Compare the truth with the set; by the identity of the proof ‖θ* − θ̂‖²_Z needs no matrix."""
        belief, theta, noise = self.belief, self.instance.theta, self.noise_squares
        self._note("rho", noise, belief.level())
        estimated, true = belief.squares(), belief.squares(distance)
        inside, everywhere = belief.ridges
        assert inside.span is not None
        caught = float(np.sum((theta @ inside.span) ** 2))
        energy = float(theta @ theta)
        truth = noise + inside.inside * caught + inside.outside * (energy - caught) - inside.residual
        self._note("subspace, true ε", truth, true[0])
        self._note("subspace, estimated ε", truth, estimated[0])
        if len(belief.radii()) == 2:
            self._note("subspace, deciding", truth, estimated[0])
        self._note("whole", noise + everywhere.outside * energy - everywhere.residual, estimated[1])
        self.refuted |= estimated[0] < 0.0

    def _note(self, name: str, truth: float, bound: float) -> None:
        self.nearest[name] = max(self.nearest[name], truth / bound if bound > 0.0 else math.inf)


def experiment(
    environment: LowRank, rounds: int = 1000, seeds: int = 500, delta: float = 0.05, first_seed: int = 1000
) -> Experiment:
    """Return the experiment whose results `summarize` reads: the certified set on decision sets of every kind."""
    CertifiedMonitor(delta)  # refuses a bad δ
    return Experiment(
        name="coverage-certified",
        policies={"certified": entry(CertifiedMonitor, delta=delta)},
        environments={sets: AdaptiveSets(**asdict(environment), sets=sets) for sets in SETS},
        seeds=range(first_seed, first_seed + seeds),
        rounds=rounds,
        record=Record(points=1, accuracy=0),
        description="How often θ* ever leaves the certified set.",
    )


def summarize(results: Results, delta: float) -> list[dict[str, Any]]:
    """Return one row for each kind of decision sets and each of `MEASURED`: how often the truth left the set.

    With the estimated ε nothing is proved, and nothing is promised.
    """
    rows = []
    for e, sets in enumerate(results.environments):
        for name in MEASURED:
            nearest = results.final(f"nearest:{name}")[0, e]
            rows.append(
                {"sets": sets, "set": name}
                | departures(nearest, None if name in ASSUMED else delta)
                | {
                    "nearest": float(np.median(nearest)),
                    "refuted": float(results.final("refuted")[0, e].mean()),
                    "regret": float(results.final("regret")[0, e].mean()),
                }
            )
    return rows


def report(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows of `summarize` as text, with what the columns mean and whether every set held."""
    headers = ["sets", "set", "left", "share", "allowed", "limit", "nearest", "refuted", "regret"]
    cells = [
        [
            *(row["sets"], row["set"], f"{row['left']} of {row['runs']}", percent(row["share"])),
            *("–" if row[name] is None else percent(row[name]) for name in ("allowed", "limit")),
            *(f"{row['nearest']:.3f}", percent(row["refuted"]), f"{row['regret']:.1f}"),
        ]
        for row in rows
    ]
    return "\n".join((aligned(headers, cells), "", LEGEND, verdict(rows, ("set", "sets"))))
