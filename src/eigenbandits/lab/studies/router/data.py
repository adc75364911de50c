"""Judged and priced answers, and vectors of their prompts, as one file of arrays."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from eigenbandits.files import open_whole
from eigenbandits.inputs import Array
from eigenbandits.lab.errors import LabError
from eigenbandits.router import MiniLM

SPLITS = ("val", "test", "val_k4", "test_k4")
# Dollars per million tokens, input and output, as ParetoBandit lists them, in the order of the data's columns.
PRICES = {
    "meta-llama/llama-3.1-8b-instruct": (0.1, 0.1),
    "mistralai/mistral-large-2512": (0.5, 1.5),
    "google/gemini-2.5-pro": (1.25, 10.0),
    "google/gemini-2.5-flash": (0.3, 2.5),
}
MODELS = tuple(PRICES)


def prepare(folder: Path, out: Path, vectors: Path | None = None) -> Path:
    """Write prompts' vectors, rewards and costs as one file of arrays, and return its path; an existing file is kept.

    In the folder of the data, `router/` holds the splits as .jsonl files, and `problems/` RouteLLM's file. `vectors` is
    an .npz file with the vectors of each split, in the order of the lines; without it the prompts are encoded.
    """
    if out.exists():
        return out
    found: dict[str, Array] = {}
    try:
        given: dict[str, Any] = {} if vectors is None else dict(np.load(vectors))
        lines = {split: _lines(folder / "router" / f"{split}.jsonl") for split in SPLITS}
    except (OSError, ValueError) as error:
        raise LabError(f"cannot read the answers in {folder} with the vectors in {vectors}: {error}.") from None
    encoded: dict[str, Any] = {}
    for split, rows in lines.items():
        models = MODELS if split.endswith("k4") else MODELS[:3]
        for name in ("reward", "cost"):
            found[f"{split}_{name}s"] = np.array([[row["arms"][model][name] for model in models] for row in rows])
        prompts = [row["prompt"] for row in rows]
        if vectors is None:
            new = [prompt for prompt in prompts if prompt not in encoded]
            encoded.update(zip(new, MiniLM().many(new) if new else [], strict=True))
            given[split] = [encoded[prompt] for prompt in prompts]
        if split not in given or len(given[split]) != len(rows):
            raise LabError(f"{vectors} has no vectors for {split}, or too few; expected one for each line.")
        found[f"{split}_vectors"] = np.asarray(given[split], dtype=np.float32)
    pairs = folder / "problems" / "route_routellm.npz"
    if pairs.exists():
        with np.load(pairs) as archive:
            found["pairs_vectors"] = archive["Q"].astype(np.float32)
            found["pairs_rewards"] = archive["y"].astype(np.float64)
    return write(out, found)


def write(out: Path, arrays: dict[str, Array]) -> Path:
    """Write arrays to a file that `read` reads, and return its path."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with open_whole(out) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
    return out


@lru_cache(maxsize=1)
def read(file: str) -> dict[str, Array]:
    """Return the arrays of a file that `write` wrote."""
    with np.load(file) as archive:
        return {name: archive[name] for name in archive.files}


def _lines(path: Path) -> list[dict[str, Any]]:
    # Not splitlines(), which also splits at separators that prompts may hold.
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
