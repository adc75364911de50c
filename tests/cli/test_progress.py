"""A bar on a terminal, at most ten plain lines elsewhere."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from eigenbandits.cli.progress import progress


@pytest.mark.parametrize(("total", "told"), [(3, [1, 2, 3]), (10, range(1, 11)), (40, range(4, 41, 4))])
def test_without_a_terminal_there_are_plain_lines(total, told):
    text = io.StringIO()
    with progress("Playing", Console(file=text, width=80)) as tell:
        for done in range(1, total + 1):
            tell(done, total)
    lines = text.getvalue().splitlines()
    assert [line.rsplit(",", 1)[0] for line in lines] == [f"Playing: {done} of {total} runs" for done in told]


def test_on_a_terminal_there_is_a_bar():
    text = io.StringIO()
    with progress("Playing", Console(file=text, force_terminal=True, width=80)) as tell:
        tell(1, 4)
        tell(4, 4)
    assert "Playing" in text.getvalue()
    assert "4/4" in text.getvalue()
    assert "━" in text.getvalue()
