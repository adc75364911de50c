"""Policies side by side on the same seeds: regret with its bands, the share of reward earned, and the time it took."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np

from eigenbandits.environments import Digits, LowRank, Round
from eigenbandits.lab.errors import unknown
from eigenbandits.lab.experiments import Experiment, Record, Results
from eigenbandits.lab.reporting.tables import aligned, bootstrap_band, percent, standard_error
from eigenbandits.lab.studies.wrapped import WrappedInstance

RIDGE_OFUL = "eigenbandits.lab.studies.baselines:RidgeOFUL"


class MeasuredInstance(WrappedInstance):
    """An instance that also measures its rounds: the best possible reward, and the time of one pass over each set.

    The pass ``actions @ theta`` is the least that any policy can take that looks at all its actions.
    """

    def rounds(self) -> Iterator[Round]:
        """Start the stream from its first round."""
        theta = self.model.theta
        # A policy that looks at the problem first (`reveal`) starts a stream of its own.
        self._best, self._passes = 0.0, list[float]()
        for offered in self.model.rounds():
            start = perf_counter()
            _ = offered.actions @ theta
            self._passes.append(perf_counter() - start)
            self._best += offered.best
            yield offered

    def diagnostics(self) -> dict[str, float]:
        """Return the best possible reward so far, and the median time of a pass."""
        return {"best": self._best, "seconds_pass": float(np.median(self._passes))}


@dataclass(frozen=True)
class MeasuredLowRank(LowRank):
    """`LowRank` with measured rounds; see `MeasuredInstance`."""

    def instance(self, seed: int) -> Any:
        """Draw the problem that belongs to a seed."""
        return MeasuredInstance(super().instance(seed))


@dataclass(frozen=True)
class MeasuredDigits(Digits):
    """`Digits` with measured rounds; see `MeasuredInstance`."""

    rank = 1
    """One dimension is enough, as in the paper."""

    def instance(self, seed: int) -> Any:
        """Put the images in the order of a seed."""
        return MeasuredInstance(super().instance(seed))


def policies(dim: int) -> dict[str, Mapping[str, Any]]:
    """Return EigenUCB, PSLB in its forms and every baseline; "$noise" and the like are read from the environment."""
    noise = {"noise": "$noise"}
    paper = noise | {
        "kind": "PSLB",
        "rank": "$rank",
        "projection_error": "theorem",
        "structure": "$structure",
        "action_bound": "$action_bound",
        "theta_bound": "$theta_bound",
        "ambient_radius": "paper",
    }
    return {
        "EigenUCB": {},
        "EigenTS": {"samples": 1},
        "PSLB": noise,
        "PSLB, rank known": noise | {"kind": "PSLB", "rank": "$rank"},
        "PSLB, paper, general": paper | {"radius": "general"},
        "PSLB, paper, worst case": paper | {"radius": "worst-case"},
        "OFUL": noise,
        "OFUL, tuned": noise | {"kind": RIDGE_OFUL},
        "OFUL, paper": noise | {"kind": "OFUL", "radius": "paper", "rank": "$rank", "action_bound": "$action_bound"},
        "LinUCB": {},
        "LinTS": noise,
        "ProjectedThompson": noise,
        "SOFUL": noise,
        "CBSCFD": noise,
        "CBRAP": noise | {"rank": min(20, dim)},
        "Greedy": {},
        "EpsilonGreedy": {},
        "Random": {},
    }


def experiment(
    environment: LowRank, rounds: int, seeds: int, only: Collection[str] = (), first_seed: int = 1000
) -> Experiment:
    """Return the experiment whose results `rows` and `regret_table` read; `only` names the policies to run, if not all.

    Examples
    --------
    >>> list(experiment(LowRank(dim=8, rank=2, arms=5), rounds=50, seeds=2, only=["Random", "EigenUCB"]).policies)
    ['EigenUCB', 'Random']
    """
    known = policies(environment.dim)
    for name in only:
        if name not in known:
            raise unknown("policy", name, known)
    return Experiment(
        name="compare",
        policies={name: spec for name, spec in known.items() if not only or name in only},
        environments={"model": MeasuredLowRank(**asdict(environment))},
        seeds=range(first_seed, first_seed + seeds),
        rounds=rounds,
        record=Record(accuracy=0),
        description=f"EigenUCB and PSLB in its forms compared with every baseline on {environment.name}.",
    )


def rows(results: Results, environment: str) -> list[dict[str, Any]]:
    """Return one row for each policy: regret with its standard error and 95 % bootstrap band, share, time, rank.

    `share` is the expected reward earned as a share of the best possible, `time` the mean time of a round as a multiple
    of one pass over the decision set, and `rank` the rank in use at the end, the median over seeds.
    """
    place = results.environments.index(environment)
    regret, best, total, passes = (
        results.final(column)[:, place] for column in ("regret", "best", "seconds", "seconds_pass")
    )
    ranks = results.final("rank")[:, place] if results.has("rank", environment) else np.full(regret.shape, np.nan)
    seconds = total / results.about["settings"]["rounds"]
    found: list[dict[str, Any]] = []
    for p, policy in enumerate(results.policies):
        low, high = bootstrap_band(regret[p])
        known = ranks[p][np.isfinite(ranks[p])]
        found.append(
            {
                "policy": policy,
                "seeds": len(results.seeds),
                "regret": float(regret[p].mean()),
                "standard_error": standard_error(regret[p]),
                "band_low": float(low),
                "band_high": float(high),
                "share": float(np.mean(1.0 - regret[p] / best[p])) if (best[p] > 0.0).all() else float("nan"),
                "time": float(np.median(seconds[p] / passes[p])),
                "microseconds": float(np.median(seconds[p])) * 1e6,
                "rank": float(np.median(known)) if len(known) else None,
            }
        )
    return found


def regret_table(rows: Sequence[Mapping[str, Any]], band: bool = True) -> str:
    """Return rows as text, with or without the bootstrap band."""
    headers = [
        "policy",
        "regret",
        "± s.e.",
        *(["95 % band"] if band else []),
        "share of best",
        "time per round",
        "passes",
    ]
    cells = []
    for row in rows:
        between = [f"{row['band_low']:.1f} to {row['band_high']:.1f}"] if band else []
        error = f"± {row['standard_error']:.1f}" if np.isfinite(row["standard_error"]) else "–"
        cells.append(
            [
                *(row["policy"], f"{row['regret']:.1f}", error, *between, percent(row["share"])),
                *(f"{row['microseconds']:,.0f} µs", f"{row['time']:,.0f} ×"),
            ]
        )
    return aligned(headers, cells)
