"""The map of the code: every hop of its diagrams exists, and every room has its row."""

import re
from importlib import import_module

import pytest
from tests.docs.pages import ROOT, blocks
from tests.test_imports import ALLOWED, KNOWN

PAGE = ROOT / "docs" / "architecture.md"
HOPS = [
    found[1]
    for block in blocks(PAGE)
    if block.title == "walk"
    for line in block.code.splitlines()
    if (found := re.match(r"[ │├└─]*([a-z_0-9]+(?:\.\w+)+)", line))
]


def test_the_diagrams_are_read():
    assert len(HOPS) > 30
    assert {"policy.Policy.choose", "lab.experiments.cells.run_cell", "papers.lale2019.figures.paper_plot"} <= set(HOPS)


@pytest.mark.parametrize("hop", HOPS)
def test_a_hop_is_a_name_in_the_code(hop):
    if ".networks." in hop:
        pytest.importorskip("torch", reason='torch is not installed; run: pip install "eigenbandits[torch]"')
    module, rest = f"eigenbandits.{hop}", list[str]()
    while module not in KNOWN:
        module, _, name = module.rpartition(".")
        rest.insert(0, name)
        assert module, hop
    thing = import_module(module)
    for name in rest:
        thing = getattr(thing, name)


def test_every_folder_of_the_import_rules_has_its_row():
    table = "\n".join(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|"))
    for name in ALLOWED:
        if KNOWN.get(f"eigenbandits.{name}", PAGE).name == "__init__.py":
            assert f"`{name}`" in table or f"`{name.replace('.', '/')}/`" in table, name
