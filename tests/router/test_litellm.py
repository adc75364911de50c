"""The strategy for LiteLLM: by its methods alone, and inside a real `litellm.Router` where LiteLLM is installed."""

import asyncio
import os

import pytest

from eigenbandits.router import LiteLLMStrategy, Router


def encode(prompt):
    return [float(len(prompt)), float(prompt.count("a")), 1.0]


def deployments():
    made = []
    for name in ("small", "large"):
        params = {"model": f"openai/{name}", "api_key": "none", "mock_response": f"{name} says hello"}
        made.append({"model_name": "auto", "litellm_params": params, "model_info": {"id": name}})
    return made


def asked(key=None):
    return {"metadata": {} if key is None else {"router_id": key}}


def test_a_call_is_routed_once_and_learned_once():
    router = Router(["small", "large"], encoder=encode, seed=0)
    strategy = LiteLLMStrategy(router, deployments())
    chosen = [
        strategy.get_available_deployment("auto", [{"role": "user", "content": "a" * n}], request_kwargs=asked(str(n)))
        for n in range(8)
    ]
    assert {one["model_info"]["id"] for one in chosen} <= {"small", "large"}
    assert [strategy.feedback(str(n), 0.5) for n in range(8)] == ["learned"] * 8
    with pytest.raises(ValueError, match="no call '0' is waiting for feedback"):
        strategy.feedback("0", 0.5)
    assert sum(router.history.models[name]["answers"] for name in ("small", "large")) == 8


def test_a_call_asked_again_has_failed_and_goes_to_another_model():
    router = Router(["small", "large"], encoder=encode, seed=0)
    strategy = LiteLLMStrategy(router, deployments())
    names = [
        strategy.get_available_deployment("auto", [{"role": "user", "content": "Hi"}], request_kwargs=asked("x"))[
            "model_info"
        ]["id"]
        for _ in range(2)
    ]
    assert sorted(names) == ["large", "small"]
    assert router.history.models[names[0]]["failures"] == 1
    strategy.feedback("x", 1.0)
    assert router.history.models[names[1]]["answers"] == 1
    assert router.history.models[names[0]]["answers"] == 0


def test_a_call_without_an_id_leaves_nothing_open():
    router = Router(["small", "large"], encoder=encode, budget=1.0, seed=0)
    strategy = LiteLLMStrategy(router, deployments())
    strategy.get_available_deployment("auto", input="text", request_kwargs=None)
    assert not router._open
    assert router.spent == 0.0


def test_deployments_must_be_models_of_the_router():
    router = Router(["small"], encoder=encode, seed=0)
    with pytest.raises(ValueError, match=r"model_info\.id 'large'; expected the name of a router's model"):
        LiteLLMStrategy(router, deployments())
    with pytest.raises(ValueError, match="no deployment has the model_name 'other'"):
        LiteLLMStrategy(router, deployments()[:1]).get_available_deployment("other", [])


def test_litellm_sends_calls_where_the_router_says(monkeypatch):
    monkeypatch.setitem(os.environ, "LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm = pytest.importorskip("litellm")
    router = Router(["small", "large"], encoder=encode, seed=0)
    theirs = litellm.Router(model_list=deployments(), num_retries=0)
    plugged = LiteLLMStrategy(router, theirs.model_list)
    # Older versions have only the method that newer ones call by another name.
    plug = getattr(theirs, "register_plugin", None) or theirs.set_custom_routing_strategy
    plug(plugged)

    def call(key, again):
        messages = [{"role": "user", "content": "Say hello."}]
        arguments = {"model": "auto", "messages": messages, "metadata": {"router_id": key}}
        return asyncio.run(theirs.acompletion(**arguments)) if again else theirs.completion(**arguments)

    for number in range(30):
        answer = call(str(number), number % 2)
        name = answer.choices[0].message.content.split()[0]
        assert plugged._routes[str(number)][0].model == name
        plugged.feedback(str(number), reward=1.0 if name == "large" else 0.0, cost=0.001)
    shares = [router.history.models[name]["requests"] for name in ("small", "large")]
    assert sum(shares) == 30
    assert shares[1] > shares[0]
