"""The figure is a picture of what was handed in; names at the lines' ends lie as near to them as can be."""

from __future__ import annotations

import struct
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import colors, image
from scipy.optimize import isotonic_regression

from eigenbandits.extras import MissingExtraError
from eigenbandits.lab import demo, figures
from eigenbandits.lab.compare import paper_line_up
from eigenbandits.lab.style import styles


def size_of(path):
    """The width and height that a PNG file's header declares."""
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert content[12:16] == b"IHDR"
    assert content.endswith(b"IEND\xaeB`\x82")
    return struct.unpack(">II", content[16:24])


def test_the_figure_is_a_whole_png_of_the_size_declared(tmp_path):
    path = tmp_path / "regret.png"
    figures.regret_figure(path, figures.Panel({"A": [np.arange(10.0), np.arange(10.0)]}, "Title"))
    assert size_of(path) == (figures.WIDTH, figures.HEIGHT)
    assert image.imread(path).shape == (figures.HEIGHT, figures.WIDTH, 4)
    assert [entry.name for entry in tmp_path.iterdir()] == ["regret.png"]


def rows_of_colour(path, colour):
    """Within the axes' right half: the pixel rows that hold a line's colour, at full strength."""
    pixels = image.imread(path)[:, 500:900, :3]
    wanted = np.array(colors.to_rgb(colour))
    rows, _ = np.nonzero(np.abs(pixels - wanted).max(axis=2) < 0.02)
    return rows


def test_the_line_that_lost_more_is_drawn_above(tmp_path):
    path = tmp_path / "regret.png"
    flat = np.full(50, 10.0)
    figures.regret_figure(path, figures.Panel({"PSLB": [flat, flat], "OFUL": [9 * flat, 9 * flat]}, "Title"))
    looks = styles(["PSLB", "OFUL"])
    low, high = (rows_of_colour(path, looks[name].colour) for name in ("PSLB", "OFUL"))
    assert low.size
    assert high.size
    assert high.max() < low.min()  # rows are counted from the top


def test_panels_stand_side_by_side(tmp_path):
    path = tmp_path / "regret.png"
    left, right = (figures.Panel({name: [np.arange(10.0)] * 2}, name) for name in ("PSLB", "OFUL"))
    figures.regret_figure(path, left, right)
    assert size_of(path) == (2 * figures.WIDTH, figures.HEIGHT)
    pixels = image.imread(path)[:, :, :3]
    halves = pixels[:, : figures.WIDTH], pixels[:, figures.WIDTH :]
    looks = [styles([name])[name].colour for name in ("PSLB", "OFUL")]
    for half, colour in zip(halves, looks, strict=True):
        assert (np.abs(half - np.array(colors.to_rgb(colour))).max(axis=2) < 0.02).any()


@pytest.mark.parametrize("line_up", [demo.line_up, demo.images_line_up, paper_line_up])
def test_all_lines_of_a_figure_differ_without_their_colours(line_up):
    names = list(line_up(demo.ENVIRONMENT.instance(0), 0))
    looks = styles(names)
    assert len({(str(looks[name].line), looks[name].marker) for name in names}) == len(names)


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r'needs matplotlib; run: pip install "eigenbandits\[plot\]"'):
        figures.regret_figure(tmp_path / "regret.png", figures.Panel({"A": [np.arange(3.0)]}, "Title"))
    assert list(tmp_path.iterdir()) == []


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=14), st.floats(0.001, 0.2))
def test_names_are_moved_as_little_as_the_gap_allows(places, gap):
    places = np.sort(places)
    # Least squares under y[i+1] >= y[i] + gap is an isotonic regression once i·gap is taken off.
    steps = gap * np.arange(len(places))
    expected = isotonic_regression(places - steps).x + steps
    assert figures.spaced(places.tolist(), gap) == pytest.approx(expected.tolist(), abs=1e-9)
