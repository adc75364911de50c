"""What is run: the panels of the paper, the policies of each group, and where features come from."""

import tomllib
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.belief import Both, Projected
from eigenbandits.environments import Digits, LowRank
from eigenbandits.environments.digits.network import Network, load_images
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import Experiment
from eigenbandits.papers.lale2019 import GROUPS, Block, Study, all_blocks, groups, line_up, paper_figures, study
from eigenbandits.papers.lale2019.policies import Longest
from eigenbandits.papers.lale2019.settings import length
from eigenbandits.rules import Optimism, SampledOptimism

RANKS = (1, 2, 4, 8, 16)


def test_the_paper_has_76_panels():
    """Figure 1: three datasets, regret and accuracy. Seven more: five m, regret and accuracy."""
    panels = {name: figure.panels for name, figure in paper_figures().items() if name.isdigit()}
    assert panels == {"1": 6} | {str(number): 10 for number in range(2, 9)}
    assert sum(panels.values()) == 76


def test_the_grids_are_those_of_the_appendix():
    grids = {figure.blocks[0] for name, figure in paper_figures().items() if name.isdigit() and name != "1"}
    assert grids == {f"{data}-d{dim}" for data in ("mnist", "cifar10") for dim in (100, 500, 1000)} | {"imagenet-d100"}
    assert paper_figures()["1"].chosen(None) == [Block("mnist", 1000), Block("cifar10", 1000), Block("imagenet", 100)]
    # ImageNet has no ReLU layer: its panel stays as it is.
    assert [block.layer for block in paper_figures()["1"].chosen("relu")] == ["relu", "relu", "linear"]


def test_full_scale_is_what_was_asked_for():
    for dim in (100, 500, 1000):
        mnist, cifar = length(Block("mnist", dim), "full"), length(Block("cifar10", dim), "full")
        assert mnist.rounds >= 5_000
        assert mnist.seeds >= 5
        assert cifar.seeds >= 3
        assert mnist.images == cifar.images == 0  # all of them
    assert length(Block("imagenet", 100), "full").seeds >= 3
    assert length(Block("mnist", 100), "full", "others").seeds == 3


@pytest.mark.parametrize(("layer", "center"), [("linear", "none"), ("relu", "differences")])
def test_as_the_paper_ran_them(layer, center):
    block = Block("mnist", 500, layer)
    found = line_up(block, "paper")
    assert list(found) == ["OFUL", *(f"PSLB m={m}" for m in RANKS)]
    for label, policy in found.items():
        assert isinstance(policy.rule, SampledOptimism)
        assert policy.rule.samples == 1000
        assert policy.centering.kind == center
        assert (policy.noise, policy.theta_bound, policy.ridge, policy.delta) == (0.5, 1.0, 1.0, 0.01)
        if label != "OFUL":
            assert isinstance(policy.belief, Projected)
            assert policy.belief.radius == "general"
    assert found["OFUL"].belief.radius == "paper"
    assert [found[f"PSLB m={m}"].subspace.rank for m in RANKS] == list(RANKS)


def test_figure_1_plays_the_intersection_as_section_5_does():
    assert paper_figures()["1"].intersection
    assert not any(figure.intersection for name, figure in paper_figures().items() if name != "1")
    for block in paper_figures()["1"].chosen(None):
        assert "intersection" in groups(block)
        played = line_up(block, "intersection")
        # Its m alone; the other m of the appendix are played over the projected set.
        assert list(played) == ["PSLB∩ m=1"]
        policy = played["PSLB∩ m=1"]
        assert isinstance(policy.belief, Both)
        assert isinstance(policy.rule, SampledOptimism)
        assert (policy.rule.samples, policy.belief.projected.radius) == (1000, "general")
    assert len(line_up(Block("mnist", 100), "intersection")) == len(RANKS)


def test_the_other_groups_change_one_thing_each():
    block = Block("mnist", 100, "relu")
    assert set(groups(block)) == set(GROUPS) - {"intersection", "others", "scaled"}
    assert set(groups(Block("mnist", 100))) == set(GROUPS) - {"uncentred"}
    for policy in line_up(block, "intersection").values():
        assert isinstance(policy.belief, Both)
        assert policy.belief.ambient.radius == "paper"
    for policy in line_up(block, "closed").values():
        assert isinstance(policy.rule, Optimism)
    for radius in ("sharp", "worst-case"):
        for policy in line_up(block, radius).values():
            assert (policy.belief.radius, policy.rule.samples) == (radius, 1000)
    for policy in line_up(block, "uncentred").values():
        assert policy.centering.kind == "none"
    strong = line_up(Block("mnist", 1000), "strong")
    assert strong["OFUL λ=R²d"].ridge == 0.25 * 1000
    assert strong["OFUL log-det"].radius == "logdet"
    assert strong["EigenUCB, nothing set"].params() == eb.EigenUCB().params()


def test_a_file_of_an_experiment_plays_oful_with_the_ridge_of_each_environment(tmp_path):
    file = Path(__file__).parents[3] / "examples" / "experiments" / "images.toml"
    asked = tomllib.loads(file.read_text(encoding="utf-8"))
    policies = {name: about for name, about in asked["policies"].items() if name.startswith("OFUL, λ = R²d")}
    assert len(policies) == 2
    narrow = {"kind": "LowRank", "dim": 8, "rank": 2, "arms": 5}
    environments = {"digits": asked["environments"]["digits"], "narrow": narrow}
    found = Experiment("ridges", policies, environments, seeds=1, rounds=30).run(tmp_path, engine="serial")
    for environment, made, dim in (("digits", Digits(), 100), ("narrow", LowRank(dim=8, rank=2, arms=5), 8)):
        for name, about in policies.items():
            alone = eb.OFUL(noise=0.5, ridge=dim / 4, center=about.get("center", "none"), seed=0)
            played = eb.run(alone, made, rounds=30, seed=0)
            assert found.curve("regret", name, environment).values[0, -1] == pytest.approx(played.regret[-1])


def test_the_ridge_is_one_in_the_units_of_the_network():
    """Actions 20 times as long, with λ = 1, are the scaled actions with λ = 1/400."""
    block = Block("digits", 100)
    for group in ("paper", "intersection", "sharp", "worst-case", "closed"):
        assert {policy.ridge for policy in line_up(block, group, unit=20.0).values()} == {1 / 400}
    assert {policy.ridge for policy in line_up(block, "scaled", unit=20.0).values()} == {1.0}
    first = np.concatenate([Network.shipped(False).segments(load_images()[0])])
    assert study.unit(block) == pytest.approx(np.sqrt(np.square(first).sum(axis=2).mean()))
    policy, long = line_up(block, "paper", unit=20.0)["PSLB m=2"], line_up(block, "paper")["PSLB m=2"]
    long = type(long)(**(long.params() | {"theta_bound": 1 / 20, "seed": 0}))
    policy = type(policy)(**(policy.params() | {"seed": 0}))
    for offered in islice(Digits().instance(0).rounds(), 40):
        one, other = policy.choose(offered.actions), long.choose(20.0 * offered.actions)
        assert one.index == other.index
        policy.learn(one, offered.reward(one.index))
        long.learn(other, offered.reward(one.index))


def test_the_longest_action():
    actions = np.array([[5.0, 0.0], [5.0, 1.0], [5.0, 0.1]])
    assert Longest().choose(actions).index == 1  # √26
    # Around the mean (5, 1.1/3) the lengths are 0.37, 0.63 and 0.27.
    assert Longest("differences").choose(actions - [0.0, 0.5]).index == 1
    assert Longest("differences").choose(np.array([[9.0, 0.0], [9.0, 0.0], [8.0, 0.0]])).index == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("minst-d100-linear", "there is no dataset 'minst'; did you mean 'mnist'?"),
        ("mnist-d100-product", "MNIST has no layer 'product'; expected linear or relu with --layer."),
        ("imagenet-d500-linear", "ImageNet is not run with d = 500; expected one of [100]."),
    ],
)
def test_blocks_that_are_not_in_the_paper_are_refused(name, message):
    with pytest.raises(LabError) as refused:
        Block.named(name)
    assert str(refused.value) == message


def test_features_that_are_missing_are_named_with_the_command_that_makes_them(tmp_path):
    with pytest.raises(LabError, match="eigenbandits features make mnist --dim 500 --layer relu"):
        Study(Block("mnist", 500, "relu"), "paper", "quick").experiment(tmp_path)


def test_another_network_has_a_name_of_its_own(tmp_path):
    block = paper_figures()["7"].chosen("relu", "resnet18")[0]
    assert (block.name, block.network) == ("cifar10-d1000-relu-resnet18", "resnet18")
    with pytest.raises(LabError, match="cifar10-resnet18-d1000-relu"):
        Study(block, "paper", "quick").experiment(tmp_path)
    with pytest.raises(LabError, match="figure 1 has several networks; use --network with a figure that has one"):
        paper_figures()["1"].chosen(None, "resnet18")


def test_what_matters_most_is_run_first():
    blocks = all_blocks()
    assert len(set(blocks)) == len(blocks) == 2 + 6 + 6 + 2
    assert blocks[:2] == [Block("mnist", 100), Block("mnist", 1000)]
    assert {block.layer for block in blocks[-7:]} == {"relu"}
    found = study.studies("full")
    assert len(set(found)) == len(found) == sum(len(groups(block)) for block in blocks)
    assert [one.group for one in found[:8]] == ["paper"] * 8
    assert {one.block.dataset for one in found[-14:]} == {"digits"}
