"""The documentation of several versions side by side: published as the workflow does it, and looked at in a browser."""

import importlib.util
import os
import shutil
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.docs.pages import ROOT
from tests.serve.http.chromium import browser

LISTED = "[...document.querySelectorAll('.md-version__link')].map((link) => [link.innerText.trim(), link.href])"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture
def published(tmp_path):
    """What GitHub Pages would serve: two versions of a site of one page, with our own theme and Makefile."""
    if importlib.util.find_spec("mike") is None:
        pytest.skip("versions of the documentation are published with mike: pip install 'eigenbandits[docs]'")
    project, remote, served = tmp_path / "project", tmp_path / "remote", tmp_path / "served"
    (project / "docs").mkdir(parents=True)
    shutil.copytree(ROOT / "docs" / "assets", project / "docs" / "assets")
    (project / "src").mkdir()
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[0]
    (project / "mkdocs.yml").write_text(f"{settings}\nnav:\n  - Home: index.md\n", encoding="utf-8")
    (project / "docs" / "index.md").write_text("# Home\n\nA page.\n", encoding="utf-8")
    shutil.copy(ROOT / "Makefile", project)
    tools = project / ".venv" / "bin"
    tools.parent.mkdir()
    tools.symlink_to(Path(sys.executable).parent)
    shutil.copy(ROOT / "pyproject.toml", project)
    (tools.parent / ".installed-test").touch()

    def run(*command):
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr

    environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull}
    run("git", "init", "--quiet", "--bare", str(remote))
    run("git", "init", "--quiet")
    run("git", "remote", "add", "origin", str(remote))
    run("git", "config", "user.name", "a")
    run("git", "config", "user.email", "a@example.com")
    run("git", "commit", "--quiet", "--allow-empty", "--message", "a page")
    for version in (["VERSION=dev"], ["VERSION=0.2", "ALIAS=latest"]):
        run("make", "--silent", "publish-docs", *version)
    run("git", "clone", "--quiet", "--branch", "gh-pages", str(remote), str(served))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=served))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.slow
def test_a_reader_can_change_the_version(published, tmp_path):
    with browser(tmp_path / "browser") as tab:
        tab.open(f"{published}/")
        tab.wait_for("document.querySelectorAll('.md-version__link').length")
        assert tab.run("location.pathname").startswith("/latest/")
        listed = dict(tab.run(LISTED))
        assert listed == {"dev": f"{published}/dev/", "0.2": f"{published}/0.2/"}
        tab.open(listed["dev"])
        tab.wait_for("document.querySelectorAll('.md-version__link').length")
        assert tab.run("document.querySelector('.md-version__current').innerText").strip() == "dev"
