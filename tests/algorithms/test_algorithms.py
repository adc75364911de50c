"""The named algorithms: what they are made of, what they refuse, and that they do what they are for."""

from typing import Any

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.belief import Ambient, Both, Projected
from eigenbandits.environments import LowRank
from eigenbandits.rules import ExactOptimism, Optimism, SampledOptimism, Thompson
from eigenbandits.subspace import PCA, Streaming, Whole


@pytest.mark.parametrize(
    ("policy", "subspace", "belief", "rule"),
    [
        (eb.PSLB(noise=0.1), PCA, Both, Optimism),
        (eb.PSLB(noise=0.1, rank=3), PCA, Both, Optimism),
        (eb.PSLB(noise=0.1, rank=3, intersect=False), PCA, Projected, Optimism),
        (eb.PSLB(noise=0.1, rank=3, rule="exact"), PCA, Both, ExactOptimism),
        (eb.PSLB(noise=0.1, rule="sampled"), PCA, Both, SampledOptimism),
        (eb.PSLB(noise=0.1, subspace="streaming"), Streaming, Both, Optimism),
        (eb.PSLB(noise=0.1, subspace="streaming", intersect=False), Streaming, Projected, Optimism),
        (eb.ProjectedThompson(noise=0.1), PCA, Projected, Thompson),
        (eb.OFUL(noise=0.1), Whole, Ambient, Optimism),
        (eb.LinTS(noise=0.1), Whole, Ambient, Thompson),
    ],
)
def test_the_three_axes(policy, subspace, belief, rule):
    assert type(policy.subspace) is subspace
    assert type(policy.belief) is belief
    assert type(policy.rule) is rule


@pytest.mark.parametrize(
    ("kind", "options", "match"),
    [
        (eb.PSLB, {"noise": -1.0}, "noise is -1; expected a number of at least 0"),
        (eb.PSLB, {"noise": None}, "noise is None; expected a number"),
        (eb.PSLB, {"noise": 0.1, "rank": 0}, "rank is 0; expected a whole number"),
        (eb.PSLB, {"noise": 0.1, "rank": 2.5}, "rank is 2.5; expected a whole number"),
        (eb.PSLB, {"noise": 0.1, "rule": "bold"}, "rule is 'bold'; expected one of 'optimism', 'randomized', 'exact'"),
        (eb.PSLB, {"noise": 0.1, "rank": 2, "radius": "wide"}, "radius is 'wide'; expected one of 'sharp'"),
        (eb.PSLB, {"noise": 0.1, "subspace": "flat"}, "subspace is 'flat'; expected one of 'pca', 'streaming'"),
        (eb.PSLB, {"noise": 0.1, "subspace": "streaming", "center": "mean"}, "Streaming cannot follow a running mean"),
        (eb.PSLB, {"noise": "estimated"}, "noise is 'estimated'; expected the standard deviation"),
        (eb.PSLB, {"noise": 0.1, "ridge": 1e-60}, "ridge is 1e-60; expected a number from 1e-50 to 1e\\+50"),
        (eb.PSLB, {"noise": 0.1, "theta_bound": 1e60}, "theta_bound is 1e\\+60; expected a number from"),
        (eb.PSLB, {"noise": 0.1, "center": "median"}, "center is 'median'"),
        (eb.PSLB, {"noise": 0.1, "delta": 2.0}, "delta is 2"),
        (eb.PSLB, {"noise": 0.1, "projection_error": "theorem"}, "structure is None; expected an eb.Structure"),
        (eb.PSLB, {"noise": 0.1, "dtype": "float16"}, "dtype is 'float16'; expected one of 'float64', 'float32'"),
        (eb.PSLB, {"noise": 0.1, "rule": "sampled", "samples": 0}, "samples is 0"),
        (eb.OFUL, {"noise": 0.1, "ridge": -1.0}, "ridge is -1; expected a number above 0"),
        (eb.LinUCB, {"multiplier": -1.0}, "radius is -1|multiplier is -1"),
        (eb.LinTS, {"noise": 0.1, "scale": -1.0}, "scale is -1"),
        (eb.SOFUL, {"noise": 0.1, "size": 0}, "size is 0; expected a whole number"),
        (eb.CBSCFD, {"noise": 0.1, "radius": "paper"}, "radius is 'paper'; expected one of 'logdet'"),
        (eb.EpsilonGreedy, {"epsilon": 1.5}, "epsilon is 1.5; expected a number from 0 to 1"),
        (eb.Oracle, {"theta": [np.nan, 1.0]}, "theta holds nan"),
    ],
)
def test_bad_options_are_named_in_one_sentence(kind: Any, options: dict[str, Any], match: str):
    with pytest.raises(ValueError, match=match) as caught:
        kind(**options)
    assert str(caught.value).endswith(".")


def test_an_oracle_has_no_regret_and_chance_has_much():
    environment = LowRank(dim=8, rank=2, arms=5)
    oracle = eb.run(eb.Oracle(), environment, rounds=200, seed=1)
    assert oracle.regret[-1] == pytest.approx(0.0, abs=1e-9)
    chance = eb.run(eb.Random(seed=0), environment, rounds=200, seed=1)
    assert chance.regret[-1] > 20.0


@pytest.mark.parametrize("make", [eb.OFUL, eb.LinTS, eb.PSLB, eb.ProjectedThompson, eb.SOFUL, eb.CBSCFD])
def test_who_learns_does_better_than_chance(make):
    environment = LowRank(dim=10, rank=2, arms=5, noise=0.1)
    trace = eb.run(make(noise=0.1, seed=0), environment, rounds=400, seed=1)
    chance = eb.run(eb.Random(seed=0), environment, rounds=400, seed=1)
    assert trace.regret[-1] < 0.5 * chance.regret[-1]
    # Regret flattens: the second half costs less than the first.
    assert trace.regret[-1] - trace.regret[199] < trace.regret[199]


def test_where_there_is_a_subspace_pslb_needs_less_than_oful():
    """d = 60, m = 2: over 5 seeds the mean regret of PSLB, told the rank or not, is below two thirds of OFUL's."""
    environment = LowRank(dim=60, rank=2, arms=10, noise=0.3, perturbation=1.0)
    regrets = {
        name: np.mean([eb.run(make(), environment, rounds=400, seed=seed).regret[-1] for seed in range(5)])
        for name, make in {
            "oful": lambda: eb.OFUL(noise=0.3),
            "auto": lambda: eb.PSLB(noise=0.3),
            "told": lambda: eb.PSLB(noise=0.3, rank=2),
        }.items()
    }
    assert regrets["auto"] < 0.67 * regrets["oful"]
    assert regrets["told"] < 0.67 * regrets["oful"]


class Impatient(eb.OFUL):
    """A named algorithm with a constructor of its own, as users write them."""

    def __init__(self, *, patience: int, noise: float = 0.5, seed: int | None = None) -> None:
        super().__init__(noise=noise, seed=seed)
        self.patience = patience


def test_a_subclass_may_have_a_constructor_of_its_own(tmp_path):
    policy = Impatient(patience=3, seed=1)
    assert policy.params() == {"patience": 3, "noise": 0.5, "seed": 1}
    policy.learn(policy.choose(np.eye(3)), 1.0)
    policy.save(tmp_path / "policy.eb")
    loaded = eb.load(tmp_path / "policy.eb")
    assert isinstance(loaded, Impatient)
    assert loaded.clone().params() == policy.params()
    assert loaded.choose(np.eye(3)).upper == policy.choose(np.eye(3)).upper
