"""The problems of the interactive explanation, and its three policies, in Python."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

import eigenbandits as eb
from eigenbandits.subspace import PCA
from eigenbandits.subspace.error import estimated_error

Array = NDArray[np.float64]
DIM, ROUNDS = 20, 200


class Generator:
    """The random numbers of problem.js: mulberry32, and Box and Muller's pairs."""

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
    """Return θ* and the rounds as (actions, values, noise): the problem that problem.js draws from the same seed."""
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


class IndependentVectors(PCA):
    """PCA of vectors that are known to be independent, as those of the page are: nothing else has to be allowed for."""

    def estimate(self, safety: float = 1.25) -> float:
        """Return the estimated error of the subspace from its spectrum and the number of vectors."""
        assert self.spectrum is not None
        return estimated_error(self.spectrum, int(self.rank), self.added, safety)


def policies(settings: dict[str, Any]) -> dict[str, eb.Policy]:
    """Return the three policies of the page, as the library makes them."""
    pslb = eb.PSLB(noise=settings["noise"], rank=settings["rank"], refresh="every-round", seed=0)
    vectors = IndependentVectors(settings["rank"], refresh="every-round")
    return {
        "EigenUCB": eb.EigenUCB(seed=0),
        "PSLB": eb.Policy(vectors, pslb.belief, pslb.rule, seed=0),
        "OFUL": eb.OFUL(noise=settings["noise"], seed=0),
    }
