"""`eigenbandits paper lale2019` as a user types it: on the digits always, on real data where its features are there."""

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import eigenbandits as eb
from eigenbandits.cli import app
from eigenbandits.lab.reporting.plots import Text
from eigenbandits.papers.lale2019 import Block, Study, figures, line_up, paper_figures, study
from eigenbandits.papers.lale2019.results_table import ResultsTable, first_from, rows_of
from eigenbandits.papers.lale2019.settings import PaperFigure, settings

pytest.importorskip("sklearn", reason="the digits come with scikit-learn: pip install 'eigenbandits[digits]'")

PNG = b"\x89PNG\r\n\x1a\n"
ROUNDS, SEEDS = 60, 2


def results(out: Path, block: Block) -> Any:
    """Return what the paper's group left."""
    return Study(block, "paper", "quick").results(out)


def mistakes_of(out: Path, block: Block, policy: str) -> float:
    found = ResultsTable(rows_of(results(out, block), block, "paper")).get(block, policy)
    assert found is not None
    return found.mistakes


def invoke(*arguments):
    return CliRunner().invoke(app(), ["paper", "lale2019", *map(str, arguments)])


@pytest.fixture(scope="module")
def short():
    """Make the quick scale shorter still, for this module."""
    quick = settings()["scales"]["quick"]
    before = {name: dict(quick[name]) for name in ("digits", "mnist")}
    for name in before:
        quick[name].update(rounds=ROUNDS, seeds=SEEDS)
    yield
    for name, values in before.items():
        quick[name].update(values)


@pytest.fixture(scope="module")
def played(short, tmp_path_factory):
    out = tmp_path_factory.mktemp("paper")
    return out, invoke("--figure", "digits", "--out", out, "--engine", "serial")


def test_a_figure_on_the_digits(played):
    out, ran = played
    assert ran.exit_code == 0, ran.output
    assert "0 of 12 cells are finished; 12 to run." in ran.stderr
    assert "not in the paper" in ran.output
    picture = (out / "figure-digits-linear-quick.png").read_bytes()
    assert picture.startswith(PNG)
    assert len(picture) < 200_000


def test_the_numbers_printed_are_those_of_the_policies(played):
    """Each policy, run by hand on the same seeds, makes the mistakes that the table says."""
    out, ran = played
    block = Block("digits", 100)
    policies = line_up(block, "paper", study.unit(block))
    for label in ("OFUL", "PSLB m=1", "PSLB m=4"):
        made = policies[label]
        mistakes = [
            eb.run(type(made)(**(made.params() | {"seed": seed})), eb.environments.Digits(), ROUNDS, seed).regret[-1]
            for seed in range(SEEDS)
        ]
        assert mistakes_of(out, block, label) == np.mean(mistakes)
        assert re.search(rf"^{label} +{np.mean(mistakes):.1f} ", ran.output, re.MULTILINE)


def test_accuracy_is_that_of_the_model_followed_over_all_images(played):
    out, _ = played
    block = Block("digits", 100)
    found = results(out, block).curve("accuracy", "PSLB m=1", block.name)
    instance = eb.environments.Digits().instance(1)
    policy = line_up(block, "paper", study.unit(block))["PSLB m=1"]
    policy = type(policy)(**(policy.params() | {"seed": 1}))
    rounds = instance.rounds()
    for _ in range(ROUNDS):
        offered = next(rounds)
        decision = policy.choose(offered.actions)
        policy.learn(decision, offered.reward(decision.index))
    sets, rows = instance.environment.opened, instance.environment.rows
    assert found.values[1, -1] == pytest.approx(np.mean((sets @ decision.model).argmax(axis=1) == rows), abs=1e-12)


def test_what_is_there_is_not_run_again_and_what_is_lost_is(played):
    out, _ = played
    folder = Study(Block("digits", 100), "paper", "quick").folder(out)
    before = (folder / "results.parquet").read_bytes()
    again = invoke("--figure", "digits", "--out", out, "--engine", "serial")
    assert "12 of 12 cells are finished; 0 to run." in again.stderr
    sorted((folder / "cells").glob("*.parquet"))[3].unlink()
    resumed = invoke("--figure", "digits", "--out", out, "--engine", "serial")
    assert "11 of 12 cells are finished; 1 to run." in resumed.stderr
    assert (folder / "results.parquet").read_bytes() == before
    assert resumed.output.replace(resumed.stderr, "") == again.output.replace(again.stderr, "")


def test_the_list_says_what_is_there_and_what_is_missing(played, tmp_path):
    out, _ = played
    told = invoke("--out", out, "--cache", tmp_path)
    assert told.exit_code == 0
    assert re.search(r"^digits +Handwritten .* 10 +12 of 12 ", told.output, re.MULTILINE)
    assert re.search(r"^4 +MNIST, d = 1000 +10 +0 of 12 ", told.output, re.MULTILINE)
    assert "eigenbandits features make mnist --dim 1000 --layer linear" in told.output


def test_claims_from_the_results_and_from_their_table(played):
    out, _ = played
    told = invoke("--claims", "--out", out)
    assert told.exit_code == 0
    assert "20 not run" in told.output  # the digits are not in the paper
    assert re.search(r"^PSLB m=1 +\d", told.output, re.MULTILINE)
    again = invoke("--claims", "--table", out / "results-quick.csv")
    assert again.output.strip() == told.output.split("\nWrote")[0].strip()
    assert (out / "claims-quick.md").read_text(encoding="utf-8").startswith("### Claims")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--figure", "senstivity"), "there is no figure 'senstivity'; did you mean 'sensitivity'?"),
        (("--figure", "2"), "make them with: eigenbandits features make mnist --dim 100 --layer linear"),
        (("--figure", "2", "--layer", "product"), "MNIST has no layer 'product'"),
        (("--claims", "--table", "nowhere.csv"), "nowhere.csv is not a results table of this paper"),
        (("--claims",), "there are no results yet; run a figure first, such as --figure digits."),
    ],
)
def test_refusals_are_one_sentence(arguments, message, tmp_path):
    refused = invoke(*arguments, "--out", tmp_path / "none", "--cache", tmp_path)
    assert refused.exit_code == 1
    assert refused.stderr.startswith("Error: ")
    assert message in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_a_figure_has_its_panels(played):
    out, _ = played
    figure = paper_figures()["digits"]
    block = figure.chosen(None)[0]
    drawn = figures.paper_plot(figure, [block], {block: {"paper": results(out, block)}})
    assert len(drawn.panels) == figure.panels == 10
    for panel, rank in zip(drawn.panels[:5], (1, 2, 4, 8, 16), strict=True):
        mistakes = [mistakes_of(out, block, policy) for policy in ("OFUL", f"PSLB m={rank}")]
        words = [f"{value:.1f}" if value < 10 else f"{value:.0f}" for value in mistakes]
        assert panel.title == f"m = {rank}\nOFUL {words[0]}, PSLB {words[1]}"
    assert all(len(panel.marks) == 2 for panel in drawn.panels)


def test_the_figure_of_the_main_text_shows_the_intersection_and_the_projected_set_beside_it(played):
    out, _ = played
    block = Block("digits", 100)
    figure = PaperFigure("main", "Figure 1 on the digits", ("digits-d100",), (1, 16), intersection=True)
    assert figure.groups == paper_figures()["1"].groups
    studies = {group: Study(block, group, "quick") for group in figure.groups}
    found = {group: study.experiment().run(study.folder(out), progress="none") for group, study in studies.items()}
    drawn = figures.paper_plot(figure, [block], {block: found})
    both = ResultsTable(rows_of(found["intersection"], block, "intersection"))
    for panel, rank in zip(drawn.panels[:2], (1, 16), strict=True):
        line = both.get(block, f"PSLB∩ m={rank}")
        assert line is not None
        mistakes = [mistakes_of(out, block, "OFUL"), line.mistakes, mistakes_of(out, block, f"PSLB m={rank}")]
        words = [f"{value:.1f}" if value < 10 else f"{value:.0f}" for value in mistakes]
        assert panel.title == f"m = {rank}\nOFUL {words[0]}\nC_m ∩ C_d {words[1]}, C_m alone {words[2]}"
        assert len(panel.marks) == 3


def test_panels_of_blocks_that_are_not_there_say_so(played):
    out, _ = played
    here, figure = Block("digits", 100), paper_figures()["1"]
    found = {here: {"paper": results(out, here)}}
    drawn = figures.paper_plot(figure, figure.chosen(None), found)
    assert len(drawn.panels) == figure.panels == 6
    assert [panel.marks for panel in drawn.panels] == [[Text("not run")]] * 6


def test_sensitivity_moves_one_constant_at_a_time(short, tmp_path, monkeypatch):
    about = settings()["sensitivity"]
    for name, values in {"ridge": [1.0, 25.0], "theta_bound": [1.0], "noise": [0.5], "samples": [10, 1000]}.items():
        monkeypatch.setitem(about, name, values)
    monkeypatch.setitem(about, "rounds", {"quick": 30})
    ran = invoke("--figure", "sensitivity", "--out", tmp_path, "--engine", "serial")
    assert ran.exit_code == 0, ran.output
    # Six policies with each λ, six with the network's own, which the other sweeps share, and the four that draw samples
    # with fewer of them. Two seeds.
    assert "0 of 44 cells are finished; 44 to run." in ran.stderr
    assert (tmp_path / "figure-sensitivity-quick.png").read_bytes().startswith(PNG)
    by_hand = [
        eb.run(eb.OFUL(noise=0.5, ridge=25.0), eb.environments.Digits(), 30, seed).regret[-1] for seed in range(2)
    ]
    rows = re.findall(r"mistakes by λ .*?^OFUL log-det +\S+ +(\S+)$", ran.output, re.MULTILINE | re.DOTALL)
    assert [float(number) for number in rows] == [np.mean(by_hand)]


@pytest.mark.parametrize(("values", "first"), [([0.9, 0.9], 1.0), ([0.9, 0.1], np.inf), ([0.1, np.nan], np.inf)])
def test_the_round_from_which_on_a_model_is_accurate(values, first):
    assert first_from(np.array([1, 5]), np.array(values), 0.9) == first


def test_real_images(short, tmp_path):
    block = Block("mnist", 100)
    given = os.environ.get("EIGENBANDITS_CACHE") or os.environ.get("EIGENBANDITS_DATA")
    try:
        study.features_file(block)
    except ValueError as error:
        why = str(error) if given else "EIGENBANDITS_CACHE is not set to a folder with features"
        pytest.skip(f"no features of MNIST: {why}")
    ran = invoke("--figure", "2", "--out", tmp_path, "--engine", "serial")
    assert ran.exit_code == 0, ran.output
    assert mistakes_of(tmp_path, block, "PSLB m=1") <= 5
    assert Path(tmp_path / "figure-2-linear-quick.png").read_bytes().startswith(PNG)
