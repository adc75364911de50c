"""Logs: what they take, what they refuse, and files that hold them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.environments import LowRank, Replay
from eigenbandits.offpolicy import Log, log_files


def uniform_log(events, seed):
    """Log what a uniformly random logger earns on the paper's model."""
    instance = LowRank(dim=6, rank=2, arms=4, noise=0.1).instance(seed)
    rng = np.random.default_rng(seed)
    rounds = [offered for offered, _ in zip(instance.rounds(), range(events), strict=False)]
    choices = rng.integers(0, 4, events)
    rewards = [offered.reward(int(row)) for offered, row in zip(rounds, choices, strict=True)]
    return Log(np.array([offered.actions for offered in rounds]), choices, rewards)


@pytest.mark.parametrize("form", ["npz", "parquet", "npy", "mapping"])
def test_logs_are_read_from_files(form, tmp_path):
    log = uniform_log(20, seed=4)
    entries = {"actions": np.asarray(log.sets), "choices": log.chosen, "rewards": log.earned}
    given: object = entries
    if form == "npz":
        np.savez(tmp_path / "log.npz", **entries)
        given = tmp_path / "log.npz"
    elif form == "npy":
        for name, values in entries.items():
            np.save(tmp_path / f"{name}.npy", values)
        given = {name: str(tmp_path / f"{name}.npy") for name in entries}
    elif form == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        columns = {name: values.tolist() for name, values in entries.items()}
        pq.write_table(pyarrow.table(columns), tmp_path / "log.parquet")
        given = tmp_path / "log.parquet"
    found = Replay(given, shuffle=False)  # type: ignore[arg-type]
    again = eb.run(eb.OFUL(noise=0.1), found, rounds=20)
    once = eb.run(eb.OFUL(noise=0.1), Replay(log, shuffle=False), rounds=20)
    np.testing.assert_array_equal(again.rewards, once.rewards)


def test_the_sets_of_a_parquet_file_are_read_when_they_are_needed(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    sets = [rng.standard_normal((int(rng.integers(1, 6)), 100)).astype(np.float32) for _ in range(600)]
    kind = pyarrow.list_(pyarrow.list_(pyarrow.float32()))
    columns = {"actions": pyarrow.array([one.tolist() for one in sets], kind), "choices": [0] * 600}
    table = pyarrow.table(columns | {"rewards": rng.standard_normal(600)})
    pq.write_table(table, tmp_path / "log.parquet", row_group_size=20)
    del table, columns
    total = sum(one.nbytes for one in sets)
    monkeypatch.setattr(log_files, "_HELD", total // 5)
    before = pyarrow.total_allocated_bytes()
    log = Log.read(tmp_path / "log.parquet")
    assert log.sizes.tolist() == [len(one) for one in sets]
    for event in rng.permutation(600).tolist():
        np.testing.assert_array_equal(log.decision_set(event), sets[event])
    assert pyarrow.total_allocated_bytes() - before < total // 2
    again = pickle.loads(pickle.dumps(log))
    np.testing.assert_array_equal(again.decision_set(599), sets[599])
    with pytest.raises(IndexError):
        log.sets[600]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"choices": [0, 2]}, "event 1 chose row 2 of 2"),
        ({"choices": [0, -1]}, "choices holds -1"),
        ({"rewards": [1.0]}, "rewards holds 1 numbers; expected 2"),
        ({"rewards": [1.0, np.nan]}, "rewards holds nan"),
        ({"propensities": [0.5, 0.0]}, r"outside \(0, 1\]"),
        ({"actions": np.ones((0, 2, 3))}, "the log is empty"),
        ({"actions": np.ones((2, 2))}, "no decision sets"),
        ({"action": 1}, "has an entry 'action'"),
    ],
)
def test_logs_that_do_not_fit_together_are_refused(change, message):
    good = {"actions": np.ones((2, 2, 3)), "choices": [0, 1], "rewards": [1.0, 2.0]}
    with pytest.raises(ValueError, match=message):
        Log.of(good | change)


@pytest.mark.parametrize("ending", ["npz", "parquet", "dsjson"])
@pytest.mark.parametrize("ragged", [False, True])
def test_a_log_that_is_written_comes_back_bit_for_bit(ending, ragged, tmp_path):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 6, 20) if ragged else np.full(20, 4)
    sets = [rng.standard_normal((size, 3)) for size in sizes]
    log = Log(sets, [int(rng.integers(size)) for size in sizes], rng.standard_normal(20), rng.uniform(0.1, 1.0, 20))
    log.write(tmp_path / f"log.{ending}")
    back = Log.read(tmp_path / f"log.{ending}")
    for event in range(20):
        np.testing.assert_array_equal(back.decision_set(event), log.decision_set(event))
    np.testing.assert_array_equal(back.chosen, log.chosen)
    np.testing.assert_array_equal(back.earned, log.earned)
    np.testing.assert_array_equal(back.probabilities, log.probabilities)
    assert [path.name for path in tmp_path.iterdir()] == [f"log.{ending}"]


def test_a_log_is_not_written_to_a_name_that_does_not_say_how(tmp_path):
    with pytest.raises(ValueError, match="say how the log is to be written"):
        uniform_log(3, seed=0).write(tmp_path / "log.csv")
    assert list(tmp_path.iterdir()) == []


def test_sets_that_are_made_when_asked_for_are_not_held():
    class Lazy:
        shape = (5, 2, 3)

        def __len__(self):
            return 5

        def __getitem__(self, event):
            return np.full((2, 3), float(event))

    log = Log(Lazy(), [0] * 5, [1.0] * 5)
    assert log.sizes.tolist() == [2] * 5
    assert log.decision_set(3).tolist() == [[3.0] * 3] * 2
    assert log.sets is log.actions


def test_a_file_that_is_no_log_is_refused(tmp_path):
    (tmp_path / "log.npz").write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(ValueError, match="cut short"):
        Replay(tmp_path / "log.npz")
    np.savez(tmp_path / "other.npz", something=np.ones(3))
    with pytest.raises(ValueError, match="has no entry 'actions'"):
        Replay(tmp_path / "other.npz")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Replay(tmp_path / "none.npz")
