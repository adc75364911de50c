"""The gateway under load from 32 clients while an upstream is killed and started again."""

import threading
import time
from contextlib import contextmanager

import httpx
import pytest
import uvicorn

from eigenbandits.router.gateway import Config, UpstreamConfig
from eigenbandits.router.gateway.application import Gateway

CLIENTS, REQUESTS = 32, 5


@contextmanager
def running(gateway):
    server = uvicorn.Server(uvicorn.Config(gateway.application(), port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.mark.timeout(120)
def test_no_answer_is_lost_and_no_feedback_counts_twice(server):
    a, b = server("a", 0.02), server("b", 0.02)
    models = tuple(UpstreamConfig(one.name, one.url, price=1.0, retries=1, timeout=10) for one in (a, b))
    gateway = Gateway(Config(models, budget=1.0, seed=0), lambda text: [float(len(text)), 1.0])
    answers, outcomes, lock = [], [], threading.Lock()

    def client(number, url):
        with httpx.Client(base_url=url, timeout=60) as http:
            for turn in range(REQUESTS):
                body = {"model": "auto", "messages": [{"role": "user", "content": f"{number} {turn}"}]}
                response = http.post("/v1/chat/completions", json=body)
                found = [response.status_code, response.headers.get("x-router-id"), response.json()]
                twice = [
                    http.post("/v1/feedback", json={"id": found[1], "reward": 0.5}).json()["outcome"] for _ in range(2)
                ]
                with lock:
                    answers.append((f"{number} {turn}", *found))
                    outcomes.append(twice)

    with running(gateway) as url:
        threads = [threading.Thread(target=client, args=(number, url)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        while len(answers) < CLIENTS:
            time.sleep(0.01)
        a.kill()
        while len(answers) < 3 * CLIENTS:
            time.sleep(0.01)
        a.start()
        for thread in threads:
            thread.join()

    assert len(answers) == CLIENTS * REQUESTS
    for asked, status, _, found in answers:  # each client has its own answer, from one of the two
        assert status == 200
        assert found["choices"][0]["message"]["content"] == f"{found['router']['model']} says {asked}"
    assert len({key for _, _, key, _ in answers}) == CLIENTS * REQUESTS
    assert outcomes == [["learned", "repeated"]] * (CLIENTS * REQUESTS)
    counts = gateway.router.history.models
    assert counts["a"]["answers"] + counts["b"]["answers"] == CLIENTS * REQUESTS
    assert gateway.router._policy.policy.diagnostics().rewards_learned == CLIENTS * REQUESTS
    assert counts["b"]["failures"] == 0
