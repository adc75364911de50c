"""Every block of Python in the documentation runs, and prints what the page says that it prints."""

import inspect
import re
import shlex

import pytest
from tests.docs.pages import PAGES, ROOT, Block, blocks, name, parse

import eigenbandits as eb
from eigenbandits.component import Component

# Their blocks are files of the library, not a script: see test_contributing.py.
NOT_SCRIPTS = {ROOT / "CONTRIBUTING.md"}
SCRIPTS = [page for page in PAGES if page not in NOT_SCRIPTS and any(b.language == "python" for b in blocks(page))]
# A block with one of these titles is what the block before it prints: to the letter, or with numbers that may depend
# on the machine's arithmetic by so much of their size.
TOLERANCES = {"printed": 0.0, "printed, about": 0.2}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@pytest.mark.parametrize("page", SCRIPTS, ids=name)
def test_the_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    # Components that a page defines are forgotten afterwards.
    monkeypatch.setattr(Component, "_registry", dict(Component._registry))
    namespace: dict[str, object] = {"__name__": "page"}
    found = blocks(page)
    for block, following in zip(found, [*found[1:], None], strict=True):
        if block.language != "python" or block.skip is not None:
            continue
        # Empty lines in front let a traceback show the line of the page.
        code = compile("\n" * (block.line - 1) + block.code, name(page), "exec")
        capsys.readouterr()
        exec(code, namespace)
        printed = capsys.readouterr().out
        if following is not None and following.title in TOLERANCES:
            assert agree(following.code, printed, TOLERANCES[following.title]), (
                f"{name(page)}, line {following.line}: the block printed\n{printed}"
            )


def agree(wanted: str, printed: str, tolerance: float) -> bool:
    """Compare two texts word by word, their numbers up to a tolerance and their spaces not at all."""
    if NUMBER.sub("0", wanted).split() != NUMBER.sub("0", printed).split():
        return False
    pairs = zip(NUMBER.findall(wanted), NUMBER.findall(printed), strict=True)
    return all(abs(float(one) - float(other)) <= tolerance * abs(float(one)) for one, other in pairs)


def test_texts_agree_up_to_spaces_and_a_tolerance_on_numbers():
    assert agree("rank 4,  ε = 0.20\n", "rank 4, ε = 0.20", 0.0)
    assert not agree("rank 4", "rank 5", 0.0)
    assert agree("10.0 ± 1e-3", "11.9 ± 0.0011", 0.2)
    assert not agree("10", "12.1", 0.2)
    assert not agree("rank 4", "rank", 1.0)


def test_how_to_pages_have_code_that_runs():
    howto = set((ROOT / "docs" / "howto").glob("*.md"))
    assert len(howto) >= 10
    # Or commands, whose options are checked below.
    commanded = {page for page in howto if any(block.language == "sh" for block in blocks(page))}
    assert howto <= set(SCRIPTS) | commanded
    assert len(howto & set(SCRIPTS)) >= 20
    assert ROOT / "README.md" in SCRIPTS
    assert ROOT / "docs" / "index.md" in SCRIPTS


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_what_is_not_run_has_a_reason(page):
    assert all(block.skip is None or len(block.skip.split()) >= 3 for block in blocks(page))


def test_blocks_are_found_with_their_lines_titles_and_reasons():
    text = 'A\n\n```python\na = 1\n```\n\n<!-- not run: needs a server -->\n```python title="x.py"\nb\n\nc\n```\n'
    assert parse(text) == [
        Block(4, "python", "a = 1\n"),
        Block(9, "python", "b\n\nc\n", "x.py", "needs a server"),
    ]
    assert parse("- item\n\n  ```sh\n  make test\n  ```\n") == [Block(4, "sh", "make test\n")]
    with pytest.raises(ValueError, match="line 2 has no end"):
        parse("A\n```python\na = 1\n")


def _commands() -> list[tuple[str, list[str]]]:
    """Return every shell command of the pages as (page, words)."""
    found = []
    for page in PAGES:
        for block in blocks(page):
            if block.language in ("sh", "bash", "console"):
                lines = block.code.replace("\\\n", " ").splitlines()
                found += [(name(page), shlex.split(line, comments=True)) for line in lines]
    return [(page, words) for page, words in found if words]


COMMANDS = _commands()


@pytest.mark.parametrize(
    ("page", "words"), [pair for pair in COMMANDS if pair[1][0] == "eigenbandits"], ids=lambda value: str(value)
)
def test_commands_and_their_options_exist(page, words):
    typer = pytest.importorskip("typer")
    from eigenbandits.cli import app

    command, rest = typer.main.get_command(app()), words[1:]
    while hasattr(command, "commands"):
        assert rest, page
        assert rest[0] in command.commands, page
        command, rest = command.commands[rest[0]], rest[1:]
    options = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    used = {word.split("=")[0] for word in rest if word.startswith("--")}
    assert used <= options, page


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, flags=re.MULTILINE))
    used = {words[1] for _, words in COMMANDS if words[0] == "make"}
    assert {"demo", "test"} <= used <= targets


HOME = "https://github.com/eigenbandits/eigenbandits"
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def test_the_readmes_links_are_absolute_and_lead_to_files():
    """A package index shows the README without the files beside it."""
    links = LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(links) > 10
    for link in links:
        found = re.fullmatch(rf"{HOME}/(?:blob|raw)/main/(.+)", link)
        assert found, link
        assert (ROOT / found[1]).exists(), link


def test_links_of_contributing_lead_somewhere():
    links = LINK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    files = [link for link in links if "://" not in link]
    assert files
    for link in files:
        assert (ROOT / link).exists(), link


def test_the_first_pages_show_the_standings_of_the_study():
    """The table of README and of the home page is that of docs/problems.md, row by row."""
    names = {"Vowpal Wabbit, SquareCB": "VW squarecb", "Vowpal Wabbit, RegCB": "VW regcb"}
    study = (ROOT / "docs" / "problems.md").read_text(encoding="utf-8")
    row = re.compile(r"^\| ([^|]+) \| ([\d.]+) \| ([\d.]+) \|(?: [^|]+ \|)? (\d+ of \d+) \|$", re.MULTILINE)
    known = {label: numbers for label, *numbers in row.findall(study)}
    assert len(known) >= 8
    for page in (ROOT / "README.md", ROOT / "docs" / "index.md"):
        shown = row.findall(page.read_text(encoding="utf-8").replace("**", ""))
        assert {names.get(label, label): numbers for label, *numbers in shown} == known, name(page)
        means = [float(mean) for _, mean, *_ in shown]
        assert means == sorted(means)


def test_the_reference_has_every_public_name():
    shown = set(re.findall(r"^::: (\S+)", (ROOT / "docs" / "reference.md").read_text("utf-8"), flags=re.MULTILINE))
    modules = {name for name in eb.__all__ if inspect.ismodule(getattr(eb, name))}
    public = {f"eigenbandits.{name}" for name in set(eb.__all__) - modules}
    for module in modules:
        public |= {f"eigenbandits.{module}.{name}" for name in getattr(eb, module).__all__}
    # One description is enough for what can be had by two names.
    public -= {"eigenbandits.theory.Structure", "eigenbandits.environments.Log"}
    assert public <= shown, f"docs/reference.md lacks {sorted(public - shown)}"
