"""The figures show the numbers of the table, a policy looks the same in all of them, and no two look alike."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

import eigenbandits as eb
from eigenbandits.environments import LowRank
from eigenbandits.lab import plots, style
from eigenbandits.lab.drawing import save, to_bytes
from eigenbandits.lab.words import LabError


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


def lines_of(axes):
    return {line.get_color(): line for line in axes.lines}


def test_the_regret_figure_draws_the_means_of_the_table(results):
    look = style.styles(results.policies)
    made = plots.regret(results)
    shown = [axes for axes in made.axes if axes.get_visible()]
    assert [axes.get_title() for axes in shown] == results.environments
    for axes in shown:
        for policy in results.policies:
            found = results.curve("regret", policy, axes.get_title())
            line = lines_of(axes)[look[policy].colour]
            np.testing.assert_array_equal(line.get_xdata(), found.rounds)
            np.testing.assert_allclose(line.get_ydata(), found.values.mean(axis=0))
    assert made.get_suptitle() == "grid: mean ± standard error over 3 seeds"
    assert "95 % bootstrap interval" in plots.regret(results, "bootstrap").get_suptitle()


def test_small_multiples_put_each_environment_in_its_place(results):
    made = plots.grid(results, "dim", "rank")
    titles = [axes.get_title() for axes in made.axes]
    assert titles == ["dim = 6, rank = 1", "dim = 6, rank = 2", "dim = 8, rank = 1", "dim = 8, rank = 2"]
    look = style.styles(results.policies)
    found = results.curve("regret", "PSLB", "E, dim=8, rank=1")
    np.testing.assert_allclose(lines_of(made.axes[2])[look["PSLB"].colour].get_ydata(), found.values.mean(axis=0))
    with pytest.raises(LabError, match="no environment has both 'dim' and 'colour'"):
        plots.grid(results, "dim", "colour")


def test_cost_against_regret_puts_each_policy_at_its_numbers(results):
    made = plots.cost(results)
    times = results.curve("seconds_median", "PSLB", results.environments[0]).values
    final = results.final("regret")[1, 0]
    points = [np.asarray(line.get_xydata(), dtype=float)[0] for line in made.axes[0].lines[::3]]
    expected = (1e6 * np.median(np.median(times, axis=1)), final.mean())
    assert min(np.hypot(x - expected[0], y - expected[1]) for x, y in points) < 1e-6


def test_every_figure_that_the_results_have_something_for_is_made_and_saved(results, tmp_path):
    made = plots.all_figures(results)
    assert set(made) == {*("regret", "accuracy", "time_per_round", "projection_error", "radii", "rank", "cost", "grid")}
    paths = save({"regret": made["regret"]}, tmp_path / "figures")
    assert [path.name for path in paths] == ["regret.png", "regret.pdf", "regret.svg"]
    starts = [path.read_bytes()[:5] for path in paths]
    assert starts == [b"\x89PNG\r", b"%PDF-", b"<?xml"]
    with pytest.raises(LabError, match="format is 'gif'"):
        to_bytes(made["regret"], "gif")


def test_the_same_figure_gives_the_same_bytes(results):
    assert to_bytes(plots.rank(results), "svg") == to_bytes(plots.rank(results), "svg")


def test_a_figure_of_nothing_is_refused(results):
    with pytest.raises(LabError, match="no run has a value for sketch_loss"):
        plots.over_rounds(results, ["sketch_loss"], "loss")


def test_the_projection_error_is_drawn_with_its_bound(results):
    axes = plots.projection_error(results).axes[0]
    environment = results.environments[0]
    drawn = [np.asarray(line.get_ydata()) for line in axes.lines]
    for column in ("projection_error", "projection_error_true"):
        mean = results.curve(column, "PSLB", environment).values.mean(axis=0)
        assert any(len(line) == len(mean) and np.allclose(line, mean) for line in drawn)


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
def test_no_two_policies_look_alike_even_without_colour(labels):
    looks = style.styles(labels).values()
    assert len(set(looks)) == len(labels)
    assert len({(str(look.line), look.marker) for look in looks}) == len(labels)


def test_colours_are_dark_enough_to_be_seen_on_white():
    """Relative luminance at most 0.5: even the palest line keeps a contrast of 2 to white."""
    for colour in style._COLOURS:
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour))
        assert 0.2126 * red + 0.7152 * green + 0.0722 * blue <= 0.5


def test_logged_data_is_drawn_by_its_reward(tmp_path):
    rng = np.random.default_rng(0)
    log = eb.environments.Log(rng.standard_normal((90, 2, 3)), rng.integers(0, 2, 90), rng.random(90))
    environments = {"log": eb.environments.Replay(log), "model": LowRank(dim=3, rank=1, arms=2)}
    experiment = eb.Experiment("both", {"OFUL": eb.OFUL(noise=0.5)}, environments, seeds=2, rounds=30)
    found = experiment.run(tmp_path, progress="none")
    assert [axes.get_title() for axes in plots.regret(found).axes] == ["model"]
    assert [axes.get_title() for axes in plots.reward(found).axes] == ["log"]
    assert {"regret", "reward"} <= set(plots.all_figures(found))
    assert [axes.get_ylabel() for axes in plots.cost(found).axes] == ["final reward", "final regret"]
