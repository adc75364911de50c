"""Every method of the comparison: what it is called, how it is made, and what has to be said about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import eigenbandits as eb
from benchmarks import peers, plain
from benchmarks.data import NOISE, Size

Array = NDArray[np.float64]
# O(dm) memory in all.
SLIM: dict[str, Any] = {"subspace": "streaming", "intersect": False}


class Method(Protocol):
    """What is timed: choosing, and learning from the action chosen."""

    def choose(self, actions: Array) -> int:
        """Return a row of the decision set."""

    def learn(self, action: Array, reward: float) -> None:
        """Take in the reward of the row chosen last."""


@dataclass(frozen=True)
class Entry:
    """A line of the table."""

    label: str
    group: str  # "ours", "plain" or the name of the package
    make: Callable[[Size], Method]
    note: str = ""
    single: bool = False  # whether it is given its decision sets in float32


class Ours:
    """A policy of eigenbandits, used as its users would."""

    def __init__(self, policy: eb.Policy, compiled: bool = False) -> None:
        self.policy = policy
        self.compiled = compiled
        self._decision: eb.Decision | None = None

    def choose(self, actions: Array) -> int:
        """Choose."""
        self._decision = self.policy.choose(actions)
        return self._decision.index

    def learn(self, action: Array, reward: float) -> None:
        """Hand the decision back with its reward."""
        assert self._decision is not None
        self.policy.learn(self._decision, reward)


def _ours(make: Callable[[Size], eb.Policy], compiled: bool = False) -> Callable[[Size], Method]:
    return lambda size: Ours(make(size), compiled)


def ready(method: Method) -> None:
    """Let this process be the kind that a method is to be timed in, before it plays its rounds."""
    eb.set_backend("numba" if isinstance(method, Ours) and method.compiled else "numpy")


METHODS: dict[str, Entry] = {
    "eigen": Entry(
        "EigenUCB, nothing set",
        "ours",
        _ours(lambda s: eb.EigenUCB(seed=0)),
        "given nothing, not even the noise",
    ),
    "eigen-32": Entry(
        "EigenUCB, nothing set, float32",
        "ours",
        _ours(lambda s: eb.EigenUCB(dtype="float32", seed=0)),
        "given its decision sets in float32",
        single=True,
    ),
    "eigen-compiled": Entry(
        "EigenUCB, nothing set, compiled",
        "ours",
        _ours(lambda s: eb.EigenUCB(seed=0), compiled=True),
        "the steps of a round compiled by numba",
    ),
    "pslb-rank": Entry(
        "PSLB, rank known",
        "ours",
        _ours(lambda s: eb.PSLB(noise=NOISE, rank=s.rank, seed=0)),
        "the projected and the ambient set, intersected",
    ),
    "pslb-rank-compiled": Entry(
        "PSLB, rank known, compiled",
        "ours",
        _ours(lambda s: eb.PSLB(noise=NOISE, rank=s.rank, seed=0), compiled=True),
        "as above",
    ),
    "pslb-projected": Entry(
        "PSLB, rank known, projected set only",
        "ours",
        _ours(lambda s: eb.PSLB(noise=NOISE, rank=s.rank, intersect=False, seed=0)),
    ),
    "projected-ts": Entry(
        "ProjectedThompson, rank known",
        "ours",
        _ours(lambda s: eb.ProjectedThompson(noise=NOISE, rank=s.rank, seed=0)),
        "draws 100 models in every round, for propensities",
    ),
    "oful": Entry("OFUL", "ours", _ours(lambda s: eb.OFUL(noise=NOISE, seed=0))),
    "oful-compiled": Entry(
        "OFUL, compiled", "ours", _ours(lambda s: eb.OFUL(noise=NOISE, seed=0), compiled=True), "as above"
    ),
    "oful-32": Entry(
        "OFUL, float32",
        "ours",
        _ours(lambda s: eb.OFUL(noise=NOISE, dtype="float32", seed=0)),
        "given its decision sets in float32",
        single=True,
    ),
    "linucb": Entry("LinUCB, multiplier 1", "ours", _ours(lambda s: eb.LinUCB(multiplier=1.0, seed=0))),
    "lints": Entry(
        "LinTS",
        "ours",
        _ours(lambda s: eb.LinTS(noise=NOISE, seed=0)),
        "draws 100 models in every round, for propensities",
    ),
    "lints-bare": Entry("LinTS, no propensities", "ours", _ours(lambda s: eb.LinTS(noise=NOISE, samples=1, seed=0))),
    "soful": Entry("SOFUL, sketch of 20", "ours", _ours(lambda s: eb.SOFUL(noise=NOISE, seed=0))),
    "cbscfd": Entry("CBSCFD, sketch of 20", "ours", _ours(lambda s: eb.CBSCFD(noise=NOISE, seed=0))),
    "pslb-streaming": Entry(
        "PSLB, streaming, rank known",
        "ours",
        _ours(lambda s: eb.PSLB(noise=NOISE, rank=s.rank, **SLIM, seed=0)),
        "the projected set only, in O(dm) memory",
    ),
    "pslb-streaming-32": Entry(
        "PSLB, streaming, rank known, float32",
        "ours",
        _ours(
            lambda s: eb.PSLB(noise=NOISE, rank=s.rank, subspace="streaming", intersect=False, dtype="float32", seed=0)
        ),
        "given its decision sets in float32",
        single=True,
    ),
    "plain-oful": Entry("OFUL, Sherman–Morrison, NumPy", "plain", lambda s: plain.OfulShermanMorrison(s.dim, NOISE)),
    "plain-oful-blas": Entry("OFUL, Sherman–Morrison, BLAS in place", "plain", lambda s: plain.OfulBlas(s.dim, NOISE)),
    "plain-oful-blas-full": Entry(
        "OFUL, Sherman–Morrison, BLAS in place, both halves", "plain", lambda s: plain.OfulBlasFull(s.dim, NOISE)
    ),
    "plain-oful-inverse": Entry("OFUL, np.linalg.inv each round", "plain", lambda s: plain.OfulInverse(s.dim, NOISE)),
    "plain-pslb-eigh": Entry(
        "PSLB, eigh each round, rank known", "plain", lambda s: plain.PslbEigh(s.dim, NOISE, s.rank)
    ),
    "vw-regcb": Entry(
        "vowpalwabbit RegCB",
        "vowpalwabbit",
        lambda s: peers.Vowpal("regcb"),
        "takes action features as they are; each must be turned into a Python number",
    ),
    "vw-squarecb": Entry("vowpalwabbit SquareCB", "vowpalwabbit", lambda s: peers.Vowpal("squarecb"), "as above"),
    "coba": Entry("coba LinUCB", "coba", lambda s: peers.Coba(), "takes action features as lists"),
    "bayesianbandits-ts": Entry(
        "bayesianbandits Thompson",
        "bayesianbandits",
        lambda s: peers.BayesianBandits("thompson", s.arms, NOISE),
        "one shared learner; the round's action features come through an arm featurizer",
    ),
    "bayesianbandits-ucb": Entry(
        "bayesianbandits UCB",
        "bayesianbandits",
        lambda s: peers.BayesianBandits("ucb", s.arms, NOISE),
        "as above; the quantile 0.84 from 1,000 draws",
    ),
    "mabwiser": Entry(
        "mabwiser LinUCB",
        "mabwiser",
        lambda s: peers.MabWiser(s.dim),
        "keeps one model per arm and cannot use action features; by a trick: one arm stands for all, and the action "
        "vectors are given as a batch of contexts",
    ),
    "contextualbandits": Entry(
        "contextualbandits LinUCB",
        "contextualbandits",
        lambda s: peers.ContextualBandits(single=True, dim=s.dim),
        "keeps one model per arm and cannot use action features; by a trick: the regression behind its LinUCB as one "
        "shared model (float32, its default)",
    ),
    "contextualbandits-64": Entry(
        "contextualbandits LinUCB, float64",
        "contextualbandits",
        lambda s: peers.ContextualBandits(single=False, dim=s.dim),
        "as above, in float64",
    ),
    "river": Entry(
        "river Bayesian regression",
        "river",
        lambda s: peers.River(s.dim),
        "its bandits keep one model per arm and cannot use action features; by a trick: its regression as one shared "
        "model, asked for each action in turn",
    ),
}
