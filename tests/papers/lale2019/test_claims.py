"""Verdicts on results that are made up, so that each claim is seen to hold, to hold in part and to fail."""

from dataclasses import replace

import pytest

from eigenbandits.lab.errors import LabError
from eigenbandits.papers.lale2019 import report
from eigenbandits.papers.lale2019.claims import CLAIMS
from eigenbandits.papers.lale2019.results_table import ResultsTable, Row
from eigenbandits.papers.lale2019.settings import all_blocks

RANKS = (1, 2, 4, 8, 16)
# OFUL's mistakes and PSLB's, m = 1 … 16, with which every claim holds.
GOOD = {
    "mnist-d100": (200.0, (2.0, 20.0, 100.0, 300.0, 900.0)),
    "mnist-d500": (2000.0, (2.0, 30.0, 110.0, 400.0, 999.0)),
    "mnist-d1000": (3000.0, (2.0, 30.0, 110.0, 400.0, 999.0)),
    "cifar10-d100": (200.0, (3.0, 20.0, 100.0, 300.0, 900.0)),
    "cifar10-d500": (2000.0, (3.0, 30.0, 110.0, 400.0, 999.0)),
    "cifar10-d1000": (3000.0, (3.0, 30.0, 110.0, 400.0, 999.0)),
    "imagenet-d100": (4000.0, (9.0, 30.0, 110.0, 400.0, 999.0)),
}


def line(block, policy, mistakes, **more):
    plain = {"early": 80.0, "late": 0.05 * mistakes, "accuracy": 0.99, "accuracy_error": 0.0, "accuracy_10": 0.5}
    plain |= {"accuracy_100": 0.9, "learned": 5.0, "microseconds": 1.0, "standard_error": 1.0}
    return Row(block=block, group="paper", policy=policy, rounds=5000, seeds=3, mistakes=mistakes, **(plain | more))


def good(layer):
    lines = []
    for block, (oful, pslb) in GOOD.items():
        name = f"{block}-{'product' if layer == 'relu' and 'imagenet' in block else layer}"
        lines.append(line(name, "OFUL", oful, late=60.0, accuracy=0.5, learned=float("inf")))
        for m, mistakes in zip(RANKS, pslb, strict=True):
            lines.append(line(name, f"PSLB m={m}", mistakes))
            lines.append(line(name, f"PSLB∩ m={m}", min(mistakes, oful)))
    return lines


def verdicts(lines, kind="linear"):
    return [claim.check(ResultsTable(lines), kind).verdict for claim in CLAIMS]


def changed(block, policy, **values):
    """Return the results in which everything holds, but for one line."""
    return [replace(x, **values) if (x.block, x.policy) == (f"{block}-linear", policy) else x for x in good("linear")]


@pytest.mark.parametrize(("layer", "kind"), [("linear", "linear"), ("relu", "other")])
def test_all_hold_where_the_results_are_the_papers(layer, kind):
    assert verdicts(good(layer), kind) == ["held"] * len(CLAIMS)
    # Nothing else has been run.
    for missing in {"linear", "other", "scaled"} - {kind}:
        assert verdicts(good(layer), missing) == ["not run"] * len(CLAIMS)


def test_scaled_actions_are_judged_by_the_projected_set_alone():
    names = {"OFUL": "OFUL scaled"} | {f"PSLB m={m}": f"PSLB scaled m={m}" for m in RANKS}
    lines = [replace(x, policy=names[x.policy]) for x in good("linear") if x.policy in names]
    found = verdicts(lines, "scaled")
    assert found[9] == "not run"  # what is claimed of the intersection
    assert found[:9] + found[10:] == ["held"] * (len(CLAIMS) - 1)


@pytest.mark.parametrize(
    ("place", "block", "policy", "values", "word"),
    [
        (1, "mnist-d1000", "PSLB m=1", {"accuracy": 0.94}, "partly"),
        (2, "imagenet-d100", "PSLB m=1", {"mistakes": 51.0}, "partly"),
        (3, "imagenet-d100", "PSLB m=1", {"mistakes": 50.0}, "partly"),  # 80 times
        (4, "cifar10-d1000", "OFUL", {"early": 49.0}, "partly"),
        (5, "cifar10-d1000", "PSLB m=1", {"learned": 11.0}, "partly"),
        (6, "cifar10-d1000", "OFUL", {"learned": 49.0}, "partly"),
        (6, "cifar10-d1000", "PSLB m=1", {"learned": float("inf")}, "partly"),
        (7, "mnist-d500", "PSLB m=2", {"mistakes": 201.0}, "partly"),  # 9.95 times, against 10 at d = 100
        (8, "mnist-d100", "PSLB m=2", {"mistakes": 150.0}, "partly"),
        (9, "mnist-d100", "PSLB m=8", {"mistakes": 199.0}, "partly"),
        (9, "mnist-d100", "PSLB m=4", {"mistakes": 201.0}, "partly"),
        (10, "cifar10-d100", "PSLB∩ m=16", {"mistakes": 221.0}, "partly"),
        (11, "mnist-d500", "PSLB m=16", {"mistakes": 2001.0}, "partly"),
        (12, "mnist-d500", "PSLB m=8", {"accuracy": 0.89}, "partly"),
        (12, "mnist-d500", "PSLB m=8", {"accuracy": 0.89, "late": 41.0}, "not"),
        (13, "mnist-d1000", "PSLB m=4", {"mistakes": 3001.0}, "partly"),
        (14, "mnist-d1000", "PSLB m=2", {"accuracy": 0.5}, "partly"),
        (15, "mnist-d1000", "OFUL", {"late": 49.0}, "partly"),
        (15, "mnist-d1000", "OFUL", {"late": 49.0, "accuracy": 0.999}, "not"),
        (16, "cifar10-d100", "PSLB m=8", {"mistakes": 150.0}, "partly"),
        (17, "cifar10-d100", "PSLB m=1", {"mistakes": 11.0}, "not"),
        (18, "cifar10-d500", "PSLB m=1", {"mistakes": 51.0}, "not"),
        (19, "imagenet-d100", "PSLB m=16", {"mistakes": 4001.0}, "partly"),
        (20, "cifar10-d100", "OFUL", {"mistakes": 4001.0}, "partly"),
    ],
)
def test_one_line_changes_a_verdict(place, block, policy, values, word):
    assert verdicts(changed(block, policy, **values))[place - 1] == word


def test_orders_of_magnitude():
    """Ten times fewer on one dataset is something; less than that on all is not what was claimed."""
    lines = [replace(x, mistakes=12.0 if x.mistakes < 1000 else 119.0) for x in good("linear")]
    assert verdicts(lines)[2] == "not"  # 9.9 times
    lines = [replace(x, mistakes=12.0 if x.mistakes < 1000 else 121.0) for x in good("linear")]
    assert verdicts(lines)[2] == "partly"


def test_numbers_are_those_of_the_results():
    found = CLAIMS[8].check(ResultsTable(good("linear")))
    assert found.numbers == "PSLB 2.0, 20, 100, 300, 900 (m = 1 … 16); OFUL 200"
    missing = [x for x in good("linear") if x.policy != "PSLB m=8"]
    assert CLAIMS[8].check(ResultsTable(missing)).numbers == "PSLB m=8 on mnist-d100-linear is missing"


def test_text_and_markdown_say_the_same():
    table = ResultsTable(good("linear"))
    text, markdown = report.text(table), report.page(table)
    assert f"Of {len(CLAIMS)} claims, without a ReLU: {len(CLAIMS)} held." in text
    flat = " ".join(text.split())
    for claim in CLAIMS:
        assert f"| **held**: {claim.check(table).numbers} |" in markdown
        assert claim.check(table).numbers in flat
    rows = [row for row in markdown.splitlines() if row.startswith("|")]
    assert all(row.endswith("|") for row in rows)
    # A number, three columns of words, the figure; the views that have not been run are left out.
    assert {row.count("|") for row in rows[: len(CLAIMS) + 2]} == {6}
    both = report.page(ResultsTable([*good("linear"), *good("relu")]))
    assert {row.count("|") for row in both.splitlines()[4:12]} == {7}


def test_tables_side_by_side():
    lines = [*good("relu"), line("mnist-d100-relu", "PSLB uncentred m=1", 4999.0)]
    assert report.uncentered(ResultsTable(lines))[:2] == [
        ["centered by set / as they are", "MNIST, d = 100, ReLU"],
        ["PSLB m=1", "2.0 / 4,999"],
    ]
    assert report.mistakes(ResultsTable(lines))[1][0] == "PSLB m=1"
    assert list(report.sections(ResultsTable(good("linear")))) == [
        "Compared with strong versions",
        "One thing changed at a time",
    ]
    assert len(report.mistakes(ResultsTable(good("linear")))[0]) == 1 + len(GOOD)


def test_the_table_survives_its_file(tmp_path):
    table = ResultsTable([*good("linear"), line("digits-d100-linear", "longest action", 3.0, accuracy=float("nan"))])
    table.write(tmp_path / "table.csv")
    back = ResultsTable.read(tmp_path / "table.csv")
    assert [x.mistakes for x in back.rows] == [x.mistakes for x in table.rows]
    assert verdicts(back.rows) == ["held"] * len(CLAIMS)
    (tmp_path / "cut.csv").write_text((tmp_path / "table.csv").read_text()[:400])
    with pytest.raises(LabError, match=r"cut\.csv is not a results table of this paper"):
        ResultsTable.read(tmp_path / "cut.csv")
    with pytest.raises(LabError, match="there are no results yet"):
        ResultsTable([]).write(tmp_path / "none.csv")


def test_every_block_of_the_claims_is_run():
    names = {block.name for block in all_blocks()}
    assert {x.block for layer in ("linear", "relu") for x in good(layer)} <= names
