"""The site as a whole: every link and image leads somewhere, no page is long, nothing is loaded from elsewhere."""

import re
import tomllib

import pytest
from tests.docs.pages import PAGES, ROOT, name

DOCS = ROOT / "docs"
SITE = [page for page in PAGES if page.is_relative_to(DOCS)]
LINK = re.compile(r"(?<!`)(!?)\[([^\]]*)\]\(([^)\s]+)\)")
# Tables of record and descriptions of every name are looked up, not read.
LOOKED_UP = {
    "reference.md",
    "speed-tables.md",
    "robustness-tables.md",
    "papers/lale2019-results.md",
}
WORDS_PER_MINUTE, MINUTES = 220, 10


def prose(page, *, code=False):
    """The page as it is read: with what it includes, a formula in a sentence being one word; code on request."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r'(?m)^ *--8<-- "([^"]+)"$', lambda found: (ROOT / found[1]).read_text(encoding="utf-8"), text)
    text = text if code else re.sub(r"(?ms)^ *```.*?^ *```$", "", text)
    text = re.sub(r"(?ms)^ *\$\$.*?^ *\$\$$", "", text)
    return re.sub(r"\$(?=\S)[^$]+(?<=\S)\$(?!\d)", "formula", text)


@pytest.mark.parametrize("page", SITE, ids=name)
def test_links_and_images_lead_to_files(page):
    for image, words, target in LINK.findall(prose(page)):
        if target.startswith(("http://", "https://", "#", "mailto:")):
            assert not image, f"{target} would be loaded from elsewhere"
            continue
        path = page.parent / target.partition("#")[0]
        assert path.exists(), target
        assert not image or len(words.split()) >= 3, f"{target} needs words for those who cannot see it"


@pytest.mark.parametrize("page", [page for page in SITE if name(page).removeprefix("docs/") not in LOOKED_UP], ids=name)
def test_a_page_is_read_in_ten_minutes(page):
    words = [word for word in prose(page, code=True).split() if re.search(r"\w", word)]
    assert len(words) <= WORDS_PER_MINUTE * MINUTES, f"{len(words)} words; move tables of record to the appendix"


@pytest.mark.parametrize("page", SITE, ids=name)
def test_formulas_are_marked_as_such(page):
    """Subscripts, powers, norms and transposes in a sentence are typeset; a letter, or R²d, need not be."""
    text = re.sub(r"`[^`]*`|\]\([^)]*\)|(?m:^:::.*$)", "", prose(page))
    found = re.findall(r"\S*(?:\b\w_(?:\w\b|[{(])|\^[\w({½]|‖|ᵀ)\S*", text)
    assert not found


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    listed = set(re.findall(r"([\w/-]+\.(?:md|html))", navigation))
    assert {name(page).removeprefix("docs/") for page in SITE} | {"explained/index.html"} == listed


def test_links_of_the_explanation_lead_to_pages():
    text = (DOCS / "explained" / "index.html").read_text(encoding="utf-8")
    found = re.findall(r'(?:href|src)="([^"]+)"', text)
    assert len(found) >= 8
    for target in found:
        path = DOCS / "explained" / target
        assert target.startswith("data:") or path.exists() or path.with_suffix(".md").exists(), target


def test_formulas_need_no_network_and_keep_their_license():
    style = (DOCS / "assets" / "katex" / "katex.min.css").read_text(encoding="utf-8")
    fonts = set(re.findall(r"url\(([^)]+)\)", style))
    assert len(fonts) == 20
    assert all((DOCS / "assets" / "katex" / font).exists() for font in fonts)
    for package in ("katex", "iframe-worker"):
        assert "MIT" in (DOCS / "assets" / package / "LICENSE").read_text(encoding="utf-8")
    assert sum(path.stat().st_size for path in (DOCS / "assets").rglob("*") if path.is_file()) < 700_000


def test_one_version_and_one_address():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = project["version"]
    for file, words in {
        "src/eigenbandits/__init__.py": f'__version__ = "{version}"',
        "CITATION.cff": f"version: {version}",
        "mkdocs.yml": f"copyright: eigenbandits {version},",
    }.items():
        assert words in (ROOT / file).read_text(encoding="utf-8"), file
    home = project["urls"]["Homepage"]
    assert all(url.startswith(home) for url in project["urls"].values())
    for file in ("mkdocs.yml", "CITATION.cff", "SECURITY.md", "README.md", ".github/ISSUE_TEMPLATE/config.yml"):
        assert home in (ROOT / file).read_text(encoding="utf-8"), file


def test_the_workflow_calls_the_readmes_two_commands():
    yaml = pytest.importorskip("yaml", reason="workflows are YAML; PyYAML comes with the extra docs")
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8"))["jobs"]["test"]
    assert [step["run"] for step in job["steps"] if "run" in step] == ["make test", "make demo"]
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    for path in (ROOT / ".github").rglob("*.yml"):
        assert yaml.safe_load(path.read_text(encoding="utf-8")), path
