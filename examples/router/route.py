"""Route prompts to language models under a budget: `python examples/router/route.py --help`.

Thousands of prompts were answered by three models, and every answer was judged and priced. The router sees the judgment
and the price of the answer that it chose, and only that. Run it at several budgets, and compare with the single models.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.lab.reporting.tables import aligned
from eigenbandits.router import MiniLM, Model, Router

Array = NDArray[np.float64]
PRICES = {
    "meta-llama/llama-3.1-8b-instruct": (0.1, 0.1),
    "mistralai/mistral-large-2512": (0.5, 1.5),
    "google/gemini-2.5-pro": (1.25, 10.0),
}
SPLITS = {"val": ("val.jsonl",), "test": ("test.jsonl", "test_holdout.jsonl")}


class Split:
    """Prompts, their vectors, and what each model's answer is worth and costs."""

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        path = next((folder / name for name in names if (folder / name).exists()), folder / names[0])
        # Not splitlines(), which also splits at separators that prompts may hold.
        lines: list[dict[str, Any]] = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
        self.prompts = [line["prompt"] for line in lines]
        self.rewards = np.array([[line["arms"][model]["reward"] for model in PRICES] for line in lines])
        self.costs = np.array([[line["arms"][model]["cost"] for model in PRICES] for line in lines])
        self.vectors: Array = np.zeros((0, 0))


def data_folder(given: Path | None) -> Path:
    """Return the folder of the answers: as given, in EIGENBANDITS_DATA, or in the package `paretobandit`."""
    if given is not None:
        return given
    if "EIGENBANDITS_DATA" in os.environ:
        return Path(os.environ["EIGENBANDITS_DATA"]) / "router"
    found = importlib.util.find_spec("pareto_bandit")
    if found is None or found.origin is None:
        raise SystemExit("No data: give --data, set EIGENBANDITS_DATA, or pip install paretobandit==0.1.1.")
    return Path(found.origin).parent / "data" / "examples"


def encode(splits: dict[str, Split], file: Path | None) -> float:
    """Give every prompt its vector, from a file or by the encoder; return the milliseconds that one prompt took."""
    if file is not None and file.exists():
        with np.load(file) as archive:
            for name, split in splits.items():
                split.vectors = archive[name].astype(np.float64)
        return 0.0
    encoder, begin, count = MiniLM(), time.perf_counter(), 0
    for split in splits.values():
        split.vectors = np.asarray(encoder.many(split.prompts), dtype=np.float64)
        count += len(split.prompts)
    took = 1e3 * (time.perf_counter() - begin) / count
    if file is not None:
        np.savez(file, **{name: split.vectors.astype(np.float32) for name, split in splits.items()})  # type: ignore[arg-type]
    return took


def play(splits: dict[str, Split], budget: float, seed: int) -> tuple[float, float, Array, float]:
    """Learn on one split, and return quality, cost and shares on the other, and milliseconds for a request."""
    names = list(PRICES)
    router = Router([Model(name, PRICES[name]) for name in names], budget=budget, seed=seed)
    rng = np.random.default_rng(seed)
    seconds, count = 0.0, 0
    earned: list[tuple[float, float, int]] = []
    for split in splits.values():
        earned = []
        for row in rng.permutation(len(split.vectors)):
            begin = time.perf_counter()
            route = router.route(split.vectors[row])
            place = names.index(route.model)
            reward, cost = float(split.rewards[row, place]), float(split.costs[row, place])
            router.feedback(route.id, reward, cost)
            seconds += time.perf_counter() - begin
            count += 1
            earned.append((reward, cost, place))
    shares = np.bincount([place for _, _, place in earned], minlength=len(names)) / len(earned)
    quality, cost = np.mean([one[:2] for one in earned], axis=0)
    return float(quality), float(cost), shares, 1e3 * seconds / count


def draw(test: Split, points: list[tuple[float, float]], path: Path) -> None:
    """Draw quality against cost: the single models, mixes of two of them, and the router at each budget."""
    from eigenbandits.files import write_whole
    from eigenbandits.lab.reporting.renderer import canvas, encode

    made, (axes,) = canvas(1, 1, width=6.4, height=4.0)
    costs, qualities = test.costs.mean(axis=0), test.rewards.mean(axis=0)
    parts = np.linspace(0.0, 1.0, 200)
    for first, second in ((0, 1), (1, 2)):
        mixed = [(1 - parts) * values[first] + parts * values[second] for values in (costs, qualities)]
        axes.plot(*mixed, color="#999999", linestyle="dotted", label="mixes of two models" if first == 0 else None)
    axes.plot(*np.array(points).T, color="#0072B2", marker="o", label="router, by budget")
    axes.scatter(costs, qualities, color="#D55E00", marker="s", zorder=3, label="single models")
    places = ((10, -4, "left"), (8, -16, "left"), (0, -26, "right"))
    for name, cost, quality, (right, up, side) in zip(PRICES, costs, qualities, places, strict=True):
        text = name.split("/")[-1]
        axes.annotate(text, (cost, quality), (right, up), textcoords="offset points", ha=side, fontsize=8)
    axes.set(xscale="log", xlabel="dollars per request", ylabel="mean quality of the answers")
    axes.legend(frameon=False, loc="lower right")
    write_whole(path, encode(made, "png"))


def main() -> None:
    """Read, encode, play, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with val.jsonl and test.jsonl")
    parser.add_argument("--vectors", type=Path, help="file to keep the prompts' vectors in")
    parser.add_argument("--budgets", type=int, default=7, help="budgets from the cheapest to the dearest model's cost")
    parser.add_argument("--orders", type=int, default=3, help="different orders of the prompts")
    parser.add_argument("--png", type=Path, help="write the figure to this file")
    asked = parser.parse_args()
    folder = data_folder(asked.data)
    splits = {name: Split(folder, files) for name, files in SPLITS.items()}
    encoding = encode(splits, asked.vectors)
    means = splits["val"].costs.mean(axis=0)
    rows, points, times = [], [], []
    for budget in np.geomspace(means.min(), means.max(), asked.budgets):
        runs = [play(splits, float(budget), 1000 + order) for order in range(asked.orders)]
        quality, cost, shares, took = (np.mean([run[place] for run in runs], axis=0) for place in range(4))
        points.append((float(cost), float(quality)))
        times.append(took)
        rows.append([f"{budget:.2e}", f"{cost:.2e}", f"{quality:.3f}", *(f"{share:.0%}" for share in shares)])
    test = splits["test"]
    for place, name in enumerate(PRICES):
        fixed = [f"{test.costs[:, place].mean():.2e}", f"{test.rewards[:, place].mean():.3f}"]
        rows.append([f"always {name.split('/')[-1]}", *fixed, *("100%" if one == place else "" for one in range(3))])
    short = [name.split("/")[-1].split("-")[0] for name in PRICES]
    print(aligned(["budget", "spent", "quality", *short], rows))
    took = f"{encoding:.1f} ms to encode a prompt" if encoding else "vectors from a file"
    learned = len(splits["val"].prompts)
    print(f"\nMeans over {asked.orders} orders of {len(test.prompts):,} prompts, after {learned:,} to learn from.")
    print(f"Time: {took}; {np.mean(times):.2f} ms to route it and to learn.")
    if asked.png is not None:
        draw(test, points, asked.png)
        print(f"Wrote {asked.png}")


if __name__ == "__main__":
    main()
