"""The tables of the study."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.inputs import Array
from eigenbandits.lab.experiments import Results
from eigenbandits.lab.reporting.statistics import mean_interval
from eigenbandits.lab.reporting.tables import aligned, percent
from eigenbandits.lab.studies.router.policies import BLOCK
from eigenbandits.lab.studies.router.scenarios import PAIR_REQUESTS, pair_rows
from eigenbandits.lab.studies.router.study import PEER, PEER_PRIORS

LEGENDS = {
    "pacing": """\
Learned on `val`, then measured on `test`, where learning continues. spent: the mean over seeds of what was spent on
`test` over the budget, and the least and the most of any seed. ahead: the mean of the paired differences in quality
with its 95 % interval.""",
    "price": """\
Three phases of 608 requests: Gemini at its usual price, at $0.10 and $0.10 per million tokens, and at its usual price
again. share: of Gemini. adapted: requests of a phase until Gemini has half of the last 50 requests, and in the third
phase until its share is back within 5 points of the first's; 50 is the least that can be measured, 608 means never.""",
    "degraded": """\
Three phases of 608 requests: in the second every answer of Mistral is worth 0.75, at the same cost, without notice.
share: of Mistral. adapted: requests until Mistral has at most a quarter of the last 50, and in the third phase until it
has half of its share in the first; 50 is the least that can be measured, 608 means never.""",
    "arrival": """\
Gemini 2.5 Flash arrives after `val`. share: of Flash. adapted: requests until Flash has 10 % of the last 100 for 50
requests on end, as ParetoBandit counts it: its first 20 requests are sent to Flash and do not count, so that 121 is the
least it can reach. The router has no such phase.""",
    "bad-arrival": "The same, with every answer of Flash worth half: it should not be adopted.",
    "pairs": """\
RouteLLM's pairs of a strong and a weak model: 3,000 requests to learn, 3,000 measured. A call to the strong model costs
1, one to the weak model nothing. random: strong with the same share. both answers: a ridge regression that sees
the answers of both models to the requests to learn from. oracle: strong where it alone is right, and elsewhere as the
share allows.""",
}


def rows_of(results: Results) -> dict[str, list[dict[str, Array]]]:
    """Return for each router one mapping for each budget: every recorded column, by seed."""
    columns = {name: results.final(name)[:, 0] for name in results.columns if name.partition("_")[0] in _RECORDED}
    found: dict[str, list[dict[str, Array]]] = {}
    for place, policy in enumerate(results.policies):
        name, _, _ = policy.rpartition(" ")
        found.setdefault(name, []).append({column: values[place] for column, values in columns.items()})
    return found


_RECORDED = ("budget", "quality", "spent", "share", "adapted", "block")


def report(scenario: str, results: Results, data: Mapping[str, Array]) -> str:
    """Return the table of a scenario as text."""
    found = rows_of(results)
    if scenario in ("pacing", "budgets"):
        text = "\n\n".join((_pacing(found), _catching_up(found)))
    elif scenario == "pairs":
        text = _pairs(found, data, results.seeds)
    else:
        text = _phases(found, 1 if "arrival" in scenario else 3)
    return "\n\n".join(
        (f"{scenario}, {len(results.seeds)} seeds", text, LEGENDS["pacing" if scenario == "budgets" else scenario])
    )


def paired(first: Array, second: Array) -> tuple[float, float]:
    """Return the mean of the differences and half of its 95 % interval."""
    found = mean_interval(first - second)
    return found.mean, found.high - found.mean


def _pacing(found: Mapping[str, Sequence[Mapping[str, Array]]]) -> str:
    headers = ["budget"]
    for name in found:
        headers += [f"{name}: quality", "spent", "least", "most"]
    first, *others = found
    headers += [f"ahead of {name}" for name in others]
    cells = []
    for level, ours in enumerate(found[first]):
        budget = float(ours["budget"][0])
        cell = [f"{budget:.2e}"]
        for rows in found.values():
            ratio = rows[level]["spent_1"] / budget
            spent = [percent(float(each)) for each in (ratio.mean(), ratio.min(), ratio.max())]
            cell += [f"{rows[level]['quality_1'].mean():.4f}", *spent]
        for name in others:
            gap, half = paired(ours["quality_1"], found[name][level]["quality_1"])
            cell.append(f"{gap:+.4f} ± {half:.4f}")
        cells.append(cell)
    return aligned(headers, cells)


def _first(found: Mapping[str, Sequence[Mapping[str, Array]]]) -> Sequence[Mapping[str, Array]]:
    """Return the rows of this library's policy, which comes first."""
    return next(iter(found.values()))


def _catching_up(found: Mapping[str, Sequence[Mapping[str, Array]]]) -> str:
    """Return after how many requests, learning included, the mean quality of a block reaches that of the peers."""
    lines = []
    for name in (PEER, PEER_PRIORS):
        if name not in found:
            continue
        counts = []
        for ours, theirs in zip(_first(found), found[name], strict=True):
            gaps = [float((ours[f"block_{b:02d}"] - theirs[f"block_{b:02d}"]).mean()) for b in range(18)]
            totals = np.cumsum(gaps)
            # The first block from which on the total so far is at least theirs.
            behind = np.flatnonzero(totals < -1e-12)
            counts.append(f"{(int(behind[-1]) + 1) * BLOCK if len(behind) else 0}")
        lines.append(
            f"Requests until the quality so far is at least that of {name} for good, by budget: {', '.join(counts)}."
        )
    return "\n".join(lines)


def _phases(found: Mapping[str, Sequence[Mapping[str, Array]]], phases: int) -> str:
    headers = ["budget", "router"]
    for phase in range(1, phases + 1):
        headers += [f"quality {phase}", "spent", "share"] + (["adapted"] if phase > 1 or phases == 1 else [])
    cells = []
    for level, ours in enumerate(_first(found)):
        budget = float(ours["budget"][0])
        for position, (name, rows) in enumerate(found.items()):
            row = rows[level]
            cell = [f"{budget:.2e}" if budget else "none", name]
            for phase in range(1, phases + 1):
                spent = float(row[f"spent_{phase}"].mean())
                cell += [f"{row[f'quality_{phase}'].mean():.4f}", percent(spent / budget) if budget else f"{spent:.2e}"]
                cell.append(percent(float(row[f"share_{phase}"].mean())))
                if phase > 1 or phases == 1:
                    cell.append(f"{row[f'adapted_{phase}'].mean():.0f}")
            cells.append(cell)
            if position:
                last = ["", "  router ahead by"]
                for phase in range(1, phases + 1):
                    gap, half = paired(ours[f"quality_{phase}"], row[f"quality_{phase}"])
                    last += [f"{gap:+.4f} ± {half:.4f}", "", ""] + ([""] if phase > 1 or phases == 1 else [])
                cells.append(last)
    return aligned(headers, cells)


def _pairs(found: Mapping[str, Sequence[Mapping[str, Array]]], data: Mapping[str, Array], seeds: Sequence[int]) -> str:
    rewards = data["pairs_rewards"]
    runs = [pair_rows(data, np.random.default_rng(seed)) for seed in seeds]
    measured = [rewards[rows[PAIR_REQUESTS:]] for rows in runs]
    strong, weak = np.array([each.mean(axis=0) for each in measured]).T
    only = np.array([np.mean(each[:, 0] > each[:, 1]) for each in measured])
    scores = [_predicted_gaps(data["pairs_vectors"], rewards, rows) for rows in runs]
    cells: list[list[Any]] = [["0 %", f"{weak.mean():.4f}", "always weak", "", ""]]
    for row in _first(found):
        share = row["share_1"]
        random = share * strong + (1.0 - share) * weak
        both = np.array([_by_score(*each) for each in zip(scores, measured, share.tolist(), strict=True)])
        # Calls beyond the prompts that only the strong model gets right go where both are right, or both wrong.
        best = weak + np.minimum(share, only)
        gaps = [f"{gap:+.4f} ± {half:.4f}" for gap, half in (paired(row["quality_1"], random), paired(both, random))]
        quality = [f"{each.mean():.4f}" for each in (row["quality_1"], random, both, best)]
        mean = percent(float(share.mean()))
        cells.append([mean, f"{quality[0]} ({gaps[0]})", quality[1], f"{quality[2]} ({gaps[1]})", quality[3]])
    cells.append(["100 %", f"{strong.mean():.4f}", "always strong", "", ""])
    headers = ["strong calls", "router (ahead of random)", "random", "both answers (ahead of random)", "oracle"]
    return aligned(headers, cells)


def _predicted_gaps(vectors: Array, rewards: Array, rows: NDArray[np.intp]) -> Array:
    """Return by how much the strong model is expected to be better, for the measured rows.

    A ridge regression on the rewards of both models for all rows to learn from, its ridge chosen by leaving one out.
    """
    known, asked = (vectors[part].astype(np.float64) for part in (rows[:PAIR_REQUESTS], rows[PAIR_REQUESTS:]))
    gaps = rewards[rows[:PAIR_REQUESTS]] @ [1.0, -1.0]
    mean, level = known.mean(axis=0), gaps.mean()
    left, sizes, right = np.linalg.svd(known - mean, full_matrices=False)
    turned, found, least = left.T @ (gaps - level), np.zeros(len(sizes)), math.inf
    for ridge in np.geomspace(1e-2, 1e4, 25):
        kept = sizes**2 / (sizes**2 + ridge)
        residuals = (gaps - level - left @ (kept * turned)) / (1.0 - 1.0 / len(gaps) - (left**2) @ kept)
        if float(residuals @ residuals) < least:
            least, found = float(residuals @ residuals), sizes / (sizes**2 + ridge) * turned
    return np.asarray(level + (asked - mean) @ (right.T @ found))


def _by_score(scores: Array, rewards: Array, share: float) -> float:
    """Return the mean reward where the highest scores go to the strong model, as many as the share allows."""
    strong = np.argsort(-scores)[: round(share * len(scores))]
    chosen = rewards[:, 1].copy()
    chosen[strong] = rewards[strong, 0]
    return float(chosen.mean())
