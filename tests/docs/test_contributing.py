"""CONTRIBUTING's page on adding an algorithm, carried out on a copy of the project."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from tests.docs.pages import ROOT, blocks

FILES = {block.title: block.code for block in blocks(ROOT / "CONTRIBUTING.md") if block.language == "python"}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the project with the files of the page in it, and the algorithm made public."""
    root = tmp_path_factory.mktemp("project")
    shutil.copy(ROOT / "pyproject.toml", root)
    for folder in ("src", "tests/checks"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "tests" / "conftest.py", root / "tests")
    if (ROOT / ".mypy_cache").exists():
        # What mypy knows of the library, which takes it most of its time.
        shutil.copytree(ROOT / ".mypy_cache", root / ".mypy_cache")
    for path, code in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(code, encoding="utf-8")
    with (root / "src/eigenbandits/__init__.py").open("a", encoding="utf-8") as file:
        file.write('\nfrom eigenbandits.algorithms.rand_ucb import RandUCB\n\n__all__ += ["RandUCB"]\n')
    return root


def run(root, *arguments):
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)


def passed(root, *arguments):
    """Return how many tests passed, all of those that ran."""
    done = run(root, "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return int(re.findall(r"(\d+) passed", done.stdout)[-1])


def test_the_page_has_the_files_that_it_speaks_of():
    assert list(FILES) == [
        "src/eigenbandits/rules/random_width.py",
        "src/eigenbandits/algorithms/rand_ucb.py",
        "tests/rules/test_random_width.py",
    ]


@pytest.mark.slow
def test_the_checks_find_the_new_algorithm_and_it_passes_them(copy):
    # A check for each of many properties: fewer would mean that they did not find it.
    assert passed(copy, "tests/checks", "-k", "RandUCB") >= 20


@pytest.mark.slow
def test_its_own_tests_and_its_example_pass(copy):
    tests = FILES["tests/rules/test_random_width.py"].count("\ndef test_")
    assert passed(copy, "tests/rules/test_random_width.py") == tests
    assert passed(copy, "src/eigenbandits/rules/random_width.py") == 1


@pytest.mark.slow
def test_it_is_clean_and_typed(copy):
    for tool in (["ruff", "check"], ["ruff", "format", "--check"], ["mypy"]):
        done = run(copy, *tool, *FILES)
        assert done.returncode == 0, done.stdout + done.stderr
