"""The numbers on the pages are those that the commands print and the code uses."""

import inspect
import re

import pytest
from tests.docs.pages import PAGES, ROOT, name

import eigenbandits as eb
from eigenbandits.lab.studies import demo
from eigenbandits.subspace.error import SAFETY


@pytest.mark.slow
@pytest.mark.parametrize(("table", "environment"), [("images", "digits"), ("the model", "model")])
def test_the_demo_loses_what_the_first_page_says(table, environment, tmp_path):
    pytest.importorskip("sklearn", reason="the digits need scikit-learn: pip install 'eigenbandits[digits]'")
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    rows = page.split(f"| policy on {table} |")[1].split("\n\n")[0]
    shown = {name: (float(lost), float(error)) for name, lost, error in re.findall(r"\| (.+) \| (.+) \| (.+) \|", rows)}
    assert list(shown) == list(demo.POLICIES)
    # Those that the page is about; the others take most of the time.
    experiment = demo.experiment()
    experiment.policies = {name: demo.POLICIES[name] for name in (demo.FLAGSHIP, demo.TUNED)}
    experiment.environments = {environment: demo.ENVIRONMENTS[environment]}
    results = experiment.run(tmp_path, progress="none")
    for policy, runs in zip(results.policies, results.final("regret")[:, 0], strict=True):
        regret, error = shown[policy]
        # Another machine's arithmetic may choose otherwise now and then: within a standard error it is the same number.
        assert runs.mean() == pytest.approx(regret, abs=error), policy


def test_constants_in_formulas_are_those_in_use():
    page, appendix = ((ROOT / "docs" / f"mathematics{end}.md").read_text("utf-8") for end in ("", "-appendix"))
    growth = inspect.signature(eb.subspace.PCA).parameters["growth"].default
    assert rf"\varepsilon &= {SAFETY:g} \cdot " in page
    assert (growth, "`growth` ($g$, a tenth by\ndefault)" in appendix) == (0.1, True)


def test_rows_of_the_robustness_page_are_those_of_its_appendix():
    page, appendix = ((ROOT / "docs" / f"robustness{end}.md").read_text("utf-8") for end in ("", "-tables"))
    columns, *rows = re.findall(r"^\| ((?:row \| EigenUCB|.*±).*) \|$", page.replace("\\*", "*"), flags=re.M)
    text = appendix.split("```text")[1].splitlines()
    printed = [re.split(r"\s{2,}", line.strip()) for line in text]
    known = {name: dict(zip(printed[1], numbers, strict=True)) for name, *numbers in printed[3:-1] if numbers}
    assert len(rows) > 10
    for row in rows:
        label, *numbers = row.split(" | ")
        assert numbers == [known[label][column] for column in columns.split(" | ")[1:]], label


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_that_are_named_exist(page):
    # CONTRIBUTING also names files that its reader is to write.
    titles = set(re.findall(r'title="([^"]*)"', page.read_text(encoding="utf-8")))
    for path in re.findall(r"`((?:tests|src)/[\w/.-]+)`", page.read_text(encoding="utf-8")):
        assert path in titles or (ROOT / path).exists(), path


def test_names_that_are_quoted_exist():
    """`theory.x`, `belief.X`, `rules.X` and `subspace.X` on the pages are names of the library."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for module, found in re.findall(r"`(?:eb\.)?(theory|belief|rules|subspace|environments)\.(\w+)", text):
            if page.name != "CONTRIBUTING.md":
                assert hasattr(getattr(eb, module), found), f"{name(page)}: {module}.{found}"
