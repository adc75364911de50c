"""The gateway in front of upstreams that these tests start."""

import asyncio
import json

import httpx
import pytest

from eigenbandits.router.gateway import Config, UpstreamConfig
from eigenbandits.router.gateway.application import Gateway


def encoder(text):
    return [float(len(text)), float(text.count("e")), 1.0]


def ask(text, **more):
    return {"model": "auto", "messages": [{"role": "user", "content": text}], **more}


def played(gateway, script):
    """Run a script against the gateway."""

    async def run():
        transport = httpx.ASGITransport(gateway.application())
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway", timeout=20) as client:
            found = await script(client)
        await gateway.client.aclose()
        return found

    return asyncio.run(run())


def made(*servers, **more):
    models = tuple(UpstreamConfig(one.name, one.url, price=(2.0, 8.0), retries=0) for one in servers)
    return Gateway(Config(models, seed=0, **more), encoder)


def test_an_answer_its_cost_and_its_feedback(server):
    gateway = made(server("a"), budget=0.01)

    async def script(client):
        answer = await client.post("/v1/chat/completions", json=ask("hello"))
        key = answer.headers["x-router-id"]
        outcomes = [await client.post("/v1/feedback", json={"id": key, "reward": 0.9}) for _ in range(2)]
        listed = await client.get("/v1/models")
        return answer, outcomes, listed, (await client.get("/v1/status")).json()

    answer, outcomes, listed, status = played(gateway, script)
    assert answer.json()["choices"][0]["message"]["content"] == "a says hello"
    assert answer.json()["router"] == {"id": answer.headers["x-router-id"], "model": "a"}
    assert [one.json()["outcome"] for one in outcomes] == ["learned", "repeated"]
    assert [one["id"] for one in listed.json()["data"]] == ["auto", "a"]
    # 100 tokens at $2 and 50 at $8 per million.
    assert gateway.router.spent == pytest.approx((100 * 2 + 50 * 8) / 1e6)
    assert status["total"]["quality"] == 0.9
    assert status["models"][0]["dollars"] == pytest.approx(6e-4)


def test_a_stream_is_passed_through_and_its_usage_is_read(server):
    gateway = made(server("a"))

    async def script(client):
        async with client.stream("POST", "/v1/chat/completions", json=ask("one two", stream=True)) as response:
            text = "".join([part async for part in response.aiter_text()])
            return response.headers, text

    headers, text = played(gateway, script)
    events = [line.removeprefix("data: ") for line in text.split("\n") if line]
    assert [json.loads(one)["choices"][0]["delta"]["content"] for one in events[:2]] == ["one", "two"]
    assert events[-1] == "[DONE]"
    assert headers["content-type"].startswith("text/event-stream")
    assert gateway.answers[headers["x-router-id"]].cost == pytest.approx((10 * 2 + 20 * 8) / 1e6)


def test_a_stream_that_breaks_off_is_a_failure_and_not_a_bad_answer(server):
    gateway = made(server("a"))

    async def script(client):
        async with client.stream("POST", "/v1/chat/completions", json=ask("one break", stream=True)) as response:
            text = "".join([part async for part in response.aiter_text()])
        key = response.headers["x-router-id"]
        return text, await client.post("/v1/feedback", json={"id": key, "reward": 0.0})

    text, feedback = played(gateway, script)
    assert "broke off" in text
    assert feedback.json()["outcome"] == "repeated"
    assert gateway.router.history.models["a"]["failures"] == 1
    assert gateway.router.history.models["a"]["answers"] == 0


def test_another_model_answers_where_one_is_down(server):
    a, b = server("a"), server("b")
    gateway = made(a, b)

    async def script(client):
        return [await client.post("/v1/chat/completions", json=ask("a is down")) for _ in range(8)]

    answers = played(gateway, script)
    assert {one.headers["x-router-model"] for one in answers} == {"b"}
    assert all(one.status_code == 200 for one in answers)
    counts = gateway.router.history.models
    assert counts["a"]["failures"] == counts["a"]["requests"] >= 1
    assert counts["b"]["failures"] == 0
    assert gateway.router._policy.answers.models == []  # nothing was learned from failures


def test_a_server_that_fails_again_and_again_is_left_alone(server):
    a, b = server("a"), server("b")
    a.kill()
    gateway = made(a, b)

    async def script(client):
        return [await client.post("/v1/chat/completions", json=ask("hello")) for _ in range(30)]

    answers = played(gateway, script)
    assert all(one.status_code == 200 for one in answers)
    if gateway.router.history.models["a"]["failures"] >= 3:
        assert gateway.upstreams["a"].rests
    assert gateway.router.history.models["a"]["failures"] <= 6


def test_when_nobody_answers_the_client_learns_why(server):
    a = server("a")
    a.kill()
    gateway = made(a)

    async def script(client):
        return await client.post("/v1/chat/completions", json=ask("hello"))

    answer = played(gateway, script)
    assert answer.status_code == 502
    assert "no model has answered: a: ConnectError" in answer.json()["error"]["message"]


def test_models_are_added_repriced_withdrawn_and_asked_by_name(server):
    a, b = server("a"), server("b")
    gateway = made(a, budget=0.01)

    async def script(client):
        found = [await client.post("/v1/models", json={"name": "b", "url": b.url, "price": [1.0, 1.0]})]
        found.append(await client.post("/v1/chat/completions", json=ask("hello") | {"model": "b"}))
        found.append(await client.patch("/v1/models/b", json={"price": 0.5}))
        found.append(await client.delete("/v1/models/b"))
        found.append(await client.post("/v1/chat/completions", json=ask("hello") | {"model": "b"}))
        return found

    found = played(gateway, script)
    assert [one.status_code for one in found] == [201, 200, 204, 204, 404]
    assert "x-router-id" not in found[1].headers


def test_bad_requests_are_refused_in_one_sentence(server):
    gateway = made(server("a"))

    async def script(client):
        return [
            await client.post("/v1/chat/completions", content=b"{"),
            await client.post("/v1/chat/completions", json={"model": "auto"}),
            await client.post("/v1/chat/completions", json=ask("bad")),
            await client.post("/v1/feedback", json={"id": "unknown", "reward": 1.0}),
            await client.post("/v1/feedback", json={"id": "unknown"}),
            await client.post("/v1/models", json={"name": "c"}),
            await client.patch("/v1/models/a", json={}),
            await client.get("/page/status.py"),
        ]

    found = played(gateway, script)
    assert [one.status_code for one in found] == [400, 400, 400, 404, 400, 400, 400, 404]
    assert all(one.json()["error"]["message"] for one in found)
    assert gateway.router.history.models["a"]["answers"] == 0


def test_the_key_is_required_where_there_is_one(server, monkeypatch):
    monkeypatch.setenv("GATEWAY_KEY", "secret")
    gateway = made(server("a"), key_env="GATEWAY_KEY")

    async def script(client):
        body = ask("hello")
        return [
            await client.post("/v1/chat/completions", json=body),
            await client.post("/v1/chat/completions", json=body, headers={"authorization": "Bearer secret"}),
            await client.get("/v1/status"),
            await client.get("/health"),
        ]

    assert [one.status_code for one in played(gateway, script)] == [401, 200, 401, 200]


def test_settings(tmp_path, monkeypatch):
    path = tmp_path / "router.toml"
    path.write_text(
        'budget = 0.001\nfile = "router.eb"\n'
        '[[models]]\nname = "a"\nurl = "http://127.0.0.1:1/v1"\nprice = [1.0, 2.0]\n'
    )
    config = Config.read(path)
    assert config.file == tmp_path / "router.eb"
    assert config.models[0].model.price == (1.0, 2.0)
    assert (config.host, config.port) == ("127.0.0.1", 8780)
    for text, sentence in (
        ("", "models is empty"),
        ("budgets = 1", "has the setting 'budgets'"),
        ('[[models]]\nname = "a"', "expected a name and a url"),
        ('[[models]]\nname = "a"\nurl = "ftp://x"', "begins with http"),
        ('listen = "0.0.0.0:80"\n[[models]]\nname = "a"\nurl = "http://x/v1"', "without a key"),
        ('[[models]]\nname = "a"\nurl = "http://x/v1"\nkey_env = "NOT_SET"', "NOT_SET is not set"),
        ("budget =", "cannot be read"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=sentence):
            Config.read(path)


def test_the_router_is_saved_at_the_end_and_loaded_at_the_start(server, tmp_path):
    a, b = server("a"), server("b")
    gateway = made(a, file=tmp_path / "router.eb")

    async def script(client):
        async with client._transport.app.router.lifespan_context(client._transport.app):
            answer = await client.post("/v1/chat/completions", json=ask("hello"))
            return await client.post("/v1/feedback", json={"id": answer.headers["x-router-id"], "reward": 1.0})

    assert played(gateway, script).json()["outcome"] == "learned"
    again = made(b, a, file=tmp_path / "router.eb")
    assert {model.name for model in again.router.models} == {"a", "b"}
    assert again.router.history.models["a"]["answers"] == 1


def test_after_a_restart_the_settings_count(server, tmp_path):
    a, b, c = (server(name) for name in "abc")
    file = tmp_path / "router.eb"
    first = made(a, b, budget=0.01, file=file)
    for number in range(20):
        route = first.router.route([float(number), 1.0, 1.0])
        first.router.feedback(route.id, 0.5, cost=0.002)
    spent = first.router.spent
    first.router.save(file)
    models = tuple(UpstreamConfig(one.name, one.url, price=(1.0, 4.0)) for one in (b, c))
    second = Gateway(Config(models, budget=0.02, file=file), encoder)
    assert [(model.name, model.price) for model in second.router.models] == [("b", (1.0, 4.0)), ("c", (1.0, 4.0))]
    assert set(second.router._policy.answers.costs) == {0.001}  # at half the price
    assert second.router.budget == {"dollars": 0.02}
    assert second.router.spent == spent
    assert Gateway(Config(models, file=file), encoder).router.budget == {}
    with pytest.raises(ValueError, match=r"has learned with the weights .*, and the settings say"):
        Gateway(Config(models, weights={"latency": 0.1}, file=file), encoder)


def test_the_page_loads_nothing_from_elsewhere(server):
    gateway = made(server("a"))

    async def script(client):
        return [await client.get(path) for path in ("/", "/page/page.js", "/page/page.css")]

    found = played(gateway, script)
    assert [one.status_code for one in found] == [200, 200, 200]
    for one in found:
        assert "default-src 'none'" in one.headers["content-security-policy"]
        links = [link for link in one.text.split() if "//" in link and "w3.org/2000/svg" not in link]
        assert not [link for link in links if "http" in link]


def test_a_connection_that_dies_while_it_is_opened_is_a_failure_of_its_upstream(server, monkeypatch):
    """As anyio has it: the socket is gone, and the error is none of httpx's."""
    gateway = made(server("a"), server("b"))
    send = gateway.client.send

    async def dying(request, **options):
        if f":{gateway.config.models[0].url.split(':')[2]}" in str(request.url):
            raise AttributeError("'NoneType' object has no attribute 'getpeername'")
        return await send(request, **options)

    monkeypatch.setattr(gateway.client, "send", dying)

    async def script(client):
        return [await client.post("/v1/chat/completions", json=ask(f"question {i}")) for i in range(6)]

    answers = played(gateway, script)
    assert [one.status_code for one in answers] == [200] * 6
    assert {one.headers["x-router-model"] for one in answers} == {"b"}
    assert gateway.router.history.models["a"]["failures"] > 0
