"""Policies fitted to logs on disk against the same rows learned in one process."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eigenbandits as eb
from eigenbandits import extras
from eigenbandits.fitting import map_reduce, sources
from eigenbandits.fitting.columns import Columns
from eigenbandits.policy.files import from_bytes, to_bytes

DIM, ARMS, ROWS = 8, 4, 900
RNG = np.random.default_rng(0)
THETA = RNG.standard_normal(DIM)
SETS = RNG.standard_normal((ROWS, ARMS, DIM)) @ np.diag(np.linspace(2.0, 0.2, DIM)) + 3.0
CHOSEN = RNG.integers(ARMS, size=ROWS)
VECTORS = SETS[np.arange(ROWS), CHOSEN]
REWARDS = VECTORS @ THETA + 0.1 * RNG.standard_normal(ROWS)


def table(start: int = 0, stop: int = ROWS) -> Any:
    """Return some rows of the log with its vectors in every form."""
    rows = slice(start, stop)
    columns = {
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(VECTORS[rows].ravel()), DIM),
        "lists": pa.array(VECTORS[rows].tolist()),
        "offered": pa.array(SETS[rows].tolist()),
        "chosen": CHOSEN[rows],
        "reward": REWARDS[rows],
        "note": ["x"] * len(REWARDS[rows]),
    }
    return pa.table(columns | {f"x{i}": VECTORS[rows, i] for i in range(DIM)})


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files in row groups of 70, read in shards of some 150 rows and batches of 64."""
    monkeypatch.setattr(sources, "SHARD", 150)
    monkeypatch.setattr(map_reduce, "NUMBERS", 64 * DIM)
    monkeypatch.setattr(map_reduce, "FIRST", 64)
    for number in range(3):
        pq.write_table(table(300 * number, 300 * number + 300), tmp_path / f"{number}.parquet", row_group_size=70)
    return tmp_path


def one_process(policy: Any, sets: Any = None) -> Any:
    if sets is None:
        policy.observe(VECTORS[:64])
        policy.observe(VECTORS[64:])
    else:
        for actions in sets:
            policy.observe(actions)
    policy.learn_many(VECTORS, REWARDS)
    policy.merge([])
    return policy


def _plain(sums: Any) -> Any:
    return np.asarray(sums.full() if hasattr(sums, "full") else sums)


def assert_same_sums(found: Any, expected: Any, digits: float = 1e-10) -> None:
    for one, other in ((found.belief.evidence, expected.belief.evidence), (found.subspace, expected.subspace)):
        for name in ("gram", "moment", "total", "squares", "count", "seen"):
            if hasattr(other, name):
                value, wanted = (_plain(getattr(each, name)) for each in (one, other))
                np.testing.assert_allclose(value, wanted, rtol=0, atol=digits * float(np.abs(wanted).max(initial=1.0)))


MAKERS = {
    "EigenUCB": lambda: eb.EigenUCB(seed=0),
    "OFUL": lambda: eb.OFUL(noise=0.1, center="mean"),
    "projected": lambda: eb.PSLB(noise=0.1, rank=2, projection_error=0.1, intersect=False),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_log_in_shards_equals_one_process(log, kind):
    fitted: Any = eb.fit(MAKERS[kind](), log)
    one = one_process(MAKERS[kind]())
    if one.centering.around_mean:
        # The reference is the mean of the first 64 rows in both.
        np.testing.assert_allclose(fitted.centering.reference, one.centering.reference)
    assert_same_sums(fitted, one)
    first, second = (policy.choose(SETS[0], observe=False) for policy in (fitted, one))
    assert (first.index, first.upper) == (second.index, pytest.approx(second.upper, rel=1e-9))


def test_the_engine_and_the_form_of_the_columns_change_nothing(log):
    expected = to_bytes(eb.fit(eb.EigenUCB(seed=0), log, engine="serial"))
    names = [f"x{i}" for i in range(DIM)]
    for data, options in (
        (log, {"engine": "dask"}),
        (str(log / "*.parquet"), {}),
        ([log / "0.parquet", log / "1.parquet", log / "2.parquet"], {"vector": "lists"}),
        (str(log), {"vector": names}),
    ):
        assert to_bytes(eb.fit(eb.EigenUCB(seed=0), data, **options)) == expected


def test_tables_and_data_frames(log):
    one = one_process(eb.EigenUCB(seed=0))
    alone: Any = eb.fit(eb.EigenUCB(seed=0), table())
    assert_same_sums(alone, one)
    np.testing.assert_allclose(alone.belief.center, one.belief.center, rtol=1e-8)
    dask = pytest.importorskip("dask")
    dd = pytest.importorskip("dask.dataframe")
    rows = table().select(["vector", "reward"]).to_pandas()
    with dask.config.set({"dataframe.convert-string": False}):
        assert_same_sums(eb.fit(eb.EigenUCB(seed=0), dd.from_pandas(rows, npartitions=5)), one)
    with dask.config.set({"dataframe.convert-string": True}), pytest.raises(ValueError, match="convert-string"):
        eb.fit(eb.EigenUCB(seed=0), dd.from_pandas(rows, npartitions=5))


def test_a_policy_learns_on_top_of_what_it_knows(log):
    policy, one = eb.EigenUCB(seed=0), eb.EigenUCB(seed=0)
    for each in (policy, one):
        each.observe(SETS[0])
        each.learn(SETS[0, 0], 5.0)
    luck = policy.rng.bit_generator.state
    assert eb.fit(policy, log) is policy
    one.observe(VECTORS)
    one.learn_many(VECTORS, REWARDS)
    assert_same_sums(policy, one)
    assert policy.rng.bit_generator.state == luck
    loaded = from_bytes(to_bytes(policy))
    assert loaded.choose(SETS[1]).upper == policy.choose(SETS[1]).upper


@pytest.mark.parametrize("center", ["none", "mean", "set", "differences"])
def test_decision_sets_show_the_subspace_and_the_center(log, center):
    fitted = eb.fit(eb.EigenUCB(center=center, seed=0), log, offered="offered", chosen="chosen")
    one: Any = eb.EigenUCB(center=center, seed=0)
    one._start(np.concatenate(SETS[:64]))
    for actions, row, reward in zip(SETS, CHOSEN, REWARDS, strict=True):
        one.observe(actions)
        lifted = one.centering.lift(actions)[0][row].copy()
        lifted.setflags(write=False)
        one.learn(eb.Decision(int(row), actions[row], 0, 0.0, 0.0, lifted=lifted), float(reward))
    assert (fitted.subspace.seen, fitted.subspace.sets) == (ROWS * ARMS, ROWS)
    assert_same_sums(fitted, one)


def test_a_random_projection_is_one_for_all_shards(log):
    policy = eb.fit(eb.CBRAP(noise=0.1, rank=3), log)
    eb.fit(policy, log)
    assert policy.diagnostics().rewards_learned == 2 * ROWS


def test_shards_travel_between_processes(log):
    shard = sources.shards_of(sources.open_dataset(log))[1]
    columns = Columns("vector", "reward")
    sent = pickle.loads(pickle.dumps(shard))
    for one, other in zip(shard.blocks(columns, 50), sent.blocks(columns, 50), strict=True):
        np.testing.assert_array_equal(one.vectors, other.vectors)
    sizes = [len(block.rewards) for block in shard.blocks(columns, 50)]
    # Row groups 140 to 280 of the first file.
    assert sum(sizes) == 140
    assert max(sizes) <= 50


def test_without_dask_it_runs_and_without_arrow_it_says_so(log, monkeypatch):
    monkeypatch.setattr(map_reduce, "find_spec", lambda name: None)
    assert eb.fit(eb.OFUL(noise=0.1), log).diagnostics().rewards_learned == ROWS
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(extras.MissingExtraError, match="Learning from a log needs pyarrow"):
        eb.fit(eb.OFUL(noise=0.1), log)


def spoil(**columns: Any) -> Any:
    """Return the log with other columns."""
    found = table(0, 100)
    for name, values in columns.items():
        found = found.set_column(found.schema.get_field_index(name), name, pa.array(values))
    return found


HOLES = [None if i == 70 else float(i) for i in range(100)]
RAGGED = [[1.0] * (DIM - (i == 70)) for i in range(100)]
BAD: dict[str, Any] = {
    "missing": ({"vector": "embedding"}, None, "no column 'embedding'; it has vector, lists"),
    "holes": ({}, {"reward": HOLES}, "the table, from row 64: column 'reward' has no value in row 6"),
    "not numbers": ({"reward": "note"}, None, "column 'note' holds object values; expected numbers"),
    "not lists": ({"vector": "x0"}, None, "column 'x0' holds double values; expected lists of d numbers"),
    "ragged": ({"vector": "lists"}, {"lists": RAGGED}, "has a vector of length 7 in row 6, after others of 8"),
    "NaN": ({}, {"reward": [float("nan")] * 100}, "from row 0: rewards holds nan"),
    "two lengths": ({"vector": "lists"}, {"lists": [[1.0] * (3 if i >= 64 else 4) for i in range(100)]}, "of length 3"),
    "no sets": ({"chosen": "chosen"}, None, "chosen is given without offered"),
    "not offered": ({"offered": "offered", "chosen": "x0"}, None, "column 'x0' holds"),
    "no vectors": ({"vector": []}, None, "vector names no columns"),
    "no sets of vectors": ({"offered": "lists"}, None, "expected lists of d numbers"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_read_is_refused_and_leaves_no_trace(what, log):
    options, columns, words = BAD[what]
    policy = eb.EigenUCB(seed=0)
    before = to_bytes(policy)
    with pytest.raises(ValueError, match=words) as caught:
        eb.fit(policy, spoil(**columns or {}), **options)
    assert str(caught.value).endswith(".")
    assert to_bytes(policy) == before


def test_what_is_no_log(log, tmp_path):
    policy = eb.EigenUCB(seed=0)
    (tmp_path / "cut.parquet").write_bytes((log / "0.parquet").read_bytes()[:500])
    with pytest.raises(ValueError, match="cannot be read as Parquet, or is cut short"):
        eb.fit(policy, tmp_path / "cut.parquet")
    for nothing in (log / "none.parquet", log / "none*.parquet"):
        with pytest.raises(FileNotFoundError, match="there is no log at"):
            eb.fit(policy, nothing)
    with pytest.raises(ValueError, match="the log is empty"):
        eb.fit(policy, table(0, 0))
    with pytest.raises(ValueError, match="data is a ndarray; expected a path"):
        eb.fit(policy, VECTORS)
    with pytest.raises(ValueError, match="expected offered, the column of the sets"):
        eb.fit(eb.EigenUCB(center="set"), log)
    with pytest.raises(ValueError, match="has no subspace before its first choice"):
        eb.fit(eb.PSLB(noise=0.1, subspace="streaming", intersect=False), log)
    with pytest.raises(ValueError, match="policy is a str; expected a policy"):
        eb.fit("EigenUCB", log)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="engine is 'spark'"):
        eb.fit(policy, log, engine="spark")
    assert to_bytes(policy) == to_bytes(eb.EigenUCB(seed=0))


def test_all_vectors_of_a_small_log_are_added_in_many_dimensions():
    policy: Any = eb.EigenUCB(seed=0)
    vectors = np.random.default_rng(0).standard_normal((500, 300))
    eb.fit(policy, pa.table({"vector": list(vectors), "reward": vectors[:, 0]}))
    assert (policy.subspace.seen, policy.subspace.added) == (500, 500)
