"""The page of the service itself, in a real browser: that what it shows is what was done."""

import time

import numpy as np
import pytest
from tests.serve.http.chromium import browser

pytest.importorskip("uvicorn", reason='the service is not installed; run: pip install "eigenbandits[serve]"')
from eigenbandits.serve import Settings, running
from eigenbandits.serve.client import Client


@pytest.mark.parametrize("second", [1, 20, 50])
def test_the_page_shows_what_was_done_and_asks_for_the_key(tmp_path, second):
    """At any second of the minute by which the service counts: also when the minute has only begun."""
    with running(Settings(folder=tmp_path / "data", port=0)) as server, browser(tmp_path / "profile") as chromium:
        with Client(server.url) as client:
            key = client.create_key("page", ["admin"])["key"]
        with Client(server.url, key=key) as client:
            client.create_policy("news", parameters={"seed": 0})
            rng = np.random.default_rng(0)
            for i in range(12):
                made = client.decide("news", rng.standard_normal((4, 6)))
                if i < 9:
                    client.reward("news", made.decision, float(i % 3 == 0))
        now = 1000 * (60 * int(time.time() // 60) + second)
        chromium.call("Page.addScriptToEvaluateOnNewDocument", source=f"Date.now = () => {now}")
        chromium.open(f"{server.url}/")
        chromium.wait_for("!document.getElementById('ask').hidden")
        chromium.run(f"document.getElementById('key').value = '{key}'")
        chromium.run("document.querySelector('#ask button').click()")
        chromium.wait_for("document.querySelectorAll('.policy svg').length === 4")
        numbers = dict(
            chromium.run(
                "[...document.querySelectorAll('.policy .numbers div')]"
                ".map(d => [d.querySelector('dt').textContent, d.querySelector('dd').textContent])"
            )
        )
        assert (numbers["decisions"], numbers["rewards"], numbers["pending"]) == ("12", "9", "3")
        assert float(numbers["mean reward in this period"]) == pytest.approx(1 / 3, abs=0.001)
        assert "no rewards in this period" not in chromium.run("document.querySelector('.policy').textContent")
        assert numbers["rank"].endswith("of 6")
        assert numbers["decide, p50 · p99"].endswith(" ms")
        assert numbers["reward, p50 · p99"].endswith(" ms")
        assert chromium.run("document.querySelectorAll('rect.bar').length") == 6
        assert "The prior of this policy is learned" in chromium.run("document.querySelector('.basis').textContent")
        assert "ready" in chromium.run("document.getElementById('state').textContent")
        assert all(url.startswith((server.url, "data:", "about:")) for url in chromium.asked)
        # The one refusal is that of the first question, which had no key yet.
        assert all("401" in line for line in chromium.console)
