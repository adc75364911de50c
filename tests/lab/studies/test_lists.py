"""Lists of films: what is offered, who plays, and a table that is checked against the runs themselves."""

import csv
from itertools import islice
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import eigenbandits as eb
from eigenbandits import cli, extras
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.studies.lists import peers, recommenders, study
from eigenbandits.lab.studies.lists.environment import FilmLists


@pytest.fixture
def file(tmp_path):
    """Write films of which the first number says whether they are liked; one user has rated too few of them."""
    rng = np.random.default_rng(1)
    items = rng.standard_normal((130, 4))
    ratings = np.where(items[:, 0] > 0, 5, 2)[None] * np.ones((6, 1), dtype=int)
    ratings[:, :10] = 0
    ratings[2, 50:] = 0
    path = tmp_path / "problems" / "rec_ml100k.npz"
    path.parent.mkdir()
    np.savez(path, items=items, user=np.eye(6)[:, :3] + 1.0, rating=ratings)
    return path


def test_a_visit_is_a_user_and_films_that_the_user_has_rated(file):
    environment = FilmLists(str(file))
    with np.load(file) as arrays:
        items, users, ratings = arrays["items"], arrays["user"], arrays["rating"]
    one, other = (list(islice(environment.instance(3).visits(), 20)) for _ in range(2))
    for visit, again in zip(one, other, strict=True):
        np.testing.assert_array_equal(visit.films, again.films)
        assert len(set(visit.films.tolist())) == 100
        assert visit.films.min() >= 10
        np.testing.assert_array_equal(visit.liked, ratings[0, visit.films] >= 4)
        expected = np.array([np.kron(visit.user, [*items[film], 1.0]) for film in visit.films])
        np.testing.assert_allclose(visit.actions, expected)
        # The third user has rated 40 films only.
        assert (visit.user == users[[0, 1, 3, 4, 5]]).all(axis=1).any()
    with pytest.raises(ValueError, match=r"has no user who has rated 121 films\.$"):
        next(FilmLists(str(file), films=121).instance(0).visits())
    with pytest.raises(ValueError, match="has no known θ"):
        _ = environment.instance(0).theta


def played(recommender, file, rounds=12, seed=5):
    return eb.run(recommender, FilmLists(str(file)), rounds=rounds, seed=seed)


@pytest.mark.parametrize(
    "make",
    [
        recommenders.ListRecommender,
        lambda seed: recommenders.SequentialRecommender(at_once=True, seed=seed),
        lambda seed: recommenders.SequentialRecommender(at_once=False, seed=seed),
        recommenders.PartsRecommender,
        recommenders.SingleRecommender,
    ],
    ids=["choose_list", "one by one", "one by one, late", "parts", "single"],
)
def test_our_players_find_the_films_that_are_liked(make, file):
    """Once a few lists have been seen, all ten films are liked, as half of all films are."""
    trace = played(make(0), file)
    assert trace.rewards[6:].mean() > 9.0
    np.testing.assert_array_equal(np.diff(trace.regret, prepend=0.0), 10.0 - trace.rewards)
    np.testing.assert_array_equal(trace.rewards, played(make(0), file).rewards)


def test_chance_likes_half_of_the_films(file):
    rewards = played(recommenders.RandomRecommender(seed=0), file, rounds=400).rewards
    share = next(FilmLists(str(file)).instance(5).visits()).liked.mean()
    assert rewards.mean() == pytest.approx(10 * share, abs=0.5)
    assert 1.0 < rewards.std() < 2.0


def test_vowpal_wabbit_fills_the_slots(file):
    pytest.importorskip("vowpalwabbit", reason="Vowpal Wabbit comes with the extra 'peers'")
    for options in ("", "--squarecb"):
        rewards = played(peers.VowpalWabbitSlots(options, seed=0), file, rounds=60).rewards
        assert rewards[40:].mean() > rewards[:5].mean() - 1.0
        assert rewards[40:].mean() > 6.0


def test_mab2rec_recommends_what_is_on_offer(file):
    pytest.importorskip("mab2rec", reason="mab2rec comes with the extra 'peers'")
    rewards = played(peers.Mab2Rec(seed=0), file, rounds=40).rewards
    assert rewards[30:].mean() > 6.5


def test_who_is_missing_is_skipped_with_a_reason(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    reasons = {label: candidate.skip() for label, candidate in study.CANDIDATES.items()}
    assert {label for label, reason in reasons.items() if reason} == {
        *("mab2rec LinUCB", "mab2rec LinUCB 0.1", "VW ccb", "VW ccb squarecb"),
    }
    assert reasons["mab2rec LinUCB"] == 'mab2rec needs mab2rec; run: pip install "eigenbandits[peers]"'


def test_the_command_prints_what_the_runs_earned(file, tmp_path, monkeypatch):
    kept = ("choose_list", "choose and learn, 10 times", "chance")
    monkeypatch.setattr(study, "CANDIDATES", {label: study.CANDIDATES[label] for label in kept})
    arguments = ["--data", tmp_path, "--rounds", 8, "--seeds", 2, "--first-seed", 7, "--engine", "serial"]
    result = CliRunner().invoke(cli.app(), ["lists", *map(str, arguments), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    with (tmp_path / "out" / "lists.csv").open(newline="") as opened:
        rows = {row["candidate"]: row for row in csv.DictReader(opened)}
    assert list(rows) == list(kept)
    makers: dict[str, Any] = {
        kept[0]: recommenders.ListRecommender,
        kept[1]: lambda seed: recommenders.SequentialRecommender(True, seed),
        kept[2]: recommenders.RandomRecommender,
    }
    rewards = {
        label: np.array([played(make(seed), file, 8, seed).rewards for seed in (7, 8)])
        for label, make in makers.items()
    }
    for label, earned in rewards.items():
        row = rows[label]
        assert float(row["mean"]) == pytest.approx(earned.mean())
        assert float(row["first"]) == pytest.approx(earned[:, :2].mean())
        assert float(row["last"]) == pytest.approx(earned[:, 6:].mean())
        more = (rewards["choose_list"] - earned).mean(axis=1)
        assert float(row["behind"]) == pytest.approx(more.mean(), abs=1e-12)
        # Student's 97.5 % point with one degree of freedom is 12.706, and the standard error half of the difference.
        assert float(row["high"]) - float(row["behind"]) == pytest.approx(12.706 * abs(np.diff(more)[0]) / 2, rel=1e-3)
        assert f"{earned.mean():.3f}" in result.stdout
    with pytest.raises(LabError, match="eigenbandits data fetch movielens"):
        study.find_file(tmp_path / "nowhere")
