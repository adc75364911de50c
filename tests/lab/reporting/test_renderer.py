"""The renderer draws what the data says: every mark where it belongs, in three formats, the same bytes each time."""

import struct
import sys

import numpy as np
import pytest

from eigenbandits.extras import MissingExtraError
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.reporting.plots import Axis, Bars, Line, Panel, Plot, Points, Text, VerticalBand, VerticalLine
from eigenbandits.lab.reporting.renderer import canvas, draw, encode, save, to_bytes
from eigenbandits.lab.reporting.style import styles

ROUNDS = np.arange(1.0, 41.0)
LINES = [Line("PSLB", ROUNDS, ROUNDS, ROUNDS - 1, ROUNDS + 1), Line("OFUL", ROUNDS, 9 * ROUNDS, thin=True)]


def axes_of(*marks, **settings):
    return draw(Plot([Panel(marks=marks, **settings)])).axes[0]


def test_lines_and_bands_are_where_the_data_is():
    axes = axes_of(*LINES)
    looks = styles(["PSLB", "OFUL"])
    for line, mark in zip(axes.lines, LINES, strict=True):
        np.testing.assert_array_equal(np.asarray(line.get_xydata()), np.column_stack([mark.x, mark.y]))
        assert line.get_color() == looks[mark.name].color
    (band,) = axes.collections
    low, high = band.get_datalim(axes.transData).intervaly
    assert (low, high) == (0.0, 41.0)
    assert axes.get_ylim() == (0.0, pytest.approx(1.06 * 360.0))  # nothing is below zero


def test_points_bars_and_notes_are_where_the_data_is():
    axes = axes_of(
        Points("PSLB", [2.0], [3.0], y_error=[0.5]), VerticalLine(1.0), VerticalBand(1.0, 1.5), Text("x", (2, 3))
    )
    assert np.asarray(axes.lines[0].get_xydata()).tolist() == [[2.0, 3.0]]
    assert axes.texts[0].get_text() == "x"
    bars = axes_of(Bars("a", [1.0, 2.0], [0.1, 0.1]), Bars("b", [3.0, 4.0]), x=Axis(categories=["p", "q"]), legend=True)
    heights = [patch.get_height() for patch in bars.patches]
    assert heights == [1.0, 2.0, 3.0, 4.0]
    centers = [patch.get_x() + patch.get_width() / 2 for patch in bars.patches]
    assert centers == pytest.approx([-0.2, 0.8, 0.2, 1.2])
    assert [label.get_text() for label in bars.get_xticklabels()] == ["p", "q"]
    legend = bars.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]


def test_axes_are_as_the_data_says():
    axes = axes_of(*LINES, x=Axis("round", log=True, ticks=[1, 10]), y=Axis("regret", log=True, floor=5.0))
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_ylim()[0] == 5.0
    assert list(axes.get_xticks()) == [1, 10]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("round", "regret")
    rows = axes_of(
        Points("PSLB", [1.0, 2.0], [0.0, 1.0]), y=Axis(categories=["top", "bottom"]), x=Axis(low=0.5, high=4.0)
    )
    assert rows.get_ylim() == (1.6, -0.6)
    assert rows.get_xlim() == (0.5, 4.0)


def test_panels_that_are_missing_stay_empty_and_the_legend_is_shared():
    made = draw(
        Plot(
            [Panel(marks=LINES), Panel(empty=True), Panel(marks=[Text("not run")])],
            columns=2,
            legend=["PSLB"],
            caption="c",
        )
    )
    assert [axes.get_visible() for axes in made.axes] == [True, False, True, False]
    assert [text.get_text() for text in made.legends[0].get_texts()] == ["PSLB"]
    assert made.get_suptitle() == "c"


def boxes(artists):
    return [artist.get_window_extent() for artist in artists if artist.get_text()]


def test_the_ticks_of_a_panel_do_not_touch_the_label_of_the_next():
    # The demo: rounds to 2,000 on the left, regret of three digits on the right.
    x = np.arange(0.0, 2001.0, 100.0)
    panels = [
        Panel(title, Axis("round"), Axis("cumulative regret"), [Line("OFUL", x, most * x / 2000.0)])
        for title, most in (("handwritten digits: mistakes", 580.0), ("the paper's random model: reward lost", 250.0))
    ]
    made = draw(Plot(panels, columns=2))
    made.canvas.draw()
    left, right = made.axes
    inside = [0.0 <= place <= left.get_xlim()[1] for place in left.get_xticks()]
    ticks = [box for box, shown in zip(boxes(left.get_xticklabels()), inside, strict=True) if shown]
    assert len(ticks) > 3
    label = right.yaxis.label.get_window_extent()
    # By at least the width of a character.
    assert all(label.x0 - tick.x1 > ticks[0].width for tick in ticks)
    assert all(tick.x0 > label.x1 for tick in boxes(right.get_yticklabels()))


def test_no_line_crosses_the_legend_of_a_panel():
    made = draw(
        Plot([Panel("Spectrum", marks=[*LINES[:1], VerticalLine(4.5, "m = 4, edge of the bulk")], legend=True)])
    )
    made.canvas.draw()
    (axes,) = made.axes
    legend = axes.get_legend()
    assert legend is not None
    assert len(legend.get_texts()) == 2
    assert legend.get_window_extent().y1 < min(label.y0 for label in boxes(axes.get_xticklabels())) + 1.0
    assert legend.get_window_extent().y1 < axes.get_window_extent().y0


def test_files_are_whole_in_every_format_and_the_same_each_time(tmp_path):
    plot = Plot([Panel(marks=LINES)], width=4.0, height=3.0)
    paths = save({"regret": plot}, tmp_path / "figures")
    assert [path.name for path in paths] == ["regret.png", "regret.pdf", "regret.svg"]
    png = paths[0].read_bytes()
    assert struct.unpack(">II", png[16:24]) == (600, 450)  # 150 pixels an inch
    assert [path.read_bytes()[:5] for path in paths] == [b"\x89PNG\r", b"%PDF-", b"<?xml"]
    assert to_bytes(plot, "svg") == to_bytes(plot, "svg") == paths[2].read_bytes()
    with pytest.raises(LabError, match="format is 'gif'"):
        encode(canvas()[0], "gif")


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r'needs matplotlib; run: pip install "eigenbandits\[plot\]"'):
        draw(Plot([Panel(marks=LINES)]))
