"""The figures hold the numbers of the table, a policy looks the same in all of them, and no two look alike."""

from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb

import eigenbandits as eb
from eigenbandits.environments import LowRank
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.reporting import figures, style
from eigenbandits.lab.reporting.plots import Line
from eigenbandits.lab.studies import compare, demo


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two policies on a grid of four environments."""
    return eb.Experiment(
        "grid",
        policies={"OFUL": eb.OFUL(noise=0.5), "PSLB": eb.PSLB(noise=0.5)},
        environments={"E": {"kind": "LowRank", "arms": 4, "each": {"dim": [6, 8], "rank": [1, 2]}}},
        seeds=3,
        rounds=40,
        record={"points": 8, "accuracy": 20},
    ).run(tmp_path_factory.mktemp("grid"), progress="none")


def lines_of(panel):
    return {mark.name: mark for mark in panel.marks if isinstance(mark, Line) and not mark.thin}


def test_the_regret_figure_holds_the_means_and_bands_of_the_table(results):
    plot = figures.REGRET.plot(results)
    assert [panel.title for panel in plot.panels] == results.environments
    for panel in plot.panels:
        for policy, line in lines_of(panel).items():
            found = results.curve("regret", policy, panel.title)
            mean, error = found.values.mean(axis=0), found.values.std(axis=0, ddof=1) / np.sqrt(3)
            np.testing.assert_array_equal(line.x, found.rounds)
            np.testing.assert_allclose(line.y, mean)
            np.testing.assert_allclose(line.high, mean + error)
    assert list(plot.legend) == results.policies
    assert plot.caption == "grid: mean ± standard error over 3 seeds"
    assert "95 % bootstrap interval" in figures.REGRET.plot(results, "bootstrap").caption


def test_small_multiples_put_each_environment_in_its_place(results):
    plot = figures.Grid().plot(results)
    titles = [panel.title for panel in plot.panels]
    assert titles == ["dim = 6, rank = 1", "dim = 6, rank = 2", "dim = 8, rank = 1", "dim = 8, rank = 2"]
    found = results.curve("regret", "PSLB", "E, dim=8, rank=1")
    np.testing.assert_allclose(lines_of(plot.panels[2])["PSLB"].y, found.values.mean(axis=0))
    with pytest.raises(LabError, match="no environment has both 'dim' and 'colour'"):
        figures.Grid("dim", "colour").plot(results)
    missing = results.part(results.environments[:3], results.policies)
    assert figures.Grid().skip(missing) is None
    assert figures.Grid().plot(missing).panels[3].empty
    assert figures.Grid().skip(results.part(results.environments[:2], results.policies)) is not None  # one row only


def test_cost_against_regret_puts_each_policy_at_its_numbers(results):
    marks: Any = figures.Cost().plot(results).panels[0].marks
    times = results.curve("seconds_median", "PSLB", results.environments[0]).values
    final = results.final("regret")[1, 0]
    assert [mark.name for mark in marks] == results.policies
    assert marks[1].x == pytest.approx([1e6 * np.median(np.median(times, axis=1))])
    assert marks[1].y == pytest.approx([final.mean()])


def test_every_figure_that_the_results_have_data_for_is_made(results):
    assert list(figures.plots(results)) == [
        *("grid", "regret", "accuracy", "cost", "time_per_round", "projection_error", "radii", "rank")
    ]
    reasons = {figure.name: figure.skip(results) for figure in figures.FIGURES}
    assert reasons["reward"] == "no run has a value for reward."
    assert all(figure.description for figure in figures.FIGURES)


def test_a_figure_of_nothing_is_refused(results):
    with pytest.raises(LabError, match="no run has a value for sketch_loss"):
        figures.OverRounds("loss", "", ["sketch_loss"], ["loss"]).plot(results)


def test_the_projection_error_is_shown_with_its_bound(results):
    panel = figures.plots(results)["projection_error"].panels[0]
    drawn = {mark.thin: mark.y for mark in panel.marks if isinstance(mark, Line) and mark.name == "PSLB"}
    for thin, column in ((False, "projection_error"), (True, "projection_error_true")):
        np.testing.assert_allclose(drawn[thin], results.curve(column, "PSLB", panel.title).values.mean(axis=0))


def test_named_policies_look_the_same_in_every_experiment():
    names = ["PSLB", "OFUL", "LinTS"]
    alone = {name: style.styles([name])[name] for name in names}
    together = style.styles(["mine", "LinTS", "OFUL", "other", "PSLB"])
    assert all(together[name] == alone[name] for name in names)
    assert list(together) == ["mine", "LinTS", "OFUL", "other", "PSLB"]


@pytest.mark.parametrize(
    "labels",
    [list(style._FIXED), [f"policy {i}" for i in range(20)], ["PSLB", "OFUL", *(f"PSLB m={i}" for i in range(6))]],
)
def test_no_two_policies_look_alike_even_without_color(labels):
    looks = style.styles(labels).values()
    assert len(set(looks)) == len(labels)
    assert len({(str(look.line), look.marker) for look in looks}) == len(labels)


def test_colours_are_dark_enough_to_be_seen_on_white():
    """Relative luminance at most 0.5: even the palest line keeps a contrast of 2 to white."""
    for color in style.COLORS:
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color))
        assert 0.2126 * red + 0.7152 * green + 0.0722 * blue <= 0.5


def test_logged_data_is_shown_by_its_reward(tmp_path):
    rng = np.random.default_rng(0)
    log = eb.environments.Log(rng.standard_normal((90, 2, 3)), rng.integers(0, 2, 90), rng.random(90))
    environments = {"log": eb.environments.Replay(log), "model": LowRank(dim=3, rank=1, arms=2)}
    experiment = eb.Experiment("both", {"OFUL": eb.OFUL(noise=0.5)}, environments, seeds=2, rounds=30)
    found = figures.plots(experiment.run(tmp_path, progress="none"))
    assert [panel.title for panel in found["regret"].panels] == ["model"]
    assert [panel.title for panel in found["reward"].panels] == ["log"]
    assert [panel.y.label for panel in found["cost"].panels] == ["final reward", "final regret"]


@pytest.mark.parametrize("policies", [demo.POLICIES, compare.policies(100)])
def test_all_lines_of_a_study_differ_without_their_colors(policies):
    looks = style.styles(policies)
    assert len({(str(looks[name].line), looks[name].marker) for name in policies}) == len(policies)
