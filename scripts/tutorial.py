"""Make the tutorial's notebooks from its pages, and with --pictures draw its figures again.

The pages under docs/tutorial are the source. A notebook holds the same text and the same code; what a page says that a
block prints is left out, because a notebook prints it itself, and so are pictures that the code draws.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "tutorial"
CHAPTERS = ("first-policy", "audit", "rewards", "service", "comparing")
SITE = "https://github.com/eigenbandits/eigenbandits/blob/main/docs/tutorial/"

_BLOCK = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]*)")?\n(?P<code>.*?)^```\n', re.MULTILINE | re.DOTALL
)


def cells(page: str) -> list[tuple[str, str]]:
    """Return the cells of a page as (kind, source), kind being "markdown" or "code"."""
    found: list[tuple[str, str]] = []
    end = 0
    for block in _BLOCK.finditer(page):
        printed = (block["title"] or "").startswith("printed")
        if block["language"] != "python" and not printed:
            continue  # Part of the text, such as a command.
        found.append(("markdown", page[end : block.start()]))
        if not printed:
            found.append(("code", block["code"]))
        end = block.end()
    found.append(("markdown", page[end:]))
    return [(kind, text) for kind, source in found if (text := _clean(kind, source))]


def _clean(kind: str, source: str) -> str:
    if kind == "code":
        return source.rstrip("\n")
    # Pictures that the code draws; links lead out of the notebook's folder.
    text = re.sub(r"(?m)^!\[[^\]]*\]\(images/(?!service)[^)]*\)\n?", "", source)
    text = re.sub(r"\]\((?!https?://)([^)]+)\)", lambda link: f"]({SITE}{link[1]})", text)
    return text.strip("\n")


def notebook(page: str) -> str:
    """Return the notebook of a page, as the text of an .ipynb file."""
    made: list[dict[str, Any]] = []
    for place, (kind, source) in enumerate(cells(page)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{place}", "metadata": {}}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        made.append(cell | {"source": source.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {
        "cells": made,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def draw(chapter: str) -> None:
    """Run a chapter's code and keep the picture that it draws."""
    page = (FOLDER / f"{chapter}.md").read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "page"}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for kind, source in cells(page):
                if kind == "code":
                    exec(compile(source, chapter, "exec"), namespace)
            for picture in Path(folder).glob("*.png"):
                (FOLDER / "images" / picture.name).write_bytes(picture.read_bytes())
                print(f"Wrote {picture.name}")
        finally:
            os.chdir(before)


def main() -> None:
    """Write all notebooks, and the pictures if they are asked for."""
    (FOLDER / "notebooks").mkdir(exist_ok=True)
    for chapter in CHAPTERS:
        page = (FOLDER / f"{chapter}.md").read_text(encoding="utf-8")
        (FOLDER / "notebooks" / f"{chapter}.ipynb").write_text(notebook(page), encoding="utf-8")
        if "--pictures" in sys.argv[1:]:
            draw(chapter)


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    main()
