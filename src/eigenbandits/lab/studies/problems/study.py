"""The study on real problems: its experiment, and the files that it writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eigenbandits.files import write_whole
from eigenbandits.lab.experiments import Experiment, Record
from eigenbandits.lab.reporting.renderer import to_bytes
from eigenbandits.lab.reporting.tables import write_csv
from eigenbandits.lab.studies.candidates import Candidate
from eigenbandits.lab.studies.problems.figures import ratios
from eigenbandits.lab.studies.problems.table import RegretTable

# Points of a regret curve: the table needs only the last.
_POINTS = 100


def experiment(
    candidates: Mapping[str, Candidate], environments: Mapping[str, Any], seeds: int, rounds: int, first_seed: int = 0
) -> Experiment:
    """Return the experiment whose results `RegretTable` reads."""
    return Experiment(
        name="problems",
        policies={label: candidate.policy for label, candidate in candidates.items()},
        environments=environments,
        seeds=range(first_seed, first_seed + seeds),
        rounds=rounds,
        record=Record(points=min(rounds, _POINTS), diagnostics=False, accuracy=0),
        description="Real decision problems: our policies and those of others at their defaults on the same rounds.",
    )


def write(table: RegretTable, out: Path, candidates: Mapping[str, Candidate], skipped: Mapping[str, str]) -> list[Path]:
    """Write the tables and the figure, and return their paths."""
    described = {label: candidate.description for label, candidate in candidates.items()}
    sections = {"Real decision problems": table.markdown(), "Policies": _listed(described)}
    if skipped:
        sections["Skipped"] = _listed(skipped)
    paths = [out / name for name in ("problems.md", "problems.csv", "standings.csv", "ratios.png")]
    write_whole(paths[0], "\n".join(f"## {title}\n\n{text}\n" for title, text in sections.items()).encode())
    write_csv(paths[1], table.rows())
    write_csv(paths[2], [asdict(standing) for standing in table.standings()])
    write_whole(paths[3], to_bytes(ratios(table), "png"))
    return paths


def by_reason(skipped: Mapping[str, str]) -> dict[str, str]:
    """Return why some are skipped, grouping those that share a reason.

    Examples
    --------
    >>> by_reason({"a": "no file.", "b": "no file."})
    {'a, b': 'no file.'}
    """
    names: dict[str, list[str]] = {}
    for name, reason in skipped.items():
        names.setdefault(reason, []).append(name)
    return {", ".join(together): reason for reason, together in names.items()}


def _listed(entries: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {text}" for name, text in entries.items())
