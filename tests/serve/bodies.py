"""Bodies of requests that several tests send."""

from __future__ import annotations

import base64

import httpx
import numpy as np

BINARY = {"content-type": "application/octet-stream"}


def packed(vectors) -> str:
    return base64.b64encode(np.asarray(vectors, dtype="<f4").tobytes()).decode()


def create(client: httpx.Client, name: str = "p", **more) -> httpx.Response:
    body = {"name": name, "algorithm": "PSLB", "parameters": {"noise": 0.5}} | more
    return client.post("/v1/policies", json=body)


def decide(client: httpx.Client, actions, name: str = "p", **more) -> httpx.Response:
    return client.post(f"/v1/policies/{name}/decide", json={"actions": np.asarray(actions).tolist()} | more)


def reward(client: httpx.Client, decision: str, value: float, name: str = "p") -> httpx.Response:
    return client.post(f"/v1/policies/{name}/reward", json={"decision": decision, "reward": value})


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]
