"""The report: one self-contained HTML page with settings, results, their certainty, and how to run it again."""

import base64
import json
import math
from collections.abc import Mapping
from datetime import datetime
from importlib.resources import files
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from eigenbandits.extras import need
from eigenbandits.files import write_whole
from eigenbandits.inputs import Array
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import Results
from eigenbandits.lab.experiments.specs import find_class
from eigenbandits.lab.reporting.figures import FIGURES, plots
from eigenbandits.lab.reporting.plots import Plot
from eigenbandits.lab.reporting.renderer import to_bytes
from eigenbandits.lab.reporting.statistics import Comparison, compare, mean_interval
from eigenbandits.lab.reporting.tables import listed, percent

LEVEL = 0.05
_TEST_WORDS = {"t": "paired t-tests", "wilcoxon": "Wilcoxon signed-rank tests"}


def write_report(
    results: Results,
    path: str | PathLike[str] | None = None,
    *,
    bands: str = "standard error",
    test: str = "t",
    figures: Mapping[str, Plot] | None = None,
) -> Path:
    """Write the page and return its path; it embeds all its figures and needs no network.

    Parameters
    ----------
    results : Results
        What the page is about.
    path : path, optional
        The file; by default report.html in the folder of the results.
    bands : {"standard error", "bootstrap"}
        What the bands of the figures are.
    test : {"t", "wilcoxon"}
        The paired test between policies.
    figures : mapping, optional
        What `figures.plots` returned, if that has been done.
    """
    need("lab", "jinja2", "matplotlib", what="Writing a report")
    from jinja2 import Environment

    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        files("eigenbandits.lab.reporting").joinpath("report.html.jinja").read_text(encoding="utf-8")
    )
    target = Path(path) if path is not None else results.folder / "report.html"
    try:
        shown = figures if figures is not None else plots(results, bands)
        write_whole(target, page.render(contents(results, test, shown)).encode())
    except OSError as error:
        raise LabError(f"{target} cannot be written ({error.strerror}); choose another file with --to.") from error
    return target


def contents(results: Results, test: str, shown: Mapping[str, Plot]) -> dict[str, Any]:
    """Return everything on the page, by name."""
    about = results.about
    final = results.outcomes()
    comparisons = compare(final, results.policies, results.environments, test)
    # The grid shows the same curves as the figure of regret, better arranged.
    figures = [f for f in FIGURES if f.name in shown and not (f.name == "regret" and "grid" in shown)]
    return {
        "name": results.name,
        "description": about["settings"].get("description", ""),
        "size": _size(results),
        "about": about,
        "finished": datetime.fromisoformat(about["finished"]).strftime("%Y-%m-%d %H:%M UTC"),
        "sections": [
            _section(results, e, final[:, i], [c for c in comparisons if c.environment == e])
            for i, e in enumerate(results.environments)
        ],
        "test": _TEST_WORDS[test],
        "comparisons": len(comparisons),
        "level": LEVEL,
        "figures": [{"name": f.name, "caption": f.description, "data": _embedded(shown[f.name])} for f in figures],
        "policies": {label: _settings(entry, "policy") for label, entry in about["settings"]["policies"].items()},
        "environments": {
            label: _settings(entry, "environment") for label, entry in about["settings"]["environments"].items()
        },
        "source": _source(results),
        "command": f"eigenbandits run {_source(results)[0]}",
    }


def _section(results: Results, environment: str, final: Array, pairs: list[Comparison]) -> dict[str, Any]:
    """Return the section of one environment: a sentence, a row for each policy, a row for each pair."""
    metric = results.outcome(environment)
    sign = 1.0 if metric == "regret" else -1.0
    means = final.mean(axis=1)
    order = np.argsort(sign * means, kind="stable")
    best = float(means[order[0]])
    rows = []
    for p in order:
        policy = results.policies[p]
        found = mean_interval(final[p])
        rows.append(
            {
                "policy": policy,
                "mean": _number(found.mean),
                "interval": _interval(found.low, found.high),
                "ratio": f"{found.mean / best:.2f} ×" if best > 0.0 else "–",
                "reward": _number(_reward_per_round(results, policy, environment)),
                "microseconds": _number(_microseconds(results, policy, environment)),
                "accuracy": percent(_last_mean(results, "accuracy", policy, environment), 0),
                "rank": _number(_last_mean(results, "rank", policy, environment)),
            }
        )
    return {
        "environment": environment,
        "metric": metric,
        "sentence": _sentence(results, metric, order, final, pairs),
        "rows": rows,
        "pairs": [_pair(pair, sign) for pair in pairs],
    }


def _sentence(results: Results, metric: str, order: Any, final: Array, pairs: list[Comparison]) -> str:
    names = [results.policies[p] for p in order]
    word = "lowest" if metric == "regret" else "highest"
    start = f"{names[0]} has the {word} mean final {metric}, {_number(float(final[order[0]].mean()))}."
    if len(results.seeds) < 2:
        return f"{start} With one seed chance cannot be ruled out; run more seeds."
    if len(names) == 1:
        return start
    same = [results.policies[p] for p in order[1:] if np.array_equal(final[p], final[order[0]])]
    chance = [other for other in names[1:] if other not in same and _corrected(pairs, names[0], other) >= LEVEL]
    if same:
        start += f" {listed(same)} {'has' if len(same) == 1 else 'have'} exactly the same on every seed."
    if chance:
        return f"{start} Its difference from {listed(chance)} may be chance."
    if len(same) < len(names) - 1:
        others = "every other policy" if not same else "all others"
        start += f" Its difference from {others} is larger than chance explains."
    return start


def _corrected(pairs: list[Comparison], one: str, other: str) -> float:
    found = next(pair.corrected for pair in pairs if {pair.first, pair.second} == {one, other})
    return 1.0 if math.isnan(found) else found


def _pair(pair: Comparison, sign: float) -> dict[str, Any]:
    verdict = "the same on every seed" if pair.difference.mean == pair.difference.low == 0.0 else "may be chance"
    if pair.corrected < LEVEL:
        better = pair.first if sign * pair.difference.mean < 0.0 else pair.second
        verdict = f"{better} is better"
    return {
        "first": pair.first,
        "second": pair.second,
        "difference": _number(pair.difference.mean, signed=True),
        "interval": _interval(pair.difference.low, pair.difference.high, signed=True),
        "p": _probability(pair.corrected),
        "verdict": verdict,
        "found": pair.corrected < LEVEL,
    }


def _last_mean(results: Results, column: str, policy: str, environment: str) -> float:
    """Return the mean over seeds of the last value in a column, NaN where there is none."""
    if not results.has(column, environment):
        return math.nan
    values = results.curve(column, policy, environment).values
    last = [row[np.isfinite(row)][-1] for row in values if np.isfinite(row).any()]
    return float(np.mean(last)) if last else math.nan


def _reward_per_round(results: Results, policy: str, environment: str) -> float:
    found = results.curve("reward", policy, environment)
    last = [np.flatnonzero(np.isfinite(row))[-1] for row in found.values]
    return float(np.mean([row[i] / found.rounds[i] for row, i in zip(found.values, last, strict=True)]))


def _microseconds(results: Results, policy: str, environment: str) -> float:
    return 1e6 * float(np.nanmedian(results.curve("seconds_median", policy, environment).values))


def _size(results: Results) -> str:
    parts = [
        (len(results.policies), "policy", "policies"),
        (len(results.environments), "environment", "environments"),
        (len(results.seeds), "seed", "seeds"),
    ]
    words = [f"{count} {one if count == 1 else many}" for count, one, many in parts]
    return f"{' × '.join(words)}, {results.about['settings']['rounds']:,} rounds each"


def _settings(entry: dict[str, Any], what: str) -> dict[str, Any]:
    """Return the kind, what differs from its defaults, and everything."""
    params = {name: value for name, value in entry.items() if name != "kind"}
    try:
        defaults = {name: p.default for name, p in signature(find_class(entry["kind"], what)).parameters.items()}
    except (LabError, ValueError):
        defaults = {}
    changed = {name: value for name, value in params.items() if name not in defaults or defaults[name] != value}
    return {"kind": entry["kind"], "changed": _words(changed), "all": _words(params)}


def _words(params: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {_value(value)}" for name, value in params.items()) or "defaults"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        reference = value.get("$file") or value.get("$stored")
        if reference:
            return f"{Path(reference['path']).name} (SHA-256 {reference['sha256'][:12]}…)"
        if "$structure" in value:
            value = value["$structure"]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _source(results: Results) -> tuple[str, str]:
    """Return the name and the text of the file that repeats the experiment."""
    for name in ("experiment.toml", "experiment.json"):
        path = results.folder / name
        if path.exists():
            text = path.read_text(encoding="utf-8")
            return name, text if name.endswith("toml") else json.dumps(json.loads(text)["settings"], indent=1)
    return "experiment.toml", ""


def _embedded(plot: Plot) -> str:
    return base64.b64encode(to_bytes(plot, "svg")).decode()


def _number(value: float, *, signed: bool = False) -> str:
    """Return a number with three significant digits."""
    if math.isnan(value):
        return "–"
    if value == round(value) and abs(value) < 1000:
        return f"{value:.0f}".replace("-", "−")
    plus = "+" if signed else ""
    digits = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2 if abs(value) >= 0.995 else 3
    return f"{value:{plus},.{digits}f}".replace("-", "−")


def _interval(low: float, high: float, *, signed: bool = False) -> str:
    return "–" if math.isnan(low) else f"{_number(low, signed=signed)} to {_number(high, signed=signed)}"


def _probability(p: float) -> str:
    return "–" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"
