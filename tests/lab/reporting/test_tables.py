"""Bands, standard errors and tables against small cases that can be worked out by hand."""

import csv
import math

import numpy as np
import pytest

from eigenbandits.lab.reporting.tables import aligned, bootstrap_band, percent, standard_error, write_csv


def test_standard_error_is_the_sample_deviation_over_root_n():
    # Deviations from the mean 3 are -2, 0, 2: variance 8/2, standard error 2/√3.
    assert standard_error([1.0, 3.0, 5.0]) == pytest.approx(2.0 / math.sqrt(3.0))


def test_one_value_has_no_standard_error():
    assert math.isnan(standard_error([4.0]))


@pytest.mark.parametrize(("level", "expected"), [(0.95, (0.0, 1.0)), (0.45, (0.5, 0.5))])
def test_the_band_of_two_values_is_that_of_their_three_possible_means(level, expected):
    # Drawing twice from {0, 1}: the mean is 0, ½ or 1 with probability ¼, ½, ¼.
    low, high = bootstrap_band([0.0, 1.0], level=level)
    assert (float(low), float(high)) == expected


def test_the_band_of_many_values_is_the_normal_one():
    values = np.random.default_rng(0).normal(5.0, 2.0, 400)
    low, high = bootstrap_band(values)
    half = 1.959964 * values.std() / math.sqrt(len(values))
    # 10,000 resamples know a 2.5 % quantile to some 0.03 standard errors.
    assert float(low) == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert float(high) == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_a_row_for_each_seed_gives_a_band_for_each_column():
    rows = np.random.default_rng(1).normal(size=(12, 3))
    low, high = bootstrap_band(rows)
    for column in range(3):
        alone = bootstrap_band(rows[:, column])
        assert [float(end) for end in alone] == pytest.approx([low[column], high[column]])


def test_columns_line_up_under_headers_of_several_lines():
    text = aligned(["name", "left\ntheorem"], [["a", "1 %"], ["longer", "10.0 %"]])
    assert text.splitlines() == [
        "           left",
        "name    theorem",
        "------  -------",
        "a           1 %",
        "longer   10.0 %",
    ]


def test_a_share_that_is_not_there_is_a_dash():
    assert percent(0.125) == "12.5 %"
    assert percent(math.nan) == "–"


def test_what_is_written_reads_back(tmp_path):
    rows: list[dict[str, object]] = [
        {"policy": "PSLB, rank told", "regret": 1.5},
        {"policy": 'a "quoted" one', "regret": None},
    ]
    write_csv(tmp_path / "table.csv", rows)
    with (tmp_path / "table.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    assert found == [{"policy": "PSLB, rank told", "regret": "1.5"}, {"policy": 'a "quoted" one', "regret": ""}]
