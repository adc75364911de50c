"""The tutorial: its notebooks are made from its pages, and hold all of their code."""

import importlib.util
import json
import re

import pytest
from tests.docs.pages import ROOT, blocks

FOLDER = ROOT / "docs" / "tutorial"
spec = importlib.util.spec_from_file_location("tutorial", ROOT / "scripts" / "tutorial.py")
assert spec is not None
assert spec.loader is not None
tutorial = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tutorial)


@pytest.mark.parametrize("chapter", tutorial.CHAPTERS)
def test_a_notebook_is_what_the_script_makes_of_its_page(chapter):
    page = (FOLDER / f"{chapter}.md").read_text(encoding="utf-8")
    written = (FOLDER / "notebooks" / f"{chapter}.ipynb").read_text(encoding="utf-8")
    assert written == tutorial.notebook(page), "run python scripts/tutorial.py"


@pytest.mark.parametrize("chapter", tutorial.CHAPTERS)
def test_a_notebook_holds_the_code_that_the_page_is_tested_with(chapter):
    # test_pages.py runs these blocks from top to bottom, and compares what they print.
    ours = [block.code.rstrip() for block in blocks(FOLDER / f"{chapter}.md") if block.language == "python"]
    written = json.loads((FOLDER / "notebooks" / f"{chapter}.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in written["cells"] if cell["cell_type"] == "code"]
    assert len(ours) >= 4
    assert cells == ours


@pytest.mark.parametrize("chapter", tutorial.CHAPTERS)
def test_a_chapter_opens_with_a_question_and_has_a_picture_with_words_for_it(chapter):
    page = (FOLDER / f"{chapter}.md").read_text(encoding="utf-8")
    assert page.splitlines()[2].startswith("**The question.**")
    for words, picture in re.findall(r"!\[([^\]]*)\]\((images/[^)]+)\)", page):
        assert len(words.split()) >= 5
        assert (FOLDER / picture).exists()
    assert f"images/{chapter}.png" in page


def test_text_code_and_printed_blocks_of_a_page():
    page = 'A\n\n```python\na = 1\n```\n\n```text title="printed"\n1\n```\n\n'
    page += "```sh\nls\n```\n![x](images/a.png)\n[b](c.md)\n"
    assert tutorial.cells(page) == [
        ("markdown", "A"),
        ("code", "a = 1"),
        ("markdown", f"```sh\nls\n```\n[b]({tutorial.SITE}c.md)"),
    ]
