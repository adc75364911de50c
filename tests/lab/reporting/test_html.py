"""The page says the numbers of the table, needs nothing from outside, and cannot be broken by a label."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import stats

import eigenbandits as eb
from eigenbandits.environments import Log, LowRank, Replay
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.reporting.html import write_report


class Page(HTMLParser):
    """The text, the tables and the addresses of a page."""

    VOID = ("meta", "img", "link", "br")

    def __init__(self, text):
        super().__init__()
        self.words: list[str] = []
        self.addresses: list[str] = []
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        self.addresses += [value for name, value in attrs if name in ("src", "href", "action")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1].append(data)
        if self.open and self.open[-1] != "style":
            self.words.append(data)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    rng = np.random.default_rng(0)
    log = Log(rng.standard_normal((150, 2, 4)), rng.integers(0, 2, 150), rng.random(150))
    return eb.Experiment(
        "page",
        policies={
            "PSLB": eb.PSLB(noise=0.5),
            "Random": eb.Random(),
            "twin": eb.Random(),
            "<b>&amp;": {"kind": "OFUL", "noise": 0.5},
        },
        environments={"model": LowRank(dim=8, rank=1, arms=6, noise=0.1), "log": Replay(log)},
        seeds=5,
        rounds=60,
        record={"points": 6, "accuracy": 20},
        description="What <happens> here",
    ).run(tmp_path_factory.mktemp("page"), progress="none")


@pytest.fixture(scope="module")
def page(results):
    return Page(write_report(results).read_text())


def test_the_page_is_whole_and_needs_no_network(results, page):
    text = (results.folder / "report.html").read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert page.addresses
    assert all(address.startswith("data:image/svg+xml;base64,") for address in page.addresses)
    assert not re.search(r"@import|url\(|<script|<link", text)


def test_labels_and_descriptions_are_shown_as_they_are_written(page):
    assert "<b>&amp;" in [cell for row in page.rows for cell in row]
    assert "What <happens> here" in " ".join(page.words)


def test_means_and_intervals_are_those_of_the_table(results, page):
    best = results.final("regret")[:, 0].mean(axis=1).min()
    final = results.final("regret")[results.policies.index("PSLB"), 0]
    half = stats.t.ppf(0.975, 4) * final.std(ddof=1) / np.sqrt(5)
    row = next(row for row in page.rows if row[0] == "PSLB")
    assert float(row[1]) == pytest.approx(final.mean(), rel=0.01)
    low, high = (float(end.replace("−", "-")) for end in row[2].split(" to "))
    assert low == pytest.approx(final.mean() - half, rel=0.02, abs=0.01)
    assert high == pytest.approx(final.mean() + half, rel=0.02, abs=0.01)
    assert float(row[3].removesuffix(" ×")) == pytest.approx(final.mean() / best, abs=0.006)


def test_pairs_are_compared_on_the_same_seeds_and_corrected(results, page):
    """Two environments with six pairs each: one p-value has been multiplied by up to twelve."""
    final = results.final("regret")[:, 0]
    row = next(row for row in page.rows if row[:2] == ["PSLB", "Random"])
    difference = final[0] - final[1]
    assert float(row[2].replace("−", "-")) == pytest.approx(difference.mean(), rel=0.01)
    p = stats.ttest_rel(final[0], final[1]).pvalue
    assert p < 0.05 / 12  # else the verdict would not be certain
    assert row[4] == "< 0.001" if 12 * p < 0.001 else float(row[4]) <= 12 * p + 0.001
    assert row[5] == "PSLB is better"
    same = next(row for row in page.rows if row[:2] == ["Random", "twin"])
    assert same[5] == "the same on every seed"


def test_the_page_says_in_words_who_was_best_and_how_sure_that_is(results, page):
    text = " ".join(page.words)
    lowest = results.policies[results.final("regret")[:, 0].mean(axis=1).argmin()]
    highest = results.policies[results.final("reward")[:, 1].mean(axis=1).argmax()]
    assert re.search(rf"model\.\s+{re.escape(lowest)} has the lowest mean final regret", text)
    assert re.search(rf"log\.\s+{re.escape(highest)} has the highest mean final reward", text)


def test_settings_versions_and_the_way_to_run_it_again_are_there(page):
    text = " ".join(page.words)
    assert "noise = 0.5" in text
    assert eb.__version__ in text
    assert np.__version__ in text
    assert "eigenbandits run experiment.json" in text
    assert "4 policies × 2 environments × 5 seeds, 60 rounds each" in text


def test_a_page_of_one_policy_and_one_seed_says_what_is_missing(tmp_path):
    one = eb.Experiment("one", {"OFUL": eb.OFUL(noise=0.5)}, {"e": LowRank(dim=3, rank=1, arms=2)}, 1, 20)
    target = write_report(one.run(tmp_path, progress="none"), tmp_path / "elsewhere.html", test="wilcoxon")
    text = " ".join(Page(target.read_text()).words)
    assert "With one seed chance cannot be ruled out" in text
    assert "1 policy × 1 environment × 1 seed" in text
    assert not re.search(r"\bnan\b", text)


def test_a_place_that_cannot_be_written_to_is_told(results, tmp_path):
    with pytest.raises(LabError, match=r"cannot be written \(there is no such folder"):
        write_report(results, tmp_path / "no" / "such" / "folder.html", figures={})
