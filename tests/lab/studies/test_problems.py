"""The real problems: each against a twin written out by hand, the ratios on a table that fits a page, the command."""

import csv
import os
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("sklearn", reason='run: pip install "eigenbandits[digits]"')
pytest.importorskip("pyarrow", reason='run: pip install "eigenbandits[lab]"')

from matplotlib import image
from typer.testing import CliRunner

import eigenbandits as eb
from eigenbandits import cli
from eigenbandits.environments import Classification, Environment
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import cells
from eigenbandits.lab.studies.problems import catalogue, policies, preparation, study
from eigenbandits.lab.studies.problems.environments import (
    LabeledTable,
    LabeledTexts,
    RankedDocuments,
    RatedFilms,
    RoutedPrompts,
    ShippedTable,
)
from eigenbandits.lab.studies.problems.peers import EXPLORATIONS, VowpalWabbit
from eigenbandits.lab.studies.problems.table import RegretTable

SHARED = Path(os.environ.get("EIGENBANDITS_DATA") or "nowhere") / "problems"
# K, where it is always the same, and d.
SHAPES = {
    "adult": (2, 218),
    "agnews64": (4, 260),
    "breastcancer": (2, 62),
    "covertype": (7, 371),
    "letter": (26, 442),
    "mushroom": (2, 234),
    "optdigits": (10, 630),
    "page-blocks": (5, 55),
    "satimage": (6, 222),
    "shuttle": (7, 70),
    "waveform-40": (3, 123),
    "wine": (3, 42),
    "agnews": (4, 384),
    "banking77": (77, 384),
    "movielens": (10, 408),
    "movielens-items": (10, 32),
    "ranking": (None, 218),
    "routing": (2, 130),
}


def seen(environment, seed, count):
    return list(islice(environment.instance(seed).rounds(), count))


def written(path, **arrays):
    np.savez(path, **arrays)
    return str(path)


@pytest.fixture
def texts(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {"Q": rng.standard_normal((9, 4)).astype(np.float16), "C": rng.standard_normal((3, 4)).astype(np.float16)}
    return LabeledTexts(written(tmp_path / "texts.npz", y=np.arange(9) % 3, **arrays))


def test_texts_are_multiplied_with_centered_labels_to_length_one(texts):
    q, c, y = (texts.arrays[name].astype(float) for name in ("Q", "C", "y"))
    products = np.array(
        [[[q[i, j] * (c[k, j] - c[:, j].mean()) for j in range(4)] for k in range(3)] for i in range(9)]
    )
    products /= np.sqrt((products**2).sum(axis=2).mean())
    rounds = seen(texts, 3, 9)
    for offered in rounds:
        (i,) = (i for i in range(9) if np.allclose(products[i], offered.actions))
        assert [offered.reward(k) for k in range(3)] == [float(k == y[i]) for k in range(3)]
    assert np.mean([(o.actions**2).sum(axis=1) for o in rounds]) == pytest.approx(1.0)  # every text comes once
    assert texts.instance(0).basis.shape == (4, 0)


@pytest.fixture
def films(tmp_path):
    rng = np.random.default_rng(1)
    ratings = rng.integers(0, 6, (5, 40)).astype(np.int8)
    ratings[2] = 0
    ratings[2, :9] = 5  # too few films to offer ten
    arrays = {"items": rng.standard_normal((40, 20)), "user": rng.standard_normal((5, 3)), "rating": ratings}
    return written(tmp_path / "films.npz", **arrays)


def test_ten_rated_films_are_offered_and_four_stars_are_liked(films):
    items, users, ratings = RatedFilms(films).arrays.values()
    asked = set()
    alone, told = (seen(RatedFilms(films, users=flag), 4, 60) for flag in (False, True))
    for plain, crossed in zip(alone, told, strict=True):
        shown = [int(np.flatnonzero((items == row).all(axis=1))[0]) for row in plain.actions]
        assert len(set(shown)) == 10
        (user,) = (
            u
            for u in range(5)
            for twin in [np.array([np.kron(users[u], [*items[f, :16], 1.0]) for f in shown])]
            if np.allclose(twin, crossed.actions)
        )
        asked.add(user)
        assert (ratings[user, shown] > 0).all()
        for offered in (plain, crossed):
            assert offered.values.tolist() == [float(ratings[user, f] in (4, 5)) for f in shown]
    assert asked == {0, 1, 3, 4}
    assert (RatedFilms(films).dim, RatedFilms(films, users=False).dim) == (3 * 17, 20)


def test_documents_of_a_query_come_together(tmp_path):
    f = np.arange(12.0).reshape(6, 2)
    file = written(tmp_path / "documents.npz", F=f, rel=np.array([0, 4, 1, 2, 3, 0]), query=np.array([1, 3, 2]))
    first, second = seen(RankedDocuments(file), 0, 6)[:3], seen(RankedDocuments(file), 0, 6)[3:]
    for rounds in (first, second):  # all queries before any comes again
        found = sorted(([row.tolist() for row in o.actions], o.values.tolist()) for o in rounds)
        assert found == [
            ([[0.0, 1.0]], [0.0]),
            ([[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]], [1.0, 0.25, 0.5]),
            ([[8.0, 9.0], [10.0, 11.0]], [0.75, 0.0]),
        ]


def test_prompts_are_routed_to_a_strong_or_a_weak_model(tmp_path):
    y = np.array([[True, False], [True, True], [False, False]])
    p = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=np.float16)
    for offered in seen(RoutedPrompts(written(tmp_path / "prompts.npz", P64=p, y=y)), 1, 3):
        (i,) = np.flatnonzero(p[:, 0] == offered.actions[0, 0])
        a, b = p[i]
        assert offered.actions.tolist() == [[a, b, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, a, b, 1.0]]
        assert offered.values == pytest.approx([y[i, 0] - 0.13, float(y[i, 1])])


def test_a_seed_is_an_order_that_repeats_itself(texts, films):
    for environment in (texts, RatedFilms(films), RatedFilms(films, users=False), ShippedTable("iris")):
        streams = [np.array([o.actions[0] for o in seen(environment, seed, 12)]) for seed in (1, 1, 2)]
        np.testing.assert_array_equal(streams[0], streams[1])
        assert not np.array_equal(streams[0], streams[2])
        assert isinstance(environment, Environment)
        with pytest.raises(ValueError, match=r"θ\*"):
            _ = environment.instance(0).theta


def test_a_file_that_holds_something_else_is_refused(tmp_path):
    file = written(tmp_path / "other.npz", Q=np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"other\.npz is truncated, or does not hold the arrays X, y"):
        LabeledTable(file).instance(0)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        LabeledTexts(str(tmp_path / "none.npz")).instance(0)
    (tmp_path / "other.npz").write_bytes(b"PK no archive")
    with pytest.raises(ValueError, match="truncated"):
        RoutedPrompts(file).instance(0)


@pytest.mark.parametrize("name", SHAPES)
def test_the_shared_problems_have_their_shapes_and_rewards(name):
    if not (SHARED / catalogue.CATALOGUE[name].file).is_file():
        pytest.skip(f"{name} is not there; set EIGENBANDITS_DATA to the folder of the data")
    environment = catalogue.available_problems(SHARED.parent, [name]).environments[name]
    arms, dim = SHAPES[name]
    rounds = seen(environment, 1, 200)
    for offered in rounds:
        assert offered.actions.shape == (arms or len(offered.values), dim)
        assert offered.noise == 0.0
    values = np.concatenate([offered.values for offered in rounds])
    if name == "routing":
        strong, weak = values[0::2] + 0.13, values[1::2]
        assert set(np.round(strong, 9)) | set(weak) == {0.0, 1.0}
        assert strong.mean() > weak.mean()
    elif name == "ranking":
        assert set(values) <= {0.0, 0.25, 0.5, 0.75, 1.0}
        assert len({len(offered.values) for offered in rounds}) > 5
    elif name.startswith("movielens"):
        # More than half of the ratings have four stars or five.
        assert 0.5 < values.mean() < 0.65
    else:
        assert all(offered.values.sum() == 1.0 for offered in rounds)
    if name in ("agnews", "banking77"):
        assert np.mean([np.square(o.actions).sum(axis=1).mean() for o in rounds]) == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize("name", ["wine", "breastcancer"])
def test_tables_of_scikit_learn_are_those_of_the_files(name):
    if not SHARED.is_dir():
        pytest.skip("the shared problems are not there; set EIGENBANDITS_DATA to the folder of the data")
    problem = catalogue.CATALOGUE[name]
    x, y = preparation.shipped(str(problem.table))
    with np.load(SHARED / problem.file) as found:
        np.testing.assert_allclose(found["X"], x, atol=1e-5)
        np.testing.assert_array_equal(found["y"], y)


def test_problems_in_the_folder_are_available_and_others_have_a_reason(tmp_path, texts):
    shipped = catalogue.available_problems(tmp_path)
    assert list(shipped.environments) == ["breastcancer", "wine", "iris", "digits"]
    assert "eigenbandits data fetch problems" in shipped.skipped["letter"]
    assert "sentence encoder" in shipped.skipped["banking77"]
    folder = tmp_path / "problems"
    folder.mkdir()
    Path(texts.file).rename(folder / "txt_agnews.npz")
    own = written(folder / "cls_mine.npz", X=np.eye(3), y=np.arange(3))
    found = catalogue.available_problems(tmp_path)
    assert found.environments == {"agnews": LabeledTexts(str(folder / "txt_agnews.npz")), "mine": LabeledTable(own)}
    assert "agnews" not in found.skipped
    named = catalogue.available_problems(tmp_path, ["iris", "letter"])
    assert named.environments == {"iris": ShippedTable("iris")}
    assert list(named.skipped) == ["letter"]
    with pytest.raises(LabError, match="there is no problem 'leter'; did you mean 'letter'"):
        catalogue.available_problems(tmp_path, ["leter"])
    with pytest.raises(LabError, match="no problem is available: letter: not in"):
        catalogue.available_problems(tmp_path, ["letter"])


# Three policies, of which the last was tuned, on two problems, with two seeds; 10 rounds.
TINY = RegretTable(
    ["a", "b", "c"],
    ["one", "two"],
    [False, False, True],
    np.array([[[2.0, 4.0], [0.0, 0.0]], [[3.0, 3.0], [1.0, 0.0]], [[1.0, 2.0], [4.0, 4.0]]]),
    rounds=10,
)


def test_ratios_by_hand():
    np.testing.assert_allclose(TINY.means, [[0.3, 0.0], [0.3, 0.05], [0.15, 0.4]])
    # On "two" the best untuned has no mistake in 20 rounds and counts as half a one: 0.025 for each round.
    assert TINY.floor == 0.025
    np.testing.assert_allclose(TINY.ratios, [[1.0, 1.0], [1.0, 2.0], [0.5, 16.0]])
    assert TINY.best.tolist() == [[True, True], [True, False], [False, False]]
    a, b, c = TINY.standings()
    assert (a.mean, a.worst, a.near) == (1.0, 1.0, 2)
    assert b.mean == pytest.approx(2**0.5)
    assert (b.worst, b.where, b.near, b.tuned) == (2.0, "two", 1, False)
    assert c.mean == pytest.approx(8**0.5)
    assert (c.worst, c.where, c.near, c.tuned) == (16.0, "two", 1, True)
    # With two seeds a standard error is half of the difference.
    np.testing.assert_allclose(TINY.errors, [[0.1, 0.0], [0.0, 0.05], [0.05, 0.0]], atol=1e-15)


def test_within_five_percent_counts_as_near():
    close = np.array([[[100.0]], [[104.9]], [[105.1]]])
    table = RegretTable(["a", "b", "c"], ["one"], [False] * 3, close, rounds=1000)
    assert [standing.near for standing in table.standings()] == [1, 1, 0]


def test_tables_in_markdown_and_text():
    lines = TINY.markdown().splitlines()
    assert lines[0] == "|  | a | b | c † |"
    assert lines[2] == "| one | **0.300** | **0.300** | 0.150 |"
    assert lines[3] == "| two | **0.000** | 0.050 | 0.400 |"
    assert "| b | 1.41 | 2.00 | two | 1 of 2 |" in lines
    assert "half a mistake" in lines[-1]
    text = TINY.text().splitlines()
    assert next(line for line in text if line.startswith("two")).split() == ["two", "0.000*", "0.050", "0.400"]
    assert TINY.rows()[1] == {
        "problem": "one",
        "policy": "b",
        "tuned": False,
        "regret_per_round": pytest.approx(0.3),
        "standard_error": 0.0,
        "ratio": 1.0,
    }


def test_policies_are_at_their_defaults_unless_they_are_marked_as_tuned(monkeypatch):
    everybody = policies.candidates()
    wanted = {"PSLB", "OFUL", "OFUL R²d", "LinUCB", "LinUCB 0.25", "LinUCB 0.1", "LinTS", "Greedy", "EpsilonGreedy"}
    assert wanted | {f"VW {name}" for name in ("squarecb", "regcb", "epsilon")} <= set(everybody)
    assert everybody["LinUCB"].policy.multiplier == everybody["LinUCB"].policy.ridge == 1.0
    assert everybody["OFUL"].policy.ridge == 1.0
    monkeypatch.setattr("eigenbandits.extras.find_spec", lambda name: None if name == "vowpalwabbit" else name)
    found, skipped = policies.available_policies(["LinUCB", "VW squarecb"])
    assert list(found) == ["LinUCB"]
    assert skipped == {
        "VW squarecb": 'Vowpal Wabbit needs vowpalwabbit; run: pip install "eigenbandits[peers]"',
    }
    with pytest.raises(LabError, match="there is no policy 'LinUBC'; did you mean 'LinUCB'"):
        policies.available_policies(["LinUBC"])
    with pytest.raises(LabError, match="leave no untuned policy to compare with"):
        policies.available_policies(["LinUCB 0.1", "VW squarecb"])


@pytest.mark.parametrize("exploration", EXPLORATIONS)
def test_vowpal_wabbit_learns_and_repeats_itself(exploration):
    pytest.importorskip("vowpalwabbit", reason='run: pip install "eigenbandits[peers]"')
    # Two classes that a line tells apart: chance is wrong in half of the rounds.
    x = np.random.default_rng(0).standard_normal((400, 3))
    environment = Classification(x, (x[:, 0] > 0).astype(int))
    first, again, other = (eb.run(VowpalWabbit(exploration, seed=s), environment, 400, 0) for s in (1, 1, 2))
    assert first.choices.tolist() == again.choices.tolist()
    assert first.regret[-1] - first.regret[199] < 50.0
    if exploration != "regcb":  # which breaks ties by chance only
        assert first.choices.tolist() != other.choices.tolist()


def test_an_unknown_exploration_is_refused():
    with pytest.raises(ValueError, match="exploration"):
        VowpalWabbit("magic")


def test_only_missing_cells_are_run(tmp_path, monkeypatch):
    played: list[str] = []
    real = cells.run_cell

    def play(text, *rest):
        played.append(text)
        return real(text, *rest)

    monkeypatch.setattr("eigenbandits.lab.experiments.engines.base.run_cell", play)
    found, _ = policies.available_policies(["LinUCB", "Greedy"])
    iris, wine = ({name: ShippedTable(name)} for name in ("iris", "wine"))
    study.experiment(found, iris, 2, 20, first_seed=50).run(tmp_path, progress="none")
    assert len(played) == 4
    results = study.experiment(found, iris | wine, 2, 20, first_seed=50).run(tmp_path, progress="none")
    assert len(played) == 8
    direct = eb.run(eb.LinUCB(seed=51), Classification(*preparation.shipped("wine")), 20, 51)
    assert results.final("regret")[0, 1, 1] == direct.regret[-1]
    assert results.seeds == [50, 51]


def test_the_command_prints_tables_and_writes_files(tmp_path):
    arguments = ["problems", "--data", str(tmp_path / "none"), "--problems", "iris,wine", "--rounds", "30"]
    arguments += ["--seeds", "2", "--first-seed", "7", "--engine", "serial", "--out", str(tmp_path / "out")]
    arguments += ["--policies", "LinUCB, Greedy", "--policies", "LinUCB 0.1"]
    result = CliRunner().invoke(cli.app(), arguments)
    assert result.exit_code == 0, result.output
    iris = Classification(*preparation.shipped("iris"))
    finals = [eb.run(eb.LinUCB(seed=seed), iris, 30, seed).regret[-1] for seed in (7, 8)]
    line = next(line for line in result.stdout.splitlines() if line.startswith("iris"))
    assert line.split()[1].rstrip("*") == f"{np.mean(finals) / 30:.3f}"
    with (tmp_path / "out" / "problems.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["policy"] for row in rows] == ["LinUCB", "LinUCB 0.1", "Greedy"] * 2
    found = next(row for row in rows if row["problem"] == "iris" and row["policy"] == "LinUCB")
    assert float(found["regret_per_round"]) == pytest.approx(np.mean(finals) / 30)
    with (tmp_path / "out" / "standings.csv").open(newline="") as file:
        assert [row["tuned"] for row in csv.DictReader(file)] == ["False", "True", "False"]
    page = (tmp_path / "out" / "problems.md").read_text()
    assert page.startswith("## Real decision problems\n\n|  | LinUCB | LinUCB 0.1 † | Greedy |\n")
    assert "- LinUCB: multiplier 1, λ = 1" in page
    pixels = image.imread(tmp_path / "out" / "ratios.png")
    assert pixels.shape[1] == 1200
    again = CliRunner().invoke(cli.app(), arguments)
    assert again.stdout == result.stdout
    assert "12 of 12 cells are finished; 0 to run" in again.stderr


def test_the_command_refuses_in_one_sentence(tmp_path, monkeypatch):
    refused = CliRunner().invoke(cli.app(), ["problems", "--problems", "irises", "--out", str(tmp_path)])
    assert refused.exit_code == 1
    assert refused.output == "Error: there is no problem 'irises'; did you mean 'iris'?\n"
    monkeypatch.setattr("eigenbandits.extras.find_spec", lambda name: None if name == "sklearn" else SimpleNamespace())
    with pytest.raises(ImportError, match=r'This study needs sklearn; run: pip install "eigenbandits\[digits\]"'):
        CliRunner().invoke(cli.app(), ["problems"], catch_exceptions=False)
