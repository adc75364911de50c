"""`eigenbandits coverage`: how often the truth leaves the confidence sets, beside what is granted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from eigenbandits import theory
from eigenbandits.cli import certified as certified_study
from eigenbandits.cli import options
from eigenbandits.cli.progress import progress
from eigenbandits.cli.report import folder
from eigenbandits.environments import LowRank
from eigenbandits.files import write_whole
from eigenbandits.lab.coverage import Settings, Sighting, cover, exceeded, summarise
from eigenbandits.lab.tables import aligned, percent, write_csv
from eigenbandits.subspace.error import SAFETY

_FACTORS = (1.0, 1.05, 1.1, 1.15, 1.25, 1.5, 2.0)


class Player(StrEnum):
    """Whose choices make the data."""

    PSLB = "PSLB"
    OFUL = "OFUL"
    Random = "Random"


class Refresh(StrEnum):
    """How often the subspace is found anew."""

    lazy = "lazy"
    every_round = "every-round"


class KnownRank(StrEnum):
    """Which rank the sets use."""

    told = "told"
    auto = "auto"


def command(
    rounds: options.Rounds = 1000,
    seeds: options.Seeds = 200,
    delta: Annotated[float, typer.Option(help="δ, the probability of failure granted to each bound.")] = 0.05,
    play: Annotated[Player, typer.Option(help="Whose choices make the data.")] = Player.PSLB,
    refresh: Annotated[Refresh, typer.Option(help="How often the subspace is found anew.")] = Refresh.lazy,
    use_rank: Annotated[KnownRank, typer.Option(help="The rank that the sets use: the true one, or found.")] = (
        KnownRank.told
    ),
    dim: options.Dim = 100,
    rank: options.Rank = 4,
    arms: options.Arms = 10,
    perturbation: options.Perturbation = 9.0,
    spread: options.Spread = 1.0,
    noise: options.Noise = 0.5,
    vectors: options.Kind = options.Vectors.sphere,
    certified: Annotated[
        bool, typer.Option("--certified", help="Watch the certified set, also where decision sets follow the rewards.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for coverage.csv and coverage.json.", show_default="none")
    ] = None,
    workers: options.Workers = options.PROCESSORS,
) -> None:
    """Count the runs in which θ* or the subspace leaves a confidence set at any round, and how loose the sets are."""
    with options.refusals():
        environment = LowRank(
            *(dim, rank, arms),
            perturbation=perturbation,
            spread=spread,
            noise=noise,
            vectors=vectors.value,
        )
        settings = Settings(environment, rounds, seeds, delta, play.value, refresh.value, use_rank.value)
    if out is not None:
        folder(out)
    if certified:
        certified_study.report(environment, rounds, seeds, delta, out, workers)
        return
    typer.echo(
        f"{environment.name}, {seeds} runs of {rounds:,} rounds, δ = {delta:g}, choices by {play.value}, "
        f"subspace found {refresh.value}, rank {use_rank.value}\n"
    )
    with progress("Watching") as tell:
        sightings = cover(settings, workers, tell)
    rows = summarise(sightings, delta)
    typer.echo(_report(settings, sightings, rows))
    if out is not None:
        write_csv(out / "coverage.csv", rows)
        content = {"settings": asdict(settings), "sets": rows, "safety": [seen.safety for seen in sightings]}
        write_whole(out / "coverage.json", json.dumps(content, indent=1).encode())
        typer.echo(f"Left behind: {out / 'coverage.csv'} and {out / 'coverage.json'}")


def _report(settings: Settings, sightings: Sequence[Sighting], rows: Sequence[Mapping[str, Any]]) -> str:
    plain = [row for row in rows if not row["anytime"]]
    spent = [row for row in rows if row["anytime"]]
    factors = ", ".join(f"{factor:g}: {percent(exceeded(sightings, factor))}" for factor in _FACTORS)
    return "\n".join(
        (
            "",
            _table(plain),
            "",
            "With δ spent over the rounds (anytime=True):",
            _table(spent),
            "",
            "left: runs in which the truth was outside at any round; limit: granted plus three standard errors.",
            "loose: median of bound/truth in the last round; nearest: largest truth/bound over all runs and rounds",
            "(for C_p over those with ε below 1).",
            "C_d: OFUL's set; C_p: the subspace; C_m: the paper's projected set.",
            "The estimated ε is not proved; what is granted there is the aim.",
            "theorem, estimated: where the bound ε on the projection error ‖P̂ − P‖ is from; C_d needs none.",
            _opening(settings, sightings),
            f"Runs in which the true projection error exceeds the estimated ε with a factor of {factors} "
            f"(in use: {SAFETY:g}).",
            _verdict(rows),
        )
    )


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Put what differs only by where ε is from side by side."""
    pairs: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        pairs.setdefault((row["set"], row["radius"]), {})[row["error"]] = row
    sources = ("theorem", "estimated")
    headers = ["set", "granted", "limit"]
    headers += [f"{what}\n{source}" for what in ("left", "loose", "nearest") for source in sources]
    cells = []
    for (name, radius), found in pairs.items():
        some = next(iter(found.values()))
        # A set without ε has one number for both.
        sides = [found.get(source, found.get("none")) for source in sources]
        cells.append(
            [f"{name} {radius}".strip(), percent(some["granted"]), percent(some["limit"])]
            + [percent(side["share"]) if side else "–" for side in sides]
            + [f"{side['bound_over_truth']:.2f}" if side and side["bound_over_truth"] else "–" for side in sides]
            + [f"{side['nearest']:.3f}" if side and side["nearest"] else "–" for side in sides]
        )
    return aligned(headers, cells)


def _opening(settings: Settings, sightings: Sequence[Sighting]) -> str:
    """Say from when on ε is below 1, so that a bound that never says anything is not taken for a good one."""
    instance = settings.environment.instance(0)
    sentences = []
    for source in ("estimated",) if instance.structure is None else ("theorem", "estimated"):
        opened = [seen.opened[source] for seen in sightings if source in seen.opened]
        when = f" (median round {np.median(opened):,.0f})" if opened else ""
        sentences.append(f"ε {source} fell below 1 in {len(opened)} of {len(sightings)} runs{when}")
    if instance.structure is not None:
        env = settings.environment
        warm_up = theory.t_w(instance.structure, arms=env.arms, dim=env.dim, rank=env.rank, delta=settings.delta)
        sentences.append(f"the paper's warm-up is t_w = {warm_up:,.0f} rounds")
    return "; ".join(sentences) + "."


def _verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    bad = [row for row in rows if row["holds"] is False]
    if not bad:
        return "No set was left more often than granted plus three standard errors."
    names = ", ".join(
        " ".join(filter(None, (row["set"], row["radius"], row["error"], "anytime" if row["anytime"] else "")))
        for row in bad
    )
    return f"Left more often than granted plus three standard errors: {names}."
