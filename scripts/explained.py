"""Record what the explanation that moves cannot compute itself: EigenUCB's and PSLB's choices, and PSLB's bound ε.

Writes docs/explained/recorded.js, in a minute or two. Run it again when a change of the library changes a choice;
tests/docs/test_explained.py says when.
"""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import eigenbandits as eb

Array = NDArray[np.float64]
FILE = Path(__file__).parents[1] / "docs" / "explained" / "recorded.js"
DIM, ROUNDS = 20, 200
KNOBS: dict[str, list[float]] = {
    "rank": [1, 2, 3],
    "perturbation": [1, 3, 9, 20],
    "arms": [5, 10, 20],
    "noise": [0.1, 0.5, 1],
}
SEEDS = (1000, 1001, 1002)
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"


class Generator:
    """The random numbers of policies.js: mulberry32, and Box and Muller's pairs."""

    def __init__(self, seed: int) -> None:
        self.state = seed
        self.spare: float | None = None

    def uniform(self) -> float:
        """Return a number in [0, 1)."""
        word = 0xFFFFFFFF
        self.state = (self.state + 0x6D2B79F5) & word
        mixed = ((self.state ^ (self.state >> 15)) * (self.state | 1)) & word
        mixed ^= (mixed + ((mixed ^ (mixed >> 7)) * (mixed | 61) & word)) & word
        return (mixed ^ (mixed >> 14)) / 4294967296

    def normal(self) -> float:
        """Return a standard normal number."""
        if self.spare is not None:
            kept, self.spare = self.spare, None
            return kept
        length = math.sqrt(-2.0 * math.log(1.0 - self.uniform()))
        angle = 2.0 * math.pi * self.uniform()
        self.spare = length * math.sin(angle)
        return length * math.cos(angle)


def problem(settings: dict[str, Any], seed: int) -> tuple[Array, list[tuple[Array, Array, float]]]:
    """Return θ* and the rounds as (actions, values, noise): the problem that policies.js draws from the same seed."""
    random = Generator(seed)
    basis: list[Array] = []
    for _ in range(max(settings["rank"], 2)):
        vector = np.array([random.normal() for _ in range(DIM)])
        for known in basis:
            vector = vector - float(known @ vector) * known
        basis.append(vector / np.linalg.norm(vector))
    inside = np.array(basis[: settings["rank"]])
    drawn = np.array([random.normal() for _ in inside])
    theta = (drawn / np.linalg.norm(drawn)) @ inside
    signal = math.sqrt(1.0 / ((1.0 + settings["perturbation"]) * settings["rank"]))
    around = math.sqrt(settings["perturbation"] / ((1.0 + settings["perturbation"]) * DIM))
    rounds = []
    for _ in range(ROUNDS):
        actions = np.empty((settings["arms"], DIM))
        for row in actions:
            row[:] = sum(signal * random.normal() * v for v in inside)
            row += around * np.array([random.normal() for _ in range(DIM)])
        rounds.append((actions, actions @ theta, settings["noise"] * random.normal()))
    return theta, rounds


def policies(settings: dict[str, Any]) -> dict[str, eb.Policy]:
    """Return the three policies of the page, as the library makes them."""
    return {
        "EigenUCB": eb.EigenUCB(seed=0),
        "PSLB": eb.PSLB(noise=settings["noise"], rank=settings["rank"], refresh="every-round", seed=0),
        "OFUL": eb.OFUL(noise=settings["noise"], seed=0),
    }


def play(policy: eb.Policy, rounds: list[tuple[Array, Array, float]]) -> tuple[list[int], list[float]]:
    """Return the choices of a policy, and its bound on the projection error in each round."""
    choices, errors = [], []
    for actions, values, noise in rounds:
        decision = policy.choose(actions)
        frame = policy.subspace.frame()
        errors.append(1.0 if frame is None else float(frame.error))
        policy.learn(decision, float(values[decision.index]) + noise)
        choices.append(decision.index)
    return choices, errors


def as_text(choices: list[int], errors: list[float]) -> tuple[str, str]:
    """Return choices and errors as policies.js reads them."""
    codes = [round(4095 * (max(math.log(max(error, 1e-9)), -5.0) + 5.0) / 5.0) for error in errors]
    return "".join(DIGITS[one] for one in choices), "".join(DIGITS[code // 64] + DIGITS[code % 64] for code in codes)


def settings_of_all() -> list[dict[str, Any]]:
    """Return every position of the knobs."""
    return [dict(zip(KNOBS, values, strict=True)) for values in itertools.product(*KNOBS.values())]


def main() -> None:
    """Record all positions of the knobs, for all seeds."""
    found = {}
    for settings in settings_of_all():
        for seed in SEEDS:
            rounds = problem(settings, seed)[1]
            made = policies(settings)
            ours, _ = as_text(play(made["EigenUCB"], rounds)[0], [])
            paper, errors = as_text(*play(made["PSLB"], rounds))
            found["/".join(str(value) for value in (*settings.values(), seed))] = [ours, paper, errors]
    text = json.dumps(found, separators=(",", ":")).replace("],", "],\n")
    FILE.write_text(
        "// Written by scripts/explained.py: choices of EigenUCB and of PSLB, and PSLB's bound on its error.\n"
        f"(typeof self !== 'undefined' ? self : globalThis).recorded = {text};\n"
        "if (typeof module !== 'undefined' && module.exports) module.exports = globalThis.recorded;\n",
        encoding="utf-8",
    )
    print(f"Wrote {FILE.name}, {FILE.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
