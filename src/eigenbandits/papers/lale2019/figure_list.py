"""The list of figures: what each shows and needs, how much of it has been run, and how long it takes."""

from os import PathLike
from pathlib import Path

from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments.progress import clock
from eigenbandits.lab.reporting.tables import aligned
from eigenbandits.papers.lale2019.policies import line_up
from eigenbandits.papers.lale2019.settings import Block, length, paper_figures, settings
from eigenbandits.papers.lale2019.study import Study, features_file, studies


def listing(out: Path, scale: str, cache: str | PathLike[str] | None = None) -> str:
    """Return the figures as a table, and below it the missing features."""
    rows: list[list[str]] = []
    missing: dict[str, str] = {}
    for figure in paper_figures().values():
        blocks = figure.chosen(None)
        needed = [Study(block, group, scale) for block in blocks for group in figure.groups]
        rows.append([f"{figure.name:11}  {figure.title}", str(figure.panels), *_state(needed, out)])
        missing |= {block.name: why for block in blocks if (why := _missing(block, cache))}
    rows.append(
        ["strong       all policies on every block, with and without a ReLU", "1", *_state(studies(scale), out)]
    )
    about = settings()["sensitivity"]
    rows.append([f"sensitivity  one constant at a time, {about['block'][scale]}", "4", "", "minutes"])
    lines = [
        "Lale, Azizzadenesheli, Anandkumar, Hassibi. Stochastic Linear Bandits with Hidden Low Rank Structure. 2019.",
        f"Figures at --scale {scale}, without a ReLU unless --layer relu is given; results in {out}.",
        "",
        aligned(["figure", "panels", "cells done", "time on one core"], rows),
    ]
    if missing:
        lines += ["", "Missing features:", *(f"  {name}: {why}" for name, why in missing.items())]
    return "\n".join(lines)


def _missing(block: Block, cache: str | PathLike[str] | None) -> str:
    if block.dataset == "digits":
        return ""
    try:
        features_file(block, cache)
    except LabError as error:
        return str(error)
    return ""


def _state(chosen: list[Study], out: Path) -> list[str]:
    """Return how many cells are done, and how long all of them take."""
    done, cells = sum(study.done(out) for study in chosen), sum(study.cells() for study in chosen)
    return [f"{done} of {cells}", clock(sum(map(seconds, chosen)))]


def seconds(study: Study) -> float:
    """Return roughly how long a study takes on one core, from measured times (settings.toml)."""
    asked, speed = length(study.block, study.scale, study.group), settings()["microseconds"]
    each: float = speed[study.block.dataset if study.block.dataset == "imagenet" else str(study.block.dim)]
    return 1e-6 * each * asked.rounds * asked.seeds * len(line_up(study.block, study.group))
