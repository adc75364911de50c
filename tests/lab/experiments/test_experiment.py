"""An experiment runs what is missing and nothing else, and its table is what single runs give."""

import json
import subprocess
import sys

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.environments import Classification, Log, LowRank, Replay
from eigenbandits.lab import Results
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import cells
from eigenbandits.lab.experiments.engines import base
from eigenbandits.lab.experiments.recording import Record


@pytest.fixture
def played(monkeypatch):
    """The cells that are really run in this process."""
    hashes: list[str] = []
    run_cell = cells.run_cell

    def counting(text, heartbeat):
        hashes.append(json.loads(text)["hash"])
        return run_cell(text, heartbeat)

    monkeypatch.setattr(base, "run_cell", counting)
    return hashes


def test_the_table_holds_what_single_runs_give(small, tmp_path):
    results = small().run(tmp_path, progress="none")
    assert (results.policies, results.environments, results.seeds) == (["PSLB", "OFUL"], ["plain", "mean"], [0, 1, 2])
    for label, make in {"PSLB": eb.PSLB, "OFUL": eb.OFUL}.items():
        for name, environment in small().environments.items():
            regret = results.curve("regret", label, name)
            assert regret.rounds.tolist() == list(range(3, 61, 3))
            for seed in range(3):
                trace = eb.run(make(noise=0.5, seed=seed), environment, 60, seed)
                np.testing.assert_array_equal(regret.values[seed], trace.regret[2::3])
                rewards = results.curve("reward", label, name).values[seed]
                np.testing.assert_array_equal(rewards, np.cumsum(trace.rewards)[2::3])
    np.testing.assert_array_equal(results.final("regret")[1, 0], results.curve("regret", "OFUL", "plain").values[:, -1])
    assert results.has("rank", "plain")
    assert not results.has("sketch_loss")


def test_a_file_and_python_give_the_same_table(small, toml, tmp_path):
    eb.Experiment.read(toml).run(tmp_path / "file", progress="none")
    small().run(tmp_path / "python", progress="none")
    for name in ("results.parquet",):
        assert (tmp_path / "file" / name).read_bytes() == (tmp_path / "python" / name).read_bytes()
    assert (tmp_path / "file" / "experiment.toml").read_text() == toml.read_text()


def test_running_again_runs_nothing(small, tmp_path, played):
    small().run(tmp_path, progress="none")
    assert len(played) == len(set(played)) == 12
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    small().run(tmp_path, progress="none")
    assert len(played) == 12
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")} == before


def test_a_changed_setting_runs_only_its_own_cells_and_keeps_the_old_ones(small, tmp_path, played):
    small().run(tmp_path, progress="none")
    changed = {"PSLB": eb.PSLB(noise=0.5), "OFUL": eb.OFUL(noise=0.4)}
    results = small(policies=changed).run(tmp_path, progress="none")
    assert len(played) == 18  # OFUL on two environments and three seeds
    assert results.about["other_cells"] == 6
    direct = eb.run(eb.OFUL(noise=0.4, seed=1), small().environments["plain"], 60, 1)
    assert results.curve("regret", "OFUL", "plain").values[1, -1] == direct.regret[-1]
    small().run(tmp_path, progress="none")
    assert len(played) == 18  # back to the old settings: they are still there


def test_more_seeds_run_only_the_new_ones(small, tmp_path, played):
    small(seeds=[0, 1]).run(tmp_path, progress="none")
    small(seeds=[1, 0, 5]).run(tmp_path, progress="none")
    assert len(played) == 8 + 4


def test_another_label_runs_nothing_and_is_in_the_table(small, tmp_path, played):
    small().run(tmp_path, progress="none")
    renamed = {"ours": eb.PSLB(noise=0.5), "theirs": eb.OFUL(noise=0.5), "twin": eb.OFUL(noise=0.5)}
    results = small(policies=renamed).run(tmp_path, progress="none")
    assert len(played) == 12
    assert results.policies == ["ours", "theirs", "twin"]
    np.testing.assert_array_equal(results.final("regret")[1], results.final("regret")[2])


def test_cells_of_another_state_of_the_code_are_told_and_run_again_if_asked(
    small, tmp_path, played, monkeypatch, capfd
):
    small().run(tmp_path, progress="none")
    monkeypatch.setattr("eigenbandits.lab.experiments.provenance.code_fingerprint", lambda: "another")
    for _ in range(2):
        small().run(tmp_path, progress="none")
        assert "a different state of this library's code" in capfd.readouterr().err
    assert len(played) == 12
    results = small().run(tmp_path, refresh=True, progress="none")
    assert len(played) == 24
    assert results.about["code_of_cells"] == ["another"]
    small().run(tmp_path, refresh=True, progress="none")
    assert len(played) == 24


def test_results_open_in_pandas_polars_and_duckdb(small, tmp_path):
    results = small().run(tmp_path, progress="none")
    path = str(tmp_path / "results.parquet")
    wanted = ["experiment", "policy", "environment", "seed", "round", "regret", "reward"]
    import pandas

    frame = pandas.read_parquet(path)
    assert frame.columns.tolist()[:7] == wanted
    assert len(frame) == 2 * 2 * 3 * 20
    mean = results.final("regret")[0, 0].mean()
    last = frame[(frame.policy == "PSLB") & (frame.environment == "plain") & (frame["round"] == 60)]
    assert last.regret.mean() == pytest.approx(mean)
    polars = pytest.importorskip("polars")
    assert polars.read_parquet(path).shape == frame.shape
    duckdb = pytest.importorskip("duckdb")
    joined = duckdb.sql(
        f"""select avg(regret), min(seconds) from '{path}' join '{tmp_path / "timing.parquet"}'
        using (policy, environment, seed, round) where policy = 'PSLB' and environment = 'plain' and round = 60"""
    ).fetchall()
    assert joined[0][0] == pytest.approx(mean)
    assert joined[0][1] > 0.0
    whole = results.to_pandas()
    assert {"seconds", "seconds_median", "rank", "accuracy"} <= set(whole.columns)


def test_versions_machine_and_settings_lie_beside_the_results(small, tmp_path):
    small(description="why").run(tmp_path, progress="none")
    beside = json.loads((tmp_path / "experiment.json").read_text())
    assert beside["versions"]["eigenbandits"] == eb.__version__
    assert beside["versions"]["numpy"] == np.__version__
    assert beside["machine"]["cores"] >= 1
    assert beside["settings"]["policies"]["OFUL"]["noise"] == 0.5
    assert beside["settings"]["environments"]["mean"]["mean"] == 2.0
    assert beside["settings"]["description"] == "why"


def test_an_experiment_can_be_read_back_from_what_lies_beside_its_results(small, tmp_path, played):
    np.save(tmp_path / "features.npy", np.random.default_rng(0).standard_normal((9, 3, 4)))
    known = LowRank(dim=6, rank=2, arms=4).instance(0).structure
    told = eb.PSLB(noise=0.5, projection_error="theorem", structure=known, rank=2)
    examples = Classification(tmp_path / "features.npy", [0, 1, 2] * 3)
    made = small(policies={"told": told, "OFUL": eb.OFUL(noise=0.5)}, environments={"examples": examples})
    made.run(tmp_path / "one", progress="none")
    again = eb.Experiment.read(tmp_path / "one" / "experiment.json")
    again.run(tmp_path / "one", progress="none")
    assert len(played) == 6


def test_examples_and_logged_data_run_too(small, tmp_path):
    rng = np.random.default_rng(0)
    features, theta = rng.standard_normal((40, 3, 5)), rng.standard_normal(5)
    labels = (features @ theta).argmax(axis=1)
    choices = rng.integers(0, 3, 400)
    actions = rng.standard_normal((400, 3, 5))
    log = Log(actions, choices, actions[np.arange(400), choices] @ theta)
    results = small(
        environments={"examples": Classification(features, labels), "log": Replay(log)}, rounds=90, seeds=2
    ).run(tmp_path, progress="none")
    direct = eb.run(eb.OFUL(noise=0.5, seed=1), Classification(features, labels), 90, 1)
    assert results.final("regret")[1, 0, 1] == direct.regret[-1]
    replayed = eb.run(eb.OFUL(noise=0.5, seed=1), Replay(log), 90, 1)
    assert results.final("reward")[1, 1, 1] == np.cumsum(replayed.rewards)[-1]
    assert results.has("regret", "examples")
    assert not results.has("regret", "log")


def test_a_cell_that_fails_is_told_and_all_others_are_kept(small, tmp_path, played):
    """CBRAP with more dimensions than the actions have is refused when it meets them."""
    policies = {"OFUL": eb.OFUL(noise=0.5), "CBRAP": eb.CBRAP(noise=0.5, rank=20)}
    with pytest.raises(LabError, match=r"6 of 12 cells failed, all others are kept: CBRAP on plain \(seed 0\) \(Val"):
        small(policies=policies).run(tmp_path, progress="none")
    assert len(list((tmp_path / "cells").glob("*.parquet"))) == 6
    written = sorted((tmp_path / "failures").iterdir())
    assert len(written) == 6
    assert "CBRAP on " in written[0].read_text()
    assert "Traceback" in written[0].read_text()
    small(policies={"OFUL": eb.OFUL(noise=0.5)}).run(tmp_path, progress="none")
    assert len(played) == 12


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rounds = = 3", "is not TOML: Invalid value (at line 1, column 10)"),
        ("\x00", "is not TOML"),
        ("rounds = 3\nseeds = 2\n[policies.PSLB]\nnoise=1", "has no 'environments'; add it."),
        ("round = 3", "has no setting 'round'; did you mean 'rounds'?"),
        ("rounds = 0\nseeds=1\npolicies={PSLB={noise=1}}\nenvironments={a=1}", "rounds is 0; expected a whole number"),
        ("rounds = 1\nseeds=[1, 1]\npolicies={a=1}\nenvironments={a=1}", "none of them twice"),
        ("rounds = 1\nseeds=[]\npolicies={a=1}\nenvironments={a=1}", "seeds is []; expected at least one"),
        ("rounds = 1\nseeds='x'\npolicies={a=1}\nenvironments={a=1}", "seeds is 'x'; expected a number of seeds"),
        ("rounds = 1\nseeds=[-1]\npolicies={a=1}\nenvironments={a=1}", "a seed is -1"),
        ("rounds = 1\nseeds=1\npolicies={}\nenvironments={a=1}", "policies is {}; expected a table with at least one"),
        ("name='a/b'\nrounds = 1\nseeds=1\npolicies={a=1}\nenvironments={a=1}", "name is 'a/b'; expected a word"),
    ],
)
def test_files_that_are_no_experiment_are_refused_in_one_sentence(tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(LabError) as refused:
        eb.Experiment.read(path)
    assert message in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_files_that_are_not_there_are_told(tmp_path):
    with pytest.raises(LabError, match="there is no file"):
        eb.Experiment.read(tmp_path / "none.toml")
    with pytest.raises(LabError, match="is a folder"):
        eb.Experiment.read(tmp_path)
    (tmp_path / "experiment.json").write_text("{}")
    with pytest.raises(LabError, match=r"is not an experiment.json of this lab"):
        eb.Experiment.read(tmp_path / "experiment.json")


def test_wrong_values_are_told_before_anything_runs(small, tmp_path, played):
    with pytest.raises(LabError, match=r"environments.bad: rank is 9; expected at most dim, which is 6"):
        small(environments={"bad": {"kind": "LowRank", "dim": 6, "rank": 9, "arms": 4}}).run(tmp_path)
    with pytest.raises(LabError, match=r"policies.bad: noise is -1"):
        small(policies={"bad": {"kind": "OFUL", "noise": -1}}).run(tmp_path)
    with pytest.raises(LabError, match=r"policies.bad: environment .* has no 'color'"):
        small(policies={"bad": {"kind": "OFUL", "noise": "$color"}}).run(tmp_path)
    twice = {"kind": "OFUL", "noise": 1, "each": {"rank": [1, 1]}}
    with pytest.raises(LabError, match=r"policies.OFUL.each gives 'OFUL, rank=1' twice"):
        small(policies={"OFUL": twice}).run(tmp_path)
    same = {"OFUL, rank=2": eb.OFUL(noise=1.0), "OFUL": twice | {"each": {"rank": [2]}}}
    with pytest.raises(LabError, match="the label 'OFUL, rank=2' is used twice"):
        small(policies=same).run(tmp_path)
    assert not played


def test_what_was_written_about_a_failure_goes_when_the_cell_succeeds(small, tmp_path, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(eb.OFUL, "choose", lambda self, actions: 1 / 0)
        with pytest.raises(LabError, match=r"OFUL on plain \(seed 0\) \(ZeroDivisionError: division by zero\)"):
            small().run(tmp_path, progress="none")
    assert len(list((tmp_path / "failures").iterdir())) == 6
    small().run(tmp_path, progress="none")
    assert not list((tmp_path / "failures").iterdir())


def test_unknown_engines_and_columns_are_told(small, tmp_path):
    with pytest.raises(LabError, match="there is no engine 'process'; did you mean 'processes'"):
        small().run(tmp_path, "process")
    with pytest.raises(LabError, match="expected the engine 'dask'"):
        small().run(tmp_path, "serial", scheduler="tcp://127.0.0.1:1")
    results = small().run(tmp_path, progress="none")
    with pytest.raises(LabError, match="there is no column 'regrets'; did you mean 'regret'"):
        results.final("regrets")
    with pytest.raises(LabError, match="there is no column 'rnk'; did you mean 'rank'"):
        results.curve("rnk", "PSLB", "plain")


def test_recording_less_leaves_columns_out(small, tmp_path):
    results = small(record=Record(points=2, diagnostics=False, accuracy=0)).run(tmp_path, progress="none")
    assert results.columns == ["regret", "reward", "seconds", "seconds_median"]
    assert Results.open(tmp_path).found.num_rows == 24


def test_importing_the_library_needs_none_of_the_lab():
    script = (
        "import sys, eigenbandits\n"
        "heavy = {'pyarrow', 'joblib', 'dask', 'distributed', 'rich', 'matplotlib', 'typer', 'jinja2', 'pandas'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "assert eigenbandits.Experiment.__name__ == 'Experiment'\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
