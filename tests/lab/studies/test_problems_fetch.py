"""Fetching the problems, from servers and files of our own, and what is made of them, against small cases by hand."""

import hashlib
import json
import zipfile

import numpy as np
import pytest
from tests.lab.server import serving

from eigenbandits.lab.downloads import PackedFile, Source
from eigenbandits.lab.errors import DataError
from eigenbandits.lab.studies.problems import fetch, preparation
from eigenbandits.lab.studies.problems.catalogue import CATALOGUE, available_problems, state
from eigenbandits.lab.studies.problems.environments import LabeledTable, RankedDocuments

sklearn = pytest.importorskip("sklearn", reason='run: pip install "eigenbandits[digits]"')

ARFF = """@relation pets
@attribute weight numeric
@attribute color {red,blue,green}
@attribute kind {cat,dog}
@data
1,red,cat
2,?,dog
3,blue,dog
6,blue,cat
"""


@pytest.fixture
def openml(monkeypatch):
    """A server that answers as openml.org does, with one small table under the number 7."""
    from sklearn.datasets import _openml

    with serving() as server:
        content = ARFF.encode()
        description = {"id": "7", "name": "pets", "version": "1", "format": "ARFF", "status": "active", "file_id": "70"}
        description["description"] = "Four pets."
        description |= {"md5_checksum": hashlib.md5(content).hexdigest(), "url": server.address("data/v1/download/70")}
        columns = [("weight", "numeric"), ("color", "nominal"), ("kind", "nominal")]
        features = [
            {"index": str(i), "name": name, "data_type": kind, "is_target": "true" if name == "kind" else "false"}
            | {"is_ignore": "false", "is_row_identifier": "false", "number_of_missing_values": "0"}
            for i, (name, kind) in enumerate(columns)
        ]
        qualities = [{"name": "NumberOfInstances", "value": "4"}]
        server.content = {
            "/data/v1/download/70": content,
            "/api/v1/json/data/7": json.dumps({"data_set_description": description}).encode(),
            "/api/v1/json/data/features/7": json.dumps({"data_features": {"feature": features}}).encode(),
            "/api/v1/json/data/qualities/7": json.dumps({"data_qualities": {"quality": qualities}}).encode(),
        }
        found = False
        for name in ("_OPENML_PREFIX", "_DATA_INFO", "_DATA_FEATURES", "_DATA_QUALITIES"):
            if hasattr(_openml, name):  # where the address is kept has changed over the years
                found = True
                text = getattr(_openml, name)
                for home in ("https://www.openml.org/", "https://api.openml.org/", "https://openml.org/"):
                    text = text.replace(home, server.address())
                monkeypatch.setattr(_openml, name, text)
        assert found
        monkeypatch.setattr(fetch, "TABLES", {"letter": fetch.ExpectedTable(7, 4, 2)})
        yield server


def test_a_table_comes_from_openml_one_hot_and_standardized(openml, tmp_path):
    said: list[str] = []
    (path,) = fetch.fetch("letter", tmp_path, said.append)
    assert path == tmp_path / "problems" / "cls_letter.npz"
    with np.load(path) as found:
        x, y, classes = found["X"], found["y"], int(found["K"])
    assert (y.tolist(), classes) == ([0, 1, 1, 0], 2)
    # weight; red; blue; not given. Green never occurs, so that its column says nothing.
    raw = np.array([[1, 1, 0, 0], [2, 0, 0, 1], [3, 0, 1, 0], [6, 0, 1, 0]], dtype=float)
    np.testing.assert_allclose(x, (raw - raw.mean(0)) / raw.std(0), rtol=1e-6)
    assert said[0] == "letter: data set 7 of openml.org"
    asked = len(openml.asked)
    fetch.fetch("letter", tmp_path, said.append)
    assert len(openml.asked) == asked
    assert "already" in said[-1]
    assert available_problems(tmp_path).environments == {"letter": LabeledTable(str(path))}
    assert "1 in" in state(tmp_path)


def test_what_came_damaged_or_is_something_else_is_refused_and_leaves_nothing(openml, tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "TABLES", {"letter": fetch.ExpectedTable(7, 20_000, 26)})
    with pytest.raises(DataError, match="letter has 4 rows of 2 classes; expected 20,000 of 26"):
        fetch.fetch("letter", tmp_path, lambda line: None)
    openml.content["/data/v1/download/70"] = ARFF.replace("6", "7").encode()
    with pytest.raises(DataError, match=r"letter cannot be fetched \(.*checksum"):
        fetch.fetch("letter", tmp_path, lambda line: None)
    openml.content.clear()
    with pytest.raises(DataError, match="letter cannot be fetched"):
        fetch.fetch("letter", tmp_path, lambda line: None)
    assert not (tmp_path / "problems").exists()


def test_large_tables_are_cut_by_chance_but_the_same_way_each_time(openml, tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "_MOST_ROWS", 3)
    (first,) = fetch.fetch("letter", tmp_path / "one", lambda line: None)
    (second,) = fetch.fetch("letter", tmp_path / "two", lambda line: None)
    with np.load(first) as one, np.load(second) as two:
        assert len(one["y"]) == 3
        np.testing.assert_array_equal(one["X"], two["X"])


def test_covertype_is_its_first_rows(monkeypatch, tmp_path):
    rows = fetch._COVERTYPE_ROWS
    table = np.column_stack([np.arange(rows + 5), np.ones(rows + 5)])
    found = sklearn.utils.Bunch(data=table, target=np.arange(rows + 5) % 7 + 1)
    monkeypatch.setattr("sklearn.datasets.fetch_covtype", lambda data_home: found)
    (path,) = fetch.fetch("covertype", tmp_path, lambda line: None)
    with np.load(path) as made:
        assert made["X"].shape == (rows, 1)
        assert made["y"][:8].tolist() == [0, 1, 2, 3, 4, 5, 6, 0]


def served(source, server, contents):
    """The same source with other contents, at a server of our own."""
    server.content = {f"/{name}": content for name, content in contents.items()}
    packed = tuple(PackedFile(name, len(body), hashlib.md5(body).hexdigest()) for name, body in contents.items())
    files = {file.name: file.md5 for file in packed}
    return Source(source.name, source.title, source.folder, (server.address(),), packed, files)


def test_documents_come_with_their_queries(monkeypatch, tmp_path):
    contents = {
        "rank.train": b"2 1:0.5 3:0.25\n0 1:0.5\n4 1:0.5 4:1\n",
        "rank.train.query": b"2\n1\n",
        "rank.test": b"1 1:0.5 3:0.75\n",
        "rank.test.query": b"1\n",
    }
    with serving() as server:
        monkeypatch.setattr(fetch, "RANKING", served(fetch.RANKING, server, contents))
        (path,) = fetch.fetch("ranking", tmp_path, lambda line: None)
    with np.load(path) as made:
        # Columns 0 and 2 are always 0, column 1 always 0.5.
        np.testing.assert_array_equal(made["F"], [[0.25, 0], [0, 0], [0, 1], [0.75, 0]])
        assert made["rel"].tolist() == [2, 0, 4, 1]
        assert made["query"].tolist() == [2, 1, 1]
    assert next(RankedDocuments(str(path)).instance(0).rounds()).actions.shape[1] == 2
    (tmp_path / "problems" / "lambdarank" / "rank.test.query").write_text("2\n")
    with pytest.raises(ValueError, match="4 documents, and 5 in its queries"):
        preparation.documents(tmp_path / "problems" / "lambdarank")


def small_movielens(path):
    """40 users and 12 films, of which the last has too few ratings; the archive, and the ratings (40, 12)."""
    rng = np.random.default_rng(5)
    ratings = rng.integers(1, 6, (40, 12)) * (rng.random((40, 12)) < 0.8)
    ratings[:, 11] = 0
    ratings[:3, 11] = 5
    rows = "".join(f"{u + 1}\t{i + 1}\t{ratings[u, i]}\t0\n" for u, i in np.argwhere(ratings))
    people = "".join(f"{u + 1}|{20 + u}|{'MF'[u % 2]}|{['writer', 'doctor'][u % 2]}|00000\n" for u in range(40))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ml-100k/u.data", rows)
        archive.writestr("ml-100k/u.user", people)
    return ratings


def test_films_are_described_by_other_users(monkeypatch, tmp_path):
    ratings = small_movielens(tmp_path / "ml-100k.zip")
    with serving() as server:
        contents = {"ml-100k.zip": (tmp_path / "ml-100k.zip").read_bytes()}
        monkeypatch.setattr(fetch, "MOVIELENS", served(fetch.MOVIELENS, server, contents))
        (path,) = fetch.fetch("movielens", tmp_path, lambda line: None)
    made = dict(np.load(path))
    deciders = [round(age) for age in made["user"][:, 0] * 12 + 34 - 20]
    raters = sorted(set(range(40)) - set(deciders))
    assert (len(deciders), len(raters)) == (20, 20)
    kept = [i for i in range(12) if (ratings[raters, i] > 0).sum() >= 10]
    assert 11 not in kept
    np.testing.assert_array_equal(made["rating"], ratings[np.ix_(deciders, kept)])
    for user, numbers in zip(deciders, made["user"], strict=True):
        assert numbers[1:].tolist() == [[1.0, 1.0, 0.0, 1.0], [-1.0, 1.0, 1.0, 0.0]][user % 2]
    # By loops: what is left of each rating after the shrunk means of films, then of users.
    others = ratings[np.ix_(raters, kept)].astype(float)
    given = [[others[u, i] > 0 for i in range(len(kept))] for u in range(20)]
    mean = np.mean([others[u, i] for u in range(20) for i in range(len(kept)) if given[u][i]])
    film = [
        sum(others[u, i] - mean for u in range(20) if given[u][i]) / (sum(given[u][i] for u in range(20)) + 5)
        for i in range(len(kept))
    ]
    left = np.zeros_like(others)
    for u in range(20):
        own = [i for i in range(len(kept)) if given[u][i]]
        bias = sum(others[u, i] - mean - film[i] for i in own) / (len(own) + 5)
        left[u, own] = [others[u, i] - mean - film[i] - bias for i in own]
    np.testing.assert_allclose(made["items"][:, 0], film, atol=1e-6)
    # Principal directions times their sizes: what is left of the second moment, whatever their signs.
    rest = made["items"][:, 1:].astype(float)
    np.testing.assert_allclose(rest @ rest.T, left.T @ left / 20, atol=1e-5)


def test_columns_that_do_not_vary_are_left_out_and_outliers_cut_off():
    table = np.column_stack([np.r_[np.zeros(99), 100.0], np.full(100, 3.0), np.arange(100.0)])
    made = preparation.standardized(table)
    assert made.shape == (100, 2)
    assert made[99, 0] == 5.0  # 99/√99 = 9.9 standard deviations
    assert made[0, 0] == pytest.approx(-(99**-0.5))
    np.testing.assert_allclose((made[:, 1].mean(), made[:, 1].std()), (0.0, 1.0), atol=1e-12)


def test_the_sources_are_plausible():
    assert set(fetch.FETCHED) <= set(CATALOGUE)
    for source in (fetch.MOVIELENS, fetch.RANKING):
        assert all(address.startswith("https://") and address.endswith("/") for address in source.addresses)
        assert {file.name: file.md5 for file in source.packed} == source.files
    with pytest.raises(ValueError, match="table is 'titanic'; expected one of iris, wine"):
        preparation.shipped("titanic")
