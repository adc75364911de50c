"""The page about the paper says what its small tables say, and the tables are of the scale that was asked for."""

import csv
import re
from pathlib import Path

import pytest

from eigenbandits.papers.lale2019 import report, sensitivity
from eigenbandits.papers.lale2019.results_table import ResultsTable
from eigenbandits.papers.lale2019.settings import ranks

FOLDER = Path(__file__).parents[3] / "docs" / "papers"
PAGE = "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in ("lale2019.md", "lale2019-results.md"))
TABLE = ResultsTable.read(FOLDER / "lale2019.csv")
GRIDS = [
    (f"{data}-d{dim}-linear", seeds, rounds)
    for data, seeds, rounds in (("mnist", 5, 5000), ("cifar10", 3, 2000))
    for dim in (100, 500, 1000)
]
GRIDS += [("imagenet-d100-linear", 3, 1000)]


def test_the_tables_of_the_page_are_those_that_the_command_writes():
    assert report.update(PAGE, "claims", report.page(TABLE)) == PAGE


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("MNIST, d = 1000", "mnist-d1000"),
        ("CIFAR-10, d = 1000", "cifar10-d1000"),
        ("ImageNet, d = 100 (1,000 rounds)", "imagenet-d100"),
    ],
)
def test_the_numbers_of_the_first_figure_are_those_of_its_table(name, block):
    table = ResultsTable.read(FOLDER / "lale2019-figure-1.csv")
    rows = [table.get(f"{block}-linear", policy) for policy in ("PSLB∩ m=1", "PSLB m=1", "OFUL")]
    shown = [f"{row.mistakes:,.{0 if row.mistakes > 100 else 1}f}" for row in rows if row is not None]
    errors = [f"{row.standard_error:.{0 if row.mistakes > 100 else 1}f}" for row in rows if row is not None]
    line = re.search(rf"^\| {re.escape(name)} \|(.*±.*)\|$", PAGE, re.MULTILINE)
    assert line is not None
    assert [cell.strip() for cell in line[1].split("|")] == [
        f"{mean} ± {error}" for mean, error in zip(shown, errors, strict=True)
    ]


def test_the_sweep_of_the_page_is_that_of_its_table():
    with (FOLDER / "lale2019-sensitivity.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    points = [
        sensitivity.SensitivityPoint(
            *(row["constant"], float(row["value"]), row["policy"]),
            *(float(row["mistakes"]), float(row["standard_error"])),
        )
        for row in rows
    ]
    assert sensitivity.as_text(points) in PAGE


@pytest.mark.parametrize(("block", "seeds", "rounds"), GRIDS)
def test_results_are_full_scale(block, seeds, rounds):
    for policy in ("OFUL", *(f"PSLB m={m}" for m in ranks())):
        found = TABLE.get(block, policy)
        assert found is not None, policy
        assert found.seeds >= seeds
        assert found.rounds >= rounds


def test_pictures_are_there_and_small():
    names = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", PAGE)
    # The paper's eight, and those of this repository.
    assert {f"lale2019-figure-{number}.png" for number in range(1, 9)} <= set(names)
    for name in names:
        assert (FOLDER / name).stat().st_size < 200_000, name
    assert {path.name for path in FOLDER.glob("lale2019*.png")} == set(names)


def test_substitutions_are_named():
    for words in ("ResNet-56", "ResNet-18", "5,000 validation images"):
        assert words in PAGE
