"""The robustness table: its yardsticks told the truth, its rows as asked, its ratios and verdicts by hand."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pyarrow")

import pyarrow as pa
from typer.testing import CliRunner

import eigenbandits as eb
from eigenbandits import cli
from eigenbandits.environments import Digits, LowRank
from eigenbandits.lab import robustness
from eigenbandits.lab.results import Results
from eigenbandits.lab.robustness.players import RidgeOFUL, ToldPSLB
from eigenbandits.lab.robustness.rows import BASE, COLUMNS, TIMES_0001, TIMES_1000, columns
from eigenbandits.lab.robustness.tables import part, tables
from eigenbandits.lab.robustness.verdicts import ratio, verdicts


def results_of(curves, rounds=(10, 20, 30)):
    """Results with given regret curves (seeds, n) by policy and environment."""
    keys = [
        {"policy": p, "environment": e, "seed": s, "round": t, "regret": float(v)}
        for (p, e), runs in curves.items()
        for s, run in enumerate(runs)
        for t, v in zip(rounds, run, strict=True)
    ]
    found = pa.Table.from_pylist(keys).append_column("experiment", pa.array(["x"] * len(keys)))
    times = found.select(["policy", "environment", "seed", "round"])
    for name in ("seconds", "seconds_median"):
        times = times.append_column(name, pa.array([0.0] * len(keys)))
    return Results(None, found, times, {"settings": {"name": "x"}})  # type: ignore[arg-type]


def test_the_told_policy_knows_its_true_projection_error():
    instance = LowRank(30, 3, 8).instance(seed=2)
    policy = ToldPSLB(noise=0.5, seed=0)
    eb.run(policy, instance, rounds=40, seed=2)
    frame = policy.subspace.current()
    assert frame is not None
    assert frame.directions.shape == (30, 3)
    # ‖P̂ − P‖₂ from the projections themselves.
    distance = np.linalg.norm(frame.directions @ frame.directions.T - instance.basis @ instance.basis.T, 2)
    assert frame.error == pytest.approx(distance, abs=1e-9)
    assert policy.centering.kind == "none"


def test_the_told_policy_is_told_of_a_large_mean_and_of_the_size_of_theta():
    policy = ToldPSLB(noise=0.5)
    policy.reveal(LowRank(20, 2, 6, mean=5.0, theta_norm=3.0).instance(seed=0))
    assert policy.centering.kind == "mean"
    assert policy.belief.projected.theta_bound == 3.0  # type: ignore[attr-defined]
    # On the digits θ* itself spans the subspace.
    policy.reveal(Digits().instance(seed=0))
    assert policy.subspace.params()["basis"].shape == (100, 1)
    assert policy.centering.kind == "none"


def test_the_ridge_of_the_stronger_oful():
    policy = RidgeOFUL(noise=0.4)
    # On the sphere ‖x‖² is near `scale`² = 4 whatever the seed: S = ½, λ = 0.16 · 50 · 4 = 32.
    policy.reveal(LowRank(50, 2, 20, scale=2.0).instance(seed=0))
    assert policy.belief.ridge == pytest.approx(32.0, rel=0.1)  # type: ignore[attr-defined]
    assert policy.belief.theta_bound == pytest.approx(0.5, rel=0.05)  # type: ignore[attr-defined]
    trace = eb.run(RidgeOFUL(noise=0.5), LowRank(20, 2, 5), rounds=30, seed=0)
    assert trace.rounds == 30


def test_the_rows_are_those_that_were_asked_for():
    rows = robustness.rows()
    grid = {
        (env.dim, env.rank, env.perturbation)
        for env in (row.environment for row in rows)
        if isinstance(env, LowRank) and env == LowRank(env.dim, env.rank, 10, perturbation=env.perturbation)
    }
    assert {(d, m, p) for d in (100, 500) for m in (1, 4, 16) for p in (0.1, 1.0, 9.0)} <= grid
    assert len({row.label for row in rows}) == len(rows)
    assert {row.label for row in rows if not row.structure} == {
        *("slow decay, no gap", "θ* half outside", "θ* wholly outside", "no subspace, m = d")
    }
    assert [row.environment for row in rows if isinstance(row.environment, Digits)] == [Digits(), Digits(relu=True)]
    assert list(columns()) == list(COLUMNS)
    quick = robustness.rows(quick=True)
    assert {row.label for row in rows} - {row.label for row in quick} == {
        row.label for row in rows if row.label.startswith("d=500")
    }


def test_a_ratio_of_means_and_its_error():
    first, second = np.array([2.0, 6.0]), np.array([1.0, 3.0])
    assert ratio(first, second) == (2.0, 0.0)
    # Mean ratio 2; first − 2·second = (1, −1), of standard deviation √2 and error 1; over the mean 2: ½.
    times, error = ratio(np.array([3.0, 5.0]), second)
    assert (times, error) == pytest.approx((2.0, 0.5))
    assert ratio(np.zeros(2), np.zeros(2))[0] == 1.0
    assert ratio(np.ones(2), np.zeros(2))[0] == math.inf
    assert math.isnan(ratio(np.ones(1), np.ones(1))[1])


def verdict_of(curves, index):
    rows = [row for row in robustness.rows() if row.label in {environment for _, environment in curves}]
    return verdicts(results_of(curves), rows)[index]


def flat(*finals):
    """Curves that bend: half of the regret in the first third, a tenth in the last."""
    return [[0.5 * f, 0.9 * f, f] for f in finals]


def test_verdicts_judge_each_bar_by_its_rows():
    label, outside = BASE, "θ* wholly outside"
    curves = {
        ("PSLB", label): flat(20.0, 32.0),
        ("PSLB told", label): flat(20.0, 20.0),
        ("OFUL", label): flat(100.0, 100.0),
        ("PSLB", outside): flat(149.0, 149.0),
        ("PSLB told", outside): flat(1.0, 1.0),
        ("OFUL", outside): flat(100.0, 100.0),
    }
    told = verdict_of(curves, 0)
    assert told.met  # 26/20 = 1.3; where the structure is not there the told policy is no yardstick
    assert "1.30 ± 0.30 times (PSLB 26.0, PSLB told 20.0)" in told.lines[0]
    assert verdict_of(curves | {("PSLB told", label): flat(19.0, 20.0)}, 0).met is False
    everywhere = verdict_of(curves, 1)
    assert everywhere.met
    assert everywhere.lines[0].startswith("nearest: θ* wholly outside: 1.49")
    worse = verdict_of(curves | {("PSLB", outside): flat(151.0, 151.0)}, 1)
    assert worse.met is False
    assert "1 of 2 rows miss it" in str(worse)
    assert str(worse).startswith("NOT MET: within 1.5 times OFUL everywhere")
    assert verdict_of(curves, 2).met is None
    large = {("PSLB", "d=500 m=4 9×"): flat(20.0, 20.0), ("OFUL", "d=500 m=4 9×"): flat(100.0, 100.0)}
    large |= {("PSLB told", "d=500 m=4 9×"): flat(20.0, 20.0)}
    assert verdict_of(large, 2).met
    assert verdict_of(large | {("PSLB", "d=500 m=4 9×"): flat(21.0, 21.0)}, 2).met is False


def test_straight_regret_is_found():
    curves = {(policy, BASE): flat(10.0) for policy in ("PSLB", "PSLB told", "OFUL")}
    assert verdict_of(curves, 3).met
    assert verdict_of(curves, 3).lines[0].endswith("0.20 (OFUL 0.20)")  # a tenth over a half
    straight = verdict_of(curves | {("PSLB", BASE): [[10.0, 20.0, 30.0]]}, 3)
    assert straight.met is False
    assert "1.00 (OFUL 0.20)" in straight.lines[0]


def test_other_choices_under_another_scale_are_found():
    names = ("PSLB", "PSLB told", "OFUL")
    curves = {(p, e): flat(10.0, 12.0) for p in names for e in (BASE, TIMES_1000, TIMES_0001)}
    assert verdict_of(curves, 4).met
    other = [[5.0, 9.0, 10.0], [6.0, 10.8 + 1e-3, 12.0]]
    parted = verdict_of(curves | {("PSLB", TIMES_0001): other}, 4)
    assert parted.met is False
    assert parted.lines == ("actions × 0.001: parts on seed 1 by round 20",)
    assert verdict_of({(p, BASE): flat(10.0) for p in names}, 4).met is None


def test_tables_are_multiples_of_the_best_and_of_oful():
    curves = {("PSLB", "a"): flat(10.0, 30.0), ("OFUL", "a"): flat(40.0, 40.0)}
    regret, best, oful = tables(results_of(curves)).values()
    # The standard error of two values is half their difference.
    assert regret.splitlines()[-1].split("  ") == ["a", "20.0 ± 10.0", "40.0 ± 0.0"]
    assert best.splitlines()[-1].split("  ") == ["a", "1.00 ± 0.50", "2.00 ± 0.00"]
    assert oful.splitlines()[-1].split("  ") == ["a", "0.50 ± 0.25", "1.00 ± 0.00"]


def test_a_part_of_the_results_has_only_what_was_asked_for():
    curves = {(p, e): flat(10.0) for p in ("PSLB", "OFUL") for e in ("a", "b")}
    found = part(results_of(curves), ["b"], ["OFUL"])
    assert (found.policies, found.environments) == (["OFUL"], ["b"])


@pytest.mark.slow
def test_the_command_prints_the_tables_and_resumes(tmp_path, monkeypatch):
    few = [row for row in robustness.rows() if row.label in (BASE, TIMES_1000, "θ* half outside", "digits")]
    monkeypatch.setattr(robustness, "rows", lambda quick: few)
    arguments = ["robustness", "--quick", "--seeds", "2", "--rounds", "25", "--engine", "serial"]
    result = CliRunner().invoke(cli.app(), [*arguments, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    env = LowRank(100, 4, 10)
    finals = [eb.run(eb.PSLB(noise=0.5, seed=seed), env, 25, seed).regret[-1] for seed in range(2)]
    wanted = [f"{np.mean(finals):.1f}", "±", f"{abs(finals[0] - finals[1]) / 2:.1f}"]
    first = next(line for line in result.stdout.splitlines() if line.startswith(BASE))
    assert first.removeprefix(BASE).split()[:3] == wanted
    for column in COLUMNS:
        assert column in result.stdout
    assert "NOT JUDGED: 5 times below OFUL at d = 500" in result.stdout
    assert (tmp_path / "robustness.md").read_text().startswith("## Regret, mean over 2 seeds")
    assert (tmp_path / "curves.png").stat().st_size > 10_000
    saved = json.loads((tmp_path / "experiment.json").read_text())
    assert len(saved["settings"]["policies"]) == len(COLUMNS)
    again = CliRunner().invoke(cli.app(), [*arguments, "--out", str(tmp_path)])
    assert again.exit_code == 0
    assert again.stdout == result.stdout


def test_a_missing_extra_is_told_in_one_sentence(monkeypatch):
    monkeypatch.setattr("eigenbandits.extras.find_spec", lambda name: None if name == "sklearn" else SimpleNamespace())
    with pytest.raises(ImportError, match=r'This table needs sklearn; run: pip install "eigenbandits\[digits\]"'):
        CliRunner().invoke(cli.app(), ["robustness"], catch_exceptions=False)
