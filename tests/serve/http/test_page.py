"""The page in a real browser, over numbers made up here: what it draws is worked out by hand."""

import json
import re
import time

import pytest
from tests.serve.http.chromium import browser
from tests.serve.http.stub_service import stub

LATENCY = {"decide": {"count": 10, "p50_ms": 2.0, "p90_ms": 5.0, "p99_ms": 8.0}, "reward": {"count": 0}}
HOSTILE = "<img src=x onerror=alert(1)>"


def policy(name, **more):
    counts = {"decisions": 4000, "rewards": 3000, "pending": 990, "defaults": 10, "expired": 0}
    made = {"name": name, "algorithm": "PSLB", "parameters": {"noise": 0.5}, "catalogue": None, "latency": LATENCY}
    return made | counts | more


def answers(now):
    """Reward 0.25 in the first half of the last hour and 0.75 in the second, 5 and 4 requests per second."""
    start = int(now) // 10 * 10 - 3600
    buckets = [
        {"start": at, "decisions": 50, "rewards": 40, "reward_sum": 10.0 if at < now - 1800 else 30.0, "defaults": 0}
        for at in range(start, start + 3600, 10)
    ]
    found = {"rank": 2, "dim": 6, "spectrum": [1.0, 0.1, 0.01, 0.01, 0.01, 0.01], "warnings": [HOSTILE]}
    found |= {"share_bound_by_projected": 0.8, "rounds_in_warmup": 1, "rounds_contradicted": 0}
    return {
        "/v1/status": {
            "version": "0.1.0",
            "uptime_seconds": 3725,
            "ready": True,
            "reasons": [],
            "policies": 1,
            "pending": 990,
            "latency": LATENCY,
            "batch": {"decide_mean": 3.5, "reward_mean": 1},
        },
        "/v1/policies": {"policies": [policy("tags")]},
        "/v1/policies/tags/history": {"bucket_seconds": 10, "buckets": buckets},
        "/v1/policies/tags/diagnostics": {"policy": "tags", "diagnostics": found},
    }


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture
def page(chromium):
    """The page over made-up answers, wide and light, once it has been drawn."""
    chromium.open("about:blank")  # or the page of the test before goes on asking
    chromium.console.clear()
    chromium.asked.clear()
    chromium.look(1200)
    with stub(answers(time.time())) as server:
        chromium.open(server.url)
        chromium.wait_for("document.body.dataset.shown")
        yield chromium, server


def text(chromium, selector):
    return chromium.run(f"document.querySelector({json.dumps(selector)}).innerText")


def heights(chromium, path):
    """The vertical places of a path's points, as shares of the axis from the lowest grid line to the highest."""
    d = chromium.run(f"document.querySelector({json.dumps(path)}).getAttribute('d')")
    grid = chromium.run(
        f"[...document.querySelector({json.dumps(path)}).closest('svg').querySelectorAll('.grid')]"
        ".map(line => Number(line.getAttribute('y1')))"
    )
    low, high = max(grid), min(grid)
    return [(low - float(y)) / (low - high) for y in re.findall(r"[\d.]+ ([\d.]+)", d)]


def test_the_reward_rate_is_drawn_where_it_belongs(page):
    chromium, _ = page
    drawn = heights(chromium, ".policy .charts figure:nth-child(1) path.line")
    # The axis runs from 0 to 1: the line lies at a quarter, then at three quarters, with one joined bucket between.
    assert drawn[0] == pytest.approx(0.25, abs=0.01)
    assert drawn[-1] == pytest.approx(0.75, abs=0.01)
    assert sum(abs(y - 0.25) > 0.01 and abs(y - 0.75) > 0.01 for y in drawn) <= 1


def test_traffic_is_drawn_per_second(page):
    chromium, _ = page
    labels = chromium.run(
        "[...document.querySelectorAll('.policy .charts figure:nth-child(2) text[text-anchor=end]')]"
        ".map(t => Number(t.textContent))"
    )
    decisions = heights(chromium, ".policy .charts figure:nth-child(2) path.first")
    rewards = heights(chromium, ".policy .charts figure:nth-child(2) path.second")
    assert decisions[3] * max(labels) == pytest.approx(5.0, abs=0.1)
    assert rewards[3] * max(labels) == pytest.approx(4.0, abs=0.1)


def test_the_spectrum_marks_the_directions_in_use(page):
    chromium, _ = page
    bars = chromium.run(
        "[...document.querySelectorAll('.policy rect.bar')].map(b => [b.classList.contains('first'),"
        " Number(b.getAttribute('height'))])"
    )
    assert [used for used, _ in bars] == [True, True, False, False, False, False]
    # One decade apart on a logarithmic axis whose lowest mark is 0.01.
    assert bars[0][1] == pytest.approx(2 * bars[1][1], rel=1e-6)
    assert bars[2][1] == pytest.approx(0.0, abs=1e-6)
    assert "rank 2" in chromium.run("document.querySelector('.policy figure:nth-child(3) svg').textContent")


def test_numbers_stand_beside_their_names(page):
    chromium, _ = page
    numbers = dict(
        chromium.run(
            "[...document.querySelectorAll('.policy .numbers div')]"
            ".map(d => [d.querySelector('dt').textContent, d.querySelector('dd').textContent])"
        )
    )
    assert numbers["decisions"] == "4,000"
    assert numbers["pending"] == "990"
    assert numbers["rank"] == "2 of 6"
    assert numbers["decide, p50 · p99"] == "2 · 8 ms"
    assert numbers["reward, p50 · p99"] == "–"
    # Half the rewards in the range earned 0.25 and half 0.75.
    assert float(numbers["mean reward in this period"]) == pytest.approx(0.5, abs=0.02)
    facts = text(chromium, "#facts")
    assert "1 h 2 min" in facts
    assert "80 %" in text(chromium, ".basis")
    assert text(chromium, ".basis").startswith("The subspace decides most")


def test_a_learned_prior_is_told_in_the_place_of_sets(chromium):
    chromium.open("about:blank")
    told = answers(time.time())
    found = told["/v1/policies/tags/diagnostics"]["diagnostics"]
    for name in ("share_bound_by_projected", "rounds_in_warmup", "rounds_contradicted"):
        del found[name]
    found |= {"prior": "variances follow the spectrum to the power 2", "rewards_learned": 3000}
    found |= {"widths": {"signal": 0.25, "noise": 0.5}, "noise": 0.5}
    with stub(told) as server:
        chromium.open(server.url)
        chromium.wait_for("document.body.dataset.shown")
        words = text(chromium, ".basis")
    assert words.startswith("The prior of this policy is learned: its variances follow the spectrum to the power 2.")
    assert words.endswith("Signal 0.25, noise 0.5, learned from 3,000 rewards.")


def test_every_chart_has_axes_with_units(page):
    chromium, _ = page
    words = chromium.run("[...document.querySelectorAll('figure svg')].map(s => s.textContent)")
    assert len(words) == 5
    for chart in words:
        assert any(unit in chart for unit in ("ms", "per second", "eigenvalue", "mean per decision"))
        assert "time of day" in chart or "direction" in chart


def test_names_and_warnings_are_text_never_markup(page):
    chromium, server = page
    server.answers["/v1/policies"] = {"policies": [policy("tags", parameters={"x": HOSTILE})]}
    chromium.open(server.url)
    chromium.wait_for("document.querySelector('.warning')")
    assert HOSTILE in text(chromium, ".warning")
    assert HOSTILE in text(chromium, ".made")
    assert chromium.run("document.querySelectorAll('main img').length") == 0


def test_nothing_is_asked_of_another_host_and_nothing_goes_wrong(page):
    chromium, server = page
    assert chromium.asked
    assert all(url.startswith((server.url, "data:")) for url in chromium.asked)
    assert chromium.console == []


@pytest.mark.parametrize("width", [360, 768, 1600])
def test_it_fits_every_window(page, width):
    chromium, _ = page
    chromium.look(width)
    chromium.wait_for(f"document.documentElement.clientWidth === {width}")
    assert chromium.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def contrast(one, other):
    """The contrast of two colors as the web's accessibility guidelines define it."""

    def light(color):
        parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    bright, dark = sorted((light(one), light(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_light_and_dark(page, scheme):
    chromium, _ = page
    chromium.look(1200, scheme=scheme)
    paper = chromium.run("getComputedStyle(document.body).backgroundColor")
    assert (contrast(paper, "rgb(255,255,255)") < 2) == (scheme == "light")
    card = chromium.run("getComputedStyle(document.querySelector('.policy')).backgroundColor")
    for selector in ("h2", ".made", ".basis", ".numbers dt", "figcaption .title", "#state"):
        ink = chromium.run(f"getComputedStyle(document.querySelector({json.dumps(selector)})).color")
        assert contrast(ink, card) >= 4.5, selector
    warning = "getComputedStyle(document.querySelector('.warning'))"
    assert contrast(chromium.run(f"{warning}.color"), chromium.run(f"{warning}.backgroundColor")) >= 4.5


def test_a_policy_that_is_deleted_leaves_the_page(page):
    chromium, server = page
    server.answers["/v1/policies"] = {"policies": []}
    chromium.run("document.getElementById('range').dispatchEvent(new Event('change'))")
    chromium.wait_for("document.querySelectorAll('.policy').length === 0")
    assert "no policies yet" in text(chromium, "#none")


def test_a_service_that_is_not_ready_says_why(page):
    chromium, server = page
    server.answers["/v1/status"] |= {"ready": False, "reasons": ["the disk is full"]}
    chromium.run("document.getElementById('range').dispatchEvent(new Event('change'))")
    chromium.wait_for("document.getElementById('state').textContent === 'not ready: the disk is full'")


def test_what_the_service_warns_of_stands_above_the_policies(page):
    chromium, server = page
    server.answers["/v1/status"] |= {"warnings": ["The policy old cannot be rebuilt."]}
    chromium.run("document.getElementById('range').dispatchEvent(new Event('change'))")
    chromium.wait_for("document.getElementById('warnings').innerText === 'The policy old cannot be rebuilt.'")


def test_a_key_is_asked_for_kept_in_the_tab_and_forgotten(chromium):
    with stub(answers(time.time()), key="ebk_right") as server:
        chromium.asked.clear()
        chromium.open(server.url)
        chromium.wait_for("!document.getElementById('ask').hidden")
        assert chromium.run("document.querySelectorAll('.policy').length") == 0

        def enter(key):
            chromium.run(f"document.getElementById('key').value = {json.dumps(key)}")
            chromium.run("document.querySelector('#ask button').click()")

        enter("ebk_wrong")
        chromium.wait_for("document.getElementById('wrong').textContent === 'This key is not known.'")
        enter("ebk_right")
        chromium.wait_for("document.querySelectorAll('.policy svg').length === 4")
        assert chromium.run("document.getElementById('ask').hidden")
        assert chromium.run("Object.values(localStorage).length + document.cookie.length") == 0
        assert not any("ebk" in url for url in chromium.asked)
        chromium.run("document.getElementById('forget').click()")
        chromium.wait_for("!document.getElementById('ask').hidden")
        assert chromium.run("sessionStorage.length") == 0


def test_a_service_that_goes_away_is_said_to_be_away(chromium):
    with stub(answers(time.time())) as server:
        chromium.open(server.url)
        chromium.wait_for("document.body.dataset.shown")
    chromium.run("document.getElementById('range').dispatchEvent(new Event('change'))")
    chromium.wait_for("document.getElementById('state').textContent.includes('does not answer')")
    assert chromium.run("document.querySelectorAll('.policy').length") == 1
