"""The comparison against single runs, and its summaries against numbers worked out by hand."""

from itertools import islice

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.environments import LowRank
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.studies import compare, demo
from eigenbandits.lab.studies.baselines import RidgeOFUL

SMALL = LowRank(dim=8, rank=2, arms=5, perturbation=1.0)


def played(folder, only, rounds=40, seeds=2, first_seed=0, environment=SMALL, **options):
    made = compare.experiment(environment, rounds, seeds, only, first_seed)
    return made.run(folder, progress="none", **options)


def test_regret_is_what_single_runs_give(tmp_path):
    results = played(tmp_path, ["OFUL", "Greedy"], seeds=3)
    assert results.policies == ["OFUL", "Greedy"]
    final = results.final("regret")[:, 0]
    for seed in range(3):
        assert final[0, seed] == eb.run(eb.OFUL(noise=0.5), SMALL, 40, seed).regret[-1]
        assert final[1, seed] == eb.run(eb.Greedy(), SMALL, 40, seed).regret[-1]


@pytest.mark.parametrize(("name", "policy"), [("Greedy", eb.Greedy()), ("OFUL, tuned", RidgeOFUL(noise=0.5))])
def test_the_share_is_the_value_earned_over_the_best_value(tmp_path, name, policy):
    # "OFUL, tuned" looks at rounds before the first, which must not count.
    (row,) = compare.rows(played(tmp_path, [name], seeds=1, first_seed=7), "model")
    trace = eb.run(policy, SMALL, 40, 7)
    rounds = list(islice(SMALL.instance(7).rounds(), 40))
    earned = sum(offered.values[index] for offered, index in zip(rounds, trace.choices, strict=True))
    assert row["share"] == pytest.approx(earned / sum(offered.values.max() for offered in rounds))


def test_the_time_is_a_multiple_of_one_pass_and_never_in_the_results(tmp_path):
    results = played(tmp_path, ["PSLB", "LinTS"], rounds=20)
    assert {"seconds", "seconds_median", "seconds_pass"} <= set(results.times.column_names)
    assert not any(name.startswith("seconds") for name in results.found.column_names)
    rows = compare.rows(results, "model")
    for p, row in enumerate(rows):
        each = results.final("seconds")[p, 0] / 20
        assert row["time"] == pytest.approx(np.median(each / results.final("seconds_pass")[p, 0]))
        assert row["microseconds"] == pytest.approx(1e6 * np.median(each))
    assert (rows[0]["rank"], rows[1]["rank"]) == (np.median(results.final("rank")[0, 0]), None)


def test_every_policy_runs(tmp_path):
    results = played(tmp_path, (), rounds=15, seeds=1)
    assert results.policies == list(compare.policies(8))
    for policy in results.policies:
        assert np.all(np.diff(results.curve("regret", policy, "model").values) >= 0.0)


def test_with_the_papers_constants_pslb_is_oful_until_its_warm_up_ends(tmp_path):
    # Γ, α and n_δ of this problem ask for thousands of rounds, so ε is 1 and the ambient set decides alone.
    names = ["PSLB, paper, general", "PSLB, paper, worst case", "OFUL, paper"]
    results = played(tmp_path, names, rounds=60, environment=LowRank(dim=8, rank=2, arms=5))
    general, worst, oful = (results.curve("regret", name, "model").values for name in names)
    np.testing.assert_array_equal(general, oful)
    np.testing.assert_array_equal(worst, oful)


def test_an_unknown_policy_is_refused():
    with pytest.raises(LabError, match="there is no policy 'PSBL'; did you mean 'PSLB'"):
        compare.experiment(SMALL, rounds=5, seeds=1, only=["PSBL"])


def test_the_summary_is_that_worked_out_by_hand(monkeypatch):
    class Fake:
        policies, environments, seeds = ["A"], ["model"], [0, 1, 2]
        about = {"settings": {"rounds": 10}}  # noqa: RUF012

        def final(self, column):
            values = {
                "regret": [1.0, 3.0, 5.0],
                "best": [2.0, 6.0, 10.0],
                "seconds": [3e-4] * 3,
                "seconds_pass": [1e-6] * 3,
                "rank": [4.0, 4.0, 5.0],
            }
            return np.array([[values[column]]])

        def has(self, column, environment):
            return True

    (row,) = compare.rows(Fake(), "model")  # type: ignore[arg-type]
    assert (row["policy"], row["seeds"], row["regret"], row["rank"]) == ("A", 3, 3.0, 4.0)
    assert row["standard_error"] == pytest.approx(2.0 / np.sqrt(3.0))
    assert row["share"] == pytest.approx(0.5)
    assert row["time"] == pytest.approx(30.0)
    # All three draws are 1 with probability 1/27 > 2.5 %, so the band reaches both ends.
    assert (row["band_low"], row["band_high"]) == (1.0, 5.0)


def row(policy, regret, error=1.155, rank=None):
    more = {"band_low": 1.0, "band_high": 5.0, "share": 0.6, "time": 30.0, "microseconds": 150.0, "rank": rank}
    return {"policy": policy, "regret": regret, "standard_error": error, **more}


def test_the_table_shows_the_summary():
    lines = compare.regret_table([row("A", 3.0), row("Longer name", 7.0, float("nan"))]).splitlines()
    assert lines[0].split("  ")[0] == "policy"
    assert lines[2].split() == ["A", "3.0", "±", "1.2", "1.0", "to", "5.0", "60.0", "%", "150", "µs", "30", "×"]
    assert lines[3].split() == ["Longer", "name", "7.0", "–", "1.0", "to", "5.0", "60.0", "%", "150", "µs", "30", "×"]
    assert "band" not in compare.regret_table([row("A", 3.0)], band=False)


@pytest.mark.parametrize(
    ("own", "rival", "words"),
    [
        (10.0, 25.0, "LinTS, the best policy that looks for no subspace, lost 2.5 times as much as EigenUCB"),
        (30.0, 25.0, "LinTS lost least here"),
    ],
)
def test_the_demo_says_who_won(own, rival, words):
    # PSLB knows what the others do not.
    rows = [row("EigenUCB", own, rank=4.0), row(demo.PAPER, 5.0, rank=4.0), row("OFUL", 50.0), row("LinTS", rival)]
    text = demo.meaning(rows)
    assert words in text
    assert "4 of 100 dimensions stand out" in text


def test_the_demo_runs_on_the_papers_model():
    env = demo.MODEL
    assert (env.dim, env.rank, env.arms, env.perturbation, env.noise) == (100, 4, 10, 9.0, 0.5)
    assert list(demo.experiment().environments) == ["digits", "model"]
    assert list(demo.experiment(images=False).environments) == ["model"]
    assert demo.POLICIES["EigenUCB"] == {}  # nothing is set
