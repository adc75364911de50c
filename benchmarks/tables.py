"""Results as tables that a person can read."""

from __future__ import annotations

import json
import os
import platform
from collections import defaultdict
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import HERE
from benchmarks.methods import METHODS

Row = dict[str, Any]
_HEADS = (
    *("method", "clock median", "90 %", "processor median", "mean"),
    *("× floor cold", "warm", "× V", "memory MB", "regret", "rounds"),
)


def one_line(row: Row) -> str:
    """Return a line for the terminal while a run goes on."""
    place = f"({row['dim']}, {row['arms']}) {row['threads']} thread{'s' if row['threads'] > 1 else ''}"
    if "failed" in row:
        return f"{place:22} {row['method']:22} failed: {row['failed']}"
    times = (row[name] * 1e3 for name in ("median", "p90", "processor_median", "processor_mean"))
    shown = "clock {:.4f}, 90 % {:.4f}, processor {:.4f}, mean {:.4f} ms".format(*times)
    return f"{place:22} {row['method']:22} {shown}; {row['rounds']} rounds, regret {row['regret']:.2f}"


def combine(rows: list[Row]) -> list[Row]:
    """Return one row for each method, size and number of threads: the median over its repeats, number by number."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["method"], row["dim"], row["arms"], row["threads"]].append(row)
    return [_median_row(group) for group in groups.values()]


def _median_row(group: list[Row]) -> Row:
    good = [row for row in group if "failed" not in row]
    if not good:
        return group[0]
    merged = dict(good[0])
    for name in ("median", "p90", "mean", "processor_median", "processor_mean", "memory", "regret"):
        merged[name] = float(np.median([row[name] for row in good]))
    merged["floor"] = {key: float(np.median([row["floor"][key] for row in good])) for key in good[0]["floor"]}
    # With one thread the processor's time is what the clock would show on an idle machine; with more it is their sum.
    key = "processor_median" if merged["threads"] == 1 else "median"
    merged["time"] = merged[key]
    for name, floor in (("times_cold", "theta_cold"), ("times_warm", "theta_warm"), ("times_basis", "basis_cold")):
        # Each child's time over the floor of that same child: a busy machine slows both.
        merged[name] = float(np.median([row[key] / row["floor"][floor] for row in good]))
    merged["rounds"] = min(row["rounds"] for row in good)
    return merged


def summary(rows: list[Row], machine: str) -> str:
    """Return the comparison in brief: for each number of threads one table, methods by sizes."""
    merged = combine(rows)
    parts = [
        machine,
        "",
        "Each cell: ms per round of choose + learn (median), as a multiple of one cold pass `actions @ theta`, and the "
        "regret; after a smaller number of rounds than the others where the rounds are given.",
    ]
    sizes = list(dict.fromkeys((row["dim"], row["arms"]) for row in merged))
    for threads in dict.fromkeys(row["threads"] for row in merged):
        found = {(row["method"], row["dim"], row["arms"]): row for row in merged if row["threads"] == threads}
        heads = [f"d = {dim:,}, K = {arms:,}" for dim, arms in sizes]
        parts += ["", f"{threads} BLAS thread{'s' if threads > 1 else ''}:", ""]
        parts += [f"| | {' | '.join(heads)} |", "|---" + len(heads) * "|---" + "|"]
        parts.append(f"| one pass `actions @ theta`, cold / warm | {' | '.join(_floors(found, sizes, 'theta'))} |")
        parts.append(f"| one product `actions @ V`, cold / warm | {' | '.join(_floors(found, sizes, 'basis'))} |")
        for name in dict.fromkeys(row["method"] for row in merged):
            shown = [_brief(found.get((name, *size))) for size in sizes]
            parts.append(f"| {_label(name)} | {' | '.join(shown)} |")
    return "\n".join([*parts, ""])


def _label(name: str) -> str:
    entry = METHODS[name]
    return f"**{entry.label}**" if entry.group == "ours" else entry.label


def _floors(found: dict[tuple[Any, ...], Row], sizes: list[tuple[int, int]], kind: str) -> list[str]:
    shown = []
    for size in sizes:
        here = [row["floor"] for key, row in found.items() if key[1:] == size and "failed" not in row]
        both = (float(np.median([floor[f"{kind}_{state}"] for floor in here])) * 1e3 for state in ("cold", "warm"))
        shown.append(" / ".join(number(value) for value in both) if here else "–")
    return shown


def _brief(row: Row | None) -> str:
    if row is None:
        return "–"
    if "failed" in row:
        return str(row["failed"])
    rounds = f" after {row['rounds']}" if row["rounds"] < row["asked"] else ""
    return f"{number(row['time'] * 1e3)}, {number(row['times_cold'])}×, {number(row['regret'])}{rounds}"


def side_by_side(rows: list[Row], machine: str) -> str:
    """Return the comparison as one Markdown table for each size and number of threads."""
    merged = combine(rows)
    parts = [machine, "", _legend()]
    for dim, arms, threads in dict.fromkeys((row["dim"], row["arms"], row["threads"]) for row in merged):
        these = [row for row in merged if (row["dim"], row["arms"], row["threads"]) == (dim, arms, threads)]
        parts += ["", f"### d = {dim}, K = {arms}, {threads} BLAS thread{'s' if threads > 1 else ''}", ""]
        parts += _one_size(these)
    parts += ["", "### About the methods", "", *_notes(merged), ""]
    return "\n".join(parts)


def _legend() -> str:
    return (
        "Times are ms per round of choose + learn, after the first fifth of the rounds. Clock: median and 90 % "
        "quantile by the wall clock, which other programs lengthen. Processor: median and mean of the process's own "
        "processor time; the mean holds the rare expensive rounds too. × floor: the processor's median (with two "
        "threads the clock's) over the time of `actions @ theta` on a fresh decision set (cold) and on one in cache "
        "(warm); × V: over `actions @ V` with m = 4 columns on a fresh set; each floor is measured in the same "
        "process, between the method's rounds. Memory: the peak above that of the process with its libraries and data "
        "loaded. Regret: the sum over the rounds; a cell ends early when its seconds are used up, and then regrets do "
        "not compare."
    )


def _one_size(rows: list[Row]) -> list[str]:
    good = [row for row in rows if "failed" not in row]
    lines = []
    if good:
        floor = {key: float(np.median([row["floor"][key] for row in good])) * 1e3 for key in good[0]["floor"]}
        lines.append(
            f"Floor, ms: `actions @ theta` {number(floor['theta_cold'])} cold, {number(floor['theta_warm'])} warm; "
            f"`actions @ V` {number(floor['basis_cold'])} cold, {number(floor['basis_warm'])} warm."
        )
        lines.append("")
    lines.append(f"| {' | '.join(_HEADS)} |")
    lines.append("|---" + (len(_HEADS) - 1) * "|---:" + "|")
    for row in rows:
        label = _label(row["method"])
        if "failed" in row:
            lines.append(f"| {label} | {row['failed']} | | | | | | | | | |")
            continue
        cells = [
            *(number(row[name] * 1e3) for name in ("median", "p90", "processor_median", "processor_mean")),
            *(number(row[name]) for name in ("times_cold", "times_warm", "times_basis")),
            number(row["memory"] / 1e6),
            number(row["regret"]),
            str(row["rounds"]),
        ]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return lines


def _notes(rows: list[Row]) -> list[str]:
    names = dict.fromkeys(row["method"] for row in rows)
    return [f"- {METHODS[name].label}: {METHODS[name].note}." for name in names if METHODS[name].note]


def number(value: float) -> str:
    """Return three significant digits without an exponent."""
    if not np.isfinite(value):
        return "–"
    if value == 0.0:
        return "0"
    digits = max(0, 2 - int(np.floor(np.log10(abs(value)))))
    return f"{value:,.{digits}f}"


def machine() -> str:
    """Return a sentence about where and with what this was measured."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    ours = ", ".join(f"{name} {metadata.version(name)}" for name in ("eigenbandits", "numpy", "scipy"))
    record = HERE / ".venv" / "peers.json"
    peers = json.loads(record.read_text()) if record.exists() else {}
    listed = ", ".join(f"{name} {version}" for name, version in peers.items())
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, {ours}. Peers: {listed}."
