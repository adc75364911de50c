"""The load and soak benchmarks: statistics against other ways to the same numbers, counts against the service's own."""

import base64
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

pytest.importorskip("benchmarks.serve", reason="the benchmarks are not in this copy; they are in the repository.")
from benchmarks.serve import load, soak
from benchmarks.serve.process import service
from benchmarks.serve.traffic import POLICY, Record, Traffic, World
from benchmarks.serve.trend import Trend, trend
from benchmarks.serve.wire import play, request

from eigenbandits.serve.client import Client


def sandwich(y, lags):
    """Newey and West's standard error of the change over the series, by matrices."""
    n = len(y)
    X = np.column_stack([np.ones(n), np.arange(n) / (n - 1)])
    inverse = np.linalg.inv(X.T @ X)
    residual = y - X @ (inverse @ X.T @ y)
    scores = X * residual[:, None]
    middle = scores.T @ scores
    for lag in range(1, lags + 1):
        cross = scores[lag:].T @ scores[:-lag]
        middle += (1 - lag / (lags + 1)) * (cross + cross.T)
    return np.sqrt((inverse @ middle @ inverse)[1, 1] * n / (n - 2))


@pytest.mark.parametrize("lags", [0, 1, 4])
def test_the_trend_is_the_least_squares_line_with_its_sandwich_error(lags):
    rng = np.random.default_rng(0)
    y = 5.0 + 0.01 * np.arange(40) + rng.standard_normal(40).cumsum() / 10
    found = trend(y, lags)
    slope, _ = np.polyfit(np.arange(40), y, 1)
    assert found.change == pytest.approx(39 * slope)
    assert found.level == pytest.approx(y.mean())
    assert found.error == pytest.approx(sandwich(y, lags))


def test_the_interval_holds_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(2000):
        low, high = trend(10.0 + np.linspace(0, 1, 60) + rng.standard_normal(60), lags=0).interval
        held += low * 10.5 <= 1.0 <= high * 10.5  # near enough: the level itself has a small error
    # 95 % granted; a robust error of 60 points is a little short; 2,000 draws have a standard error of 0.5 points.
    assert 0.92 < held / 2000 < 0.97


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (0.0, 1.0, "flat"),
        (4.0, 0.1, "flat"),
        (0.0, 10.0, "no trend, but too noisy to call flat"),
        (10.0, 1.0, "rises"),
        (-10.0, 1.0, "falls"),
    ],
)
def test_the_verdict_in_words(change, error, words):
    assert Trend(100.0, change, error).verdict(0.05) == words


def test_a_trend_of_two_values_is_refused():
    with pytest.raises(ValueError, match="at least three"):
        trend([1.0, 2.0])


def test_scripts_share_the_thread_and_get_their_own_answers():
    class Echo(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            said = body * 1000  # larger than one packet
            self.send_response(200)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            # In two pieces, so that an answer arrives in parts.
            self.wfile.write(said[:1500])
            self.wfile.flush()
            self.wfile.write(said[1500:])

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found = []

    def script(name):
        for i in range(5):
            body = f"{name}{i};".encode()
            answer = yield request("/", body)
            found.append((answer.status, answer.body == body * 1000))
            yield time.perf_counter() + 0.001

    try:
        play(("127.0.0.1", server.server_port), [script(f"script{n}") for n in range(4)])
    finally:
        server.shutdown()
        server.server_close()
    assert found == [(200, True)] * 20


def test_a_service_that_hangs_up_is_an_error_not_a_wait():
    listener = socket.create_server(("127.0.0.1", 0))

    def hang_up():
        listener.accept()[0].close()

    threading.Thread(target=hang_up, daemon=True).start()

    def script():
        yield request("/", b"{}")

    with listener, pytest.raises(ConnectionError):
        play(listener.getsockname(), [script()])


def test_a_steady_rate_hands_out_moments_one_after_the_other():
    pace = load.at_rate(4.0)
    moments = [pace() for _ in range(5)]
    assert np.diff(moments) == pytest.approx([0.25] * 4)


def test_what_the_world_pays_is_what_the_service_sees():
    world = World(dim=12, offered=5, items=30, queries=7, topics=3)
    for which, (text, offered) in enumerate(world.bodies):
        body = json.loads(text + b"}")
        assert body["items"] == offered
        assert len(set(offered)) == 5
        query = np.frombuffer(base64.b64decode(body["query"]), dtype="<f4")
        mean = world.vectors.mean(axis=0)
        products = (query - mean) * (world.vectors - mean)
        expected = 1 / (1 + np.exp(-6.0 * products.sum(axis=1)))
        assert [world.chances[name][which] for name in world.ids] == pytest.approx(expected, abs=1e-4)


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    pytest.importorskip("uvicorn", reason='the service is not installed; run: pip install "eigenbandits[serve]"')
    with service(tmp_path_factory.mktemp("service")) as made:
        yield made


WORLD = World(dim=16, offered=6, items=40, queries=20, topics=3)


def test_every_pair_that_the_client_counts_is_in_the_service(running):
    load.prepare(running.url, WORLD, {"seed": 0})
    record = Record()
    traffic = Traffic(WORLD, record)
    left = {"pairs": 60, "batches": 6}

    def some(kind):
        def until():
            left[kind] -= 1
            return left[kind] < 0

        return until

    pairs, batches = some("pairs"), some("batches")
    scripts = [*(traffic.pairs(pairs) for _ in range(4)), *(traffic.batches(5, batches) for _ in range(2))]
    phase = load.measure("pairs, 4 connections", running, record, scripts)
    assert record.refused == {}
    assert record.pairs == 60 + 6 * 5
    with Client(running.url) as client:
        seen = client.policy(POLICY)
    assert (seen["decisions"], seen["rewards"], seen["pending"]) == (90, 90, 0)
    row = phase.rows()
    assert row["decide_p50_ms"] <= row["decide_p95_ms"] <= row["decide_p99_ms"]
    assert row["per_second"] == pytest.approx(90 / phase.seconds)


def test_the_verdict_asks_both_of_the_same_phase():
    fast = {"phase": "pairs, 32 connections", "per_second": 2000.0, "decide_p99_ms": 30.0, "reward_p99_ms": 5.0}
    prompt = {"phase": "pairs, 8 connections", "per_second": 900.0, "decide_p99_ms": 3.0, "reward_p99_ms": 5.0}
    good = {"phase": "pairs, 16 connections", "per_second": 1600.0, "decide_p99_ms": 9.0, "reward_p99_ms": 15.0}
    assert load.verdict([fast, prompt]).startswith("Target missed")
    assert load.verdict([fast, prompt, good]).startswith("Target met")
    assert "1,600 pairs per second with a p99 of 15.0 ms" in load.verdict([fast, prompt, good])


def test_of_some_repeats_the_middle_one_is_shown():
    def phase(pairs):
        return load.Phase("pairs, 2 connections", 1.0, Record(decide=[0.001], reward=[0.002], pairs=pairs), 0.5, 0.1)

    (row,) = load.middle([[phase(30)], [phase(10)], [phase(20)]])
    assert (row["per_second"], row["lowest"], row["highest"]) == (20, 10, 30)
    assert load.table([row]).splitlines()[-1].split()[3:7] == ["20", "10", "–", "30"]
    assert row["server_cpu_us"] == pytest.approx(25_000)  # half a second over 20 pairs


def test_a_soak_goes_on_where_it_was(tmp_path, running):
    load.prepare(running.url, WORLD, {"seed": 0})
    path = tmp_path / "minutes.csv"
    for number in (1, 2, 3):
        assert len(soak.read(path)) == number - 1
        soak.append(path, soak.minute(running, WORLD, number, rate=100.0, connections=2, seconds=0.3))
    rows = soak.read(path)
    assert [row["minute"] for row in rows] == [1, 2, 3]
    assert all(row["pairs"] >= 1 and row["refused"] == 0 and row["memory_mib"] > 10 for row in rows)
    text = soak.summary(rows, 0, "A trial.")
    assert f"3 minutes, {sum(row['pairs'] for row in rows):.0f} pairs, 0 refused." in text
    assert soak.draw(rows).startswith(b"\x89PNG")
