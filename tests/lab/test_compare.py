"""Comparisons against the runner alone, and their summaries against numbers worked out by hand."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.environments import LowRank
from eigenbandits.lab import demo
from eigenbandits.lab.compare import Play, compare, paper_line_up, regret_table, summarize
from eigenbandits.lab.run import run

SMALL = LowRank(dim=8, rank=2, arms=5, perturbation=1.0)


def test_every_play_is_what_the_runner_gives_for_its_seed():
    found = compare(SMALL, rounds=40, seeds=3, only=["OFUL", "Greedy"])
    assert list(found) == ["OFUL", "Greedy"]
    for seed in range(3):
        for name, policy in (("OFUL", eb.OFUL(noise=0.5)), ("Greedy", eb.Greedy())):
            play = found[name][seed]
            assert (play.policy, play.seed) == (name, seed)
            np.testing.assert_array_equal(play.regret, run(policy, SMALL, 40, seed).regret)


def test_the_share_is_the_value_earned_over_the_best_value():
    play = compare(SMALL, rounds=40, seeds=1, only=["Greedy"])["Greedy"][0]
    trace = run(eb.Greedy(), SMALL, 40, 0)
    rounds = list(islice(SMALL.instance(0).rounds(), 40))
    earned = sum(offered.values[index] for offered, index in zip(rounds, trace.choices, strict=True))
    assert play.share == pytest.approx(earned / sum(offered.values.max() for offered in rounds))


def test_processes_change_nothing_but_the_time():
    alone = compare(SMALL, rounds=20, seeds=2, only=["PSLB", "LinTS"])
    spread = compare(SMALL, rounds=20, seeds=2, only=["PSLB", "LinTS"], workers=2)
    for name in alone:
        for one, other in zip(alone[name], spread[name], strict=True):
            np.testing.assert_array_equal(one.regret, other.regret)
            assert (one.policy, one.seed, one.share, one.rank) == (other.policy, other.seed, other.share, other.rank)


def test_the_whole_line_up_plays():
    found = compare(SMALL, rounds=15, seeds=1, line_up=paper_line_up)
    assert [name for name, plays in found.items() if len(plays) == 1] == list(paper_line_up(SMALL.instance(0), 0))
    for plays in found.values():
        assert np.all(np.diff(plays[0].regret) >= 0.0)


def test_with_the_papers_constants_pslb_is_oful_until_its_warm_up_ends():
    # Γ, α and n_δ of this problem ask for thousands of rounds, so ε is 1 and the ambient set decides alone.
    names = ["PSLB, paper, general", "PSLB, paper, worst case", "OFUL, paper"]
    found = compare(LowRank(dim=8, rank=2, arms=5), rounds=60, seeds=2, only=names)
    for seed in range(2):
        general, worst, oful = (found[name][seed].regret for name in names)
        np.testing.assert_array_equal(general, oful)
        np.testing.assert_array_equal(worst, oful)


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="'PSBL' is not in the line-up; expected one of 'EigenUCB'"):
        compare(SMALL, rounds=5, seeds=1, only=["PSBL"])


def plays(name, finals, *, rank=None):
    return [
        Play(name, seed, np.array([0.0, final]), share=0.5 + seed / 10, seconds=3e-5, pass_seconds=1e-6, rank=rank)
        for seed, final in enumerate(finals)
    ]


def test_the_summary_is_that_worked_out_by_hand():
    row = summarize({"A": plays("A", [1.0, 3.0, 5.0], rank=4)})[0]
    assert row["policy"] == "A"
    assert row["seeds"] == 3
    assert row["regret"] == 3.0
    assert row["standard_error"] == pytest.approx(2.0 / np.sqrt(3.0))
    assert row["share"] == pytest.approx(0.6)
    assert row["time"] == pytest.approx(30.0)
    assert row["microseconds"] == pytest.approx(30.0)
    assert row["rank"] == 4
    # All three draws are 1 with probability 1/27 > 2.5 %, so the band reaches both ends.
    assert (row["band_low"], row["band_high"]) == (1.0, 5.0)


def test_the_table_shows_the_summary():
    lines = regret_table(summarize({"A": plays("A", [1.0, 3.0, 5.0]), "Longer name": plays("B", [7.0])})).splitlines()
    assert lines[0].split("  ")[0] == "policy"
    assert lines[2].split() == ["A", "3.0", "±", "1.2", "1.0", "to", "5.0", "60.0", "%", "30", "×"]
    assert lines[3].split() == ["Longer", "name", "7.0", "–", "7.0", "to", "7.0", "50.0", "%", "30", "×"]
    assert "band" not in regret_table(summarize({"A": plays("A", [1.0])}), band=False)


@pytest.mark.parametrize(
    ("own", "rival", "words"),
    [
        (10.0, 25.0, "EigenUCB lost 2.5 times less than LinTS, the best of those that know no subspace"),
        (30.0, 25.0, "LinTS lost least here"),
    ],
)
def test_the_demo_says_who_won(own, rival, words):
    rows = summarize(
        {
            "EigenUCB": plays("EigenUCB", [own], rank=4),
            "PSLB, rank told": plays("PSLB, rank told", [5.0], rank=4),  # told what the others are not
            "OFUL": plays("OFUL", [50.0]),
            "LinTS": plays("LinTS", [rival]),
        }
    )
    text = demo.meaning(rows, demo.ENVIRONMENT)
    assert words in text
    assert "4 of 100 dimensions stand out" in text


def test_the_demo_plays_the_papers_model():
    env = demo.ENVIRONMENT
    assert (env.dim, env.rank, env.arms, env.perturbation, env.noise) == (100, 4, 10, 9.0, 0.5)
    made = {name: make() for name, make in demo.line_up(env.instance(0), 3).items()}
    assert {name: type(policy).__name__ for name, policy in made.items()} == {
        "EigenUCB": "EigenUCB",
        "PSLB, rank told": "PSLB",
        "OFUL": "OFUL",
        "OFUL, tuned": "RidgeOFUL",
        "LinUCB": "LinUCB",
        "LinTS": "LinTS",
    }
    assert repr(made["EigenUCB"]) == "EigenUCB(seed=3)"  # nothing is set
    assert repr(made["PSLB, rank told"]) == "PSLB(noise=0.5, rank=4, seed=3)"


def test_a_policy_that_looks_first_is_judged_by_the_rounds_that_it_played():
    # The share of the best must not count the rounds that `reveal` looked at.
    found = compare(SMALL, rounds=20, seeds=1, only=["OFUL, tuned"], first_seed=7)["OFUL, tuned"][0]
    offered = islice(SMALL.instance(7).rounds(), 20)
    assert found.seed == 7
    assert found.share == pytest.approx(1.0 - found.regret[-1] / sum(one.best for one in offered))
