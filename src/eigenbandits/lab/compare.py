"""Policies side by side on the same seeds: regret with its bands, the share of reward earned, and the time it took."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, cast

import numpy as np

from eigenbandits.algorithms import (
    CBRAP,
    CBSCFD,
    OFUL,
    PSLB,
    SOFUL,
    EigenTS,
    EigenUCB,
    EpsilonGreedy,
    Greedy,
    LinTS,
    LinUCB,
    ProjectedThompson,
    Random,
)
from eigenbandits.environments import Environment, Instance, Round
from eigenbandits.inputs import Array, whole
from eigenbandits.lab.jobs import Progress, spread
from eigenbandits.lab.robustness.players import RidgeOFUL
from eigenbandits.lab.run import Learner, flat, run
from eigenbandits.lab.tables import aligned, bootstrap_band, percent, standard_error

LineUp = Callable[[Instance, int], Mapping[str, Callable[[], Learner]]]


@dataclass(frozen=True, eq=False)
class Play:
    """What one policy did on one seed.

    Attributes
    ----------
    policy, seed
        Who, and where.
    regret
        Cumulative regret (T,).
    share
        The expected reward earned, as a share of the best possible.
    seconds
        Mean time of a round, choosing and learning.
    pass_seconds
        Median time of one product ``actions @ theta`` on the same decision sets, in the same run: the least that any
        policy can take that looks at what it is offered.
    rank
        The rank in use at the end, where the policy has one.
    """

    policy: str
    seed: int
    regret: Array
    share: float
    seconds: float
    pass_seconds: float
    rank: int | None = None


def paper_line_up(instance: Instance, seed: int) -> dict[str, Callable[[], Learner]]:
    """Return EigenUCB, PSLB as it is, told the rank and with the paper's constants, and all that they are judged by."""
    rank, noise = instance.basis.shape[1], instance.noise
    known: dict[str, Any] = {"noise": noise, "seed": seed}
    paper: dict[str, Any] = known | {
        "rank": rank,
        "projection_error": "theorem",
        "structure": instance.structure,
        "action_bound": instance.action_bound,
        "theta_bound": instance.theta_bound,
        "ambient_radius": "paper",
    }
    return {
        "EigenUCB": lambda: EigenUCB(seed=seed),
        "EigenTS": lambda: EigenTS(seed=seed, propensity_draws=0),
        "PSLB": lambda: PSLB(**known),
        "PSLB, rank told": lambda: PSLB(**known, rank=rank),
        "PSLB, paper, general": lambda: PSLB(**paper, radius="general"),
        "PSLB, paper, worst case": lambda: PSLB(**paper, radius="worst-case"),
        "OFUL": lambda: OFUL(**known),
        "OFUL, tuned": lambda: RidgeOFUL(**known),
        "OFUL, paper": lambda: OFUL(**known, radius="paper", rank=rank, action_bound=instance.action_bound),
        "LinUCB": lambda: LinUCB(seed=seed),
        "LinTS": lambda: LinTS(**known),
        "ProjectedThompson": lambda: ProjectedThompson(**known),
        "SOFUL": lambda: SOFUL(**known),
        "CBSCFD": lambda: CBSCFD(**known),
        "CBRAP": lambda: CBRAP(**known, rank=min(20, len(instance.theta))),
        "Greedy": lambda: Greedy(seed=seed),
        "EpsilonGreedy": lambda: EpsilonGreedy(seed=seed),
        "Random": lambda: Random(seed=seed),
    }


def compare(
    environment: Environment,
    rounds: int,
    seeds: int,
    line_up: LineUp = paper_line_up,
    only: Collection[str] = (),
    workers: int = 1,
    progress: Progress | None = None,
    first_seed: int = 0,
) -> dict[str, list[Play]]:
    """Play every policy of a line-up on the same seeds.

    Parameters
    ----------
    environment
        Where they play.
    rounds, seeds
        How long, and how often.
    line_up
        Given an instance and a seed, it returns for each name what makes that policy. With more than one worker it
        must be defined at the top of a module.
    only
        The names to play; none means all.
    workers, progress
        As for `jobs.spread`.
    first_seed
        The seeds are this one and those after it.

    Returns
    -------
    dict
        For each name its plays, in the order of the seeds.

    Examples
    --------
    >>> from eigenbandits.environments import LowRank
    >>> found = compare(LowRank(dim=8, rank=2, arms=5), rounds=50, seeds=2, only=["EigenUCB", "Random"])
    >>> [(name, [play.seed for play in plays]) for name, plays in found.items()]
    [('EigenUCB', [0, 1]), ('Random', [0, 1])]
    """
    chosen = pick(environment, only, line_up)
    # Seed by seed, so that slow and quick policies take turns and the bar moves evenly.
    first, rounds = whole(first_seed, "first_seed", least=0), whole(rounds, "rounds")
    played = range(first, first + whole(seeds, "seeds"))
    jobs = [_Job(environment, line_up, name, rounds, seed) for seed in played for name in chosen]
    plays = spread(_play, jobs, workers, progress)
    return {name: plays[column :: len(chosen)] for column, name in enumerate(chosen)}


def pick(environment: Environment, only: Collection[str] = (), line_up: LineUp = paper_line_up) -> list[str]:
    """Return the names of a line-up in its order: all, or those asked for, which must be there."""
    names = list(line_up(environment.instance(0), 0))
    for name in only:
        if name not in names:
            raise ValueError(f"{name!r} is not in the line-up; expected one of {', '.join(map(repr, names))}.")
    return [name for name in names if not only or name in only]


@dataclass(frozen=True)
class _Job:
    environment: Environment
    line_up: LineUp
    name: str
    rounds: int
    seed: int


def _play(job: _Job) -> Play:
    instance = job.environment.instance(job.seed)
    watched = _Watched(instance)
    policy = job.line_up(instance, job.seed)[job.name]()
    trace = run(policy, cast(Instance, watched), job.rounds, job.seed)
    diagnose = getattr(policy, "diagnostics", None)
    return Play(
        policy=job.name,
        seed=job.seed,
        regret=trace.regret,
        share=1.0 - float(trace.regret[-1]) / watched.best if watched.best > 0.0 else float("nan"),
        seconds=float(trace.seconds.mean()),
        pass_seconds=float(np.median(watched.passes)),
        rank=None if diagnose is None else flat(diagnose()).get("rank"),
    )


class _Watched:
    """An instance that sums up the best possible reward of its rounds and times one pass over each of them."""

    def __init__(self, inner: Instance) -> None:
        self.inner = inner
        self.best = 0.0
        self.passes: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def rounds(self) -> Iterator[Round]:
        theta = self.inner.theta
        # A policy that looks at the problem first (`reveal`) starts a stream of its own.
        self.best, self.passes = 0.0, []
        for offered in self.inner.rounds():
            start = perf_counter()
            _ = offered.actions @ theta
            self.passes.append(perf_counter() - start)
            self.best += offered.best
            yield offered


def summarize(plays: Mapping[str, Sequence[Play]]) -> list[dict[str, Any]]:
    """Return one row for each policy: regret with its standard error and 95 % bootstrap band, share, time, rank.

    `time` is the mean time of a round as a multiple of one pass over the decision set; `rank` is the median over seeds.
    """
    rows: list[dict[str, Any]] = []
    for name, played in plays.items():
        final = np.array([play.regret[-1] for play in played])
        low, high = bootstrap_band(final)
        ranks = [play.rank for play in played if play.rank is not None]
        rows.append(
            {
                "policy": name,
                "seeds": len(played),
                "regret": float(final.mean()),
                "standard_error": standard_error(final),
                "band_low": float(low),
                "band_high": float(high),
                "share": float(np.mean([play.share for play in played])),
                "time": float(np.median([play.seconds / play.pass_seconds for play in played])),
                "microseconds": float(np.median([play.seconds for play in played])) * 1e6,
                "rank": float(np.median(ranks)) if ranks else None,
            }
        )
    return rows


def regret_table(rows: Sequence[Mapping[str, Any]], band: bool = True) -> str:
    """Return the rows of `summarize` as text, with or without the bootstrap band."""
    headers = ["policy", "regret", "± s.e.", *(["95 % band"] if band else []), "share of best", "time per round"]
    cells = []
    for row in rows:
        between = [f"{row['band_low']:.1f} to {row['band_high']:.1f}"] if band else []
        error = f"± {row['standard_error']:.1f}" if np.isfinite(row["standard_error"]) else "–"
        cells.append(
            [row["policy"], f"{row['regret']:.1f}", error, *between, percent(row["share"]), f"{row['time']:,.0f} ×"]
        )
    return aligned(headers, cells)
