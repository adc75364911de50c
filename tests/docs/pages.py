"""The pages of the documentation, and the blocks of code in them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}) *(?P<language>[\w-]*)(?P<rest>.*)$")
_TITLE = re.compile(r'title="(?P<title>[^"]*)"')
_SKIP = re.compile(r"^ *<!-- *not run:(?P<reason>.*)--> *$")


@dataclass(frozen=True)
class Block:
    """One fenced block: its first line of code in the page, its language, its title and why it is not run, if so."""

    line: int
    language: str
    code: str
    title: str = ""
    skip: str | None = None


def name(page: Path) -> str:
    """Return the page's path in the project."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order.

    ``<!-- not run: reason -->`` on the line before a block keeps it from being run.
    """
    return parse(page.read_text(encoding="utf-8"))


def parse(text: str) -> list[Block]:
    found: list[Block] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        opening = _FENCE.match(lines[at])
        if opening is None:
            at += 1
            continue
        closing = opening["indent"] + opening["ticks"]
        end = next((i for i in range(at + 1, len(lines)) if lines[i].rstrip() == closing), None)
        if end is None:
            raise ValueError(f"the block that starts on line {at + 1} has no end.")
        title, skip = _TITLE.search(opening["rest"]), _SKIP.match(lines[at - 1]) if at else None
        indent = len(opening["indent"])
        found.append(
            Block(
                line=at + 2,
                language=opening["language"],
                code="".join(f"{line[indent:]}\n" for line in lines[at + 1 : end]),
                title=title["title"] if title else "",
                skip=skip["reason"].strip() if skip else None,
            )
        )
        at = end + 1
    return found
