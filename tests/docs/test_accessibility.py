"""The built site in a browser: axe finds nothing serious, pages fit wide and narrow screens, formulas are typeset."""

import importlib.util
import os
import subprocess
import sys
from itertools import product

import pytest
from tests.docs.pages import ROOT
from tests.serve.http.chromium import browser

PAGES = (
    "index.html",
    "tutorial/first-policy.html",
    "howto/lists.html",
    "mathematics.html",
    "papers/lale2019.html",
    "explained/index.html",
)
# What depends on colors and on the width of the page; the rest is the same in every view of it.
BY_VIEW = '["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]'
SERIOUS = """
axe.run({resultTypes: ["violations"], ...(RULES ? {runOnly: RULES} : {})}).then((found) => found.violations
  .filter((one) => ["serious", "critical"].includes(one.impact))
  .map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).slice(0, 5).join(", ")}`))
"""
# How light the background is, from 0 to 1.
LIGHTNESS = "Math.max(...getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3)) / 255"


@pytest.fixture(scope="module")
def axe():
    """The source of axe-core, as npm installs it."""
    found = ROOT / "node_modules" / "axe-core" / "axe.min.js"
    if not found.exists():
        pytest.skip("axe-core is not installed here: npm install --prefix . --no-save axe-core")
    return found.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The documentation, built: as `make docs` left it, if nothing has changed since."""
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("the documentation is built with mkdocs: pip install 'eigenbandits[docs]'")
    built = ROOT / "site" / "sitemap.xml"
    sources = [
        ROOT / "mkdocs.yml",
        *(path for name in ("docs", "src") for path in (ROOT / name).rglob("*") if path.is_file()),
    ]
    if built.exists() and all(
        path.stat().st_mtime < built.stat().st_mtime for path in sources if path.suffix != ".pyc"
    ):
        return built.parent
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_axe_finds_nothing_serious(axe, site, tmp_path):
    found = {}
    with browser(tmp_path) as tab:
        # The theme remembers the scheme of the first visit.
        tab.call("Page.addScriptToEvaluateOnNewDocument", source="localStorage.clear()")
        for page, (scheme, width, rules) in product(PAGES, (("light", 1440, "null"), ("dark", 390, BY_VIEW))):
            tab.look(width, scheme=scheme)
            tab.open("about:blank")
            tab.open((site / page).as_uri())
            assert (tab.run(LIGHTNESS) > 0.5) == (scheme == "light")
            tab.run(axe)
            if serious := tab.run(SERIOUS.replace("RULES", rules)):
                found[page, scheme, width] = serious
        # axe itself works: a picture without words is found, and so is pale text.
        tab.run("document.body.append(Object.assign(document.createElement('img'), {src: 'data:,'}))")
        assert any(one.startswith("image-alt") for one in tab.run(SERIOUS.replace("RULES", "null")))
        tab.run("document.querySelector('h1').style.color = '#444a5c'")
        assert any(one.startswith("color-contrast") for one in tab.run(SERIOUS.replace("RULES", BY_VIEW)))
    assert not found


FAULTS = """({
  wider: document.documentElement.scrollWidth - innerWidth,
  formulas: document.querySelectorAll(".katex-error, .arithmatex:not(:has(.katex))").length,
  pictures: [...document.images].filter((image) => !image.naturalWidth).length,
})"""


@pytest.mark.slow
def test_every_page_fits_and_has_its_formulas_and_pictures(site, tmp_path):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 50
    found = {}
    with browser(tmp_path) as tab:
        for page, width in product(pages, (1440, 390)):
            tab.look(width)
            tab.open(page.as_uri())
            faults = tab.run(FAULTS)
            if any(faults.values()):
                found[page.name, width] = faults
    assert not found
