"""The gateway as an ASGI application."""

import asyncio
import contextlib
import hmac
import json
import mimetypes
import os
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route as Path_

from eigenbandits.router.gateway.config import Config, UpstreamConfig
from eigenbandits.router.gateway.status import status
from eigenbandits.router.gateway.upstreams import BROKEN, Upstream, UpstreamError, cost_of, passed_on
from eigenbandits.router.prompts import Encoder, prompt_of
from eigenbandits.router.router import Route, Router, UnknownRequestError

PAGE = Path(__file__).resolve().parent / "page"
# Models by which a client leaves the choice to the router; every other name must be a model of the gateway.
ROUTED = ("auto", "router", "")
SAVED_EVERY = 60.0
# Answers whose cost and latency are kept until their feedback comes.
KEPT = 100_000
LARGEST_BODY = 10_000_000
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}
Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class _Answer:
    """What an answer has cost and how long it took."""

    cost: float | None
    latency: float


def application(config: Config, encoder: Encoder | None = None) -> Starlette:
    """Return the gateway.

    Parameters
    ----------
    config
        Its settings.
    encoder
        What turns a prompt into a vector; None for the one that the settings name.
    """
    return Gateway(config, encoder).application()


class Gateway:
    """The router, the servers behind it, and the handlers in front of it."""

    def __init__(self, config: Config, encoder: Encoder | None = None) -> None:
        self.config = config
        self.router = self._router(encoder)
        self.client = httpx.AsyncClient(limits=httpx.Limits(max_connections=1000, max_keepalive_connections=100))
        self.upstreams = {one.name: Upstream(one, self.client) for one in config.models}
        self.answers: OrderedDict[str, _Answer] = OrderedDict()
        self._key = None if config.key_env is None else os.environ[config.key_env]

    def _router(self, encoder: Encoder | None) -> Router:
        config = self.config
        if encoder is None and config.encoder != "minilm":
            from importlib import import_module

            module, _, name = config.encoder.partition(":")
            encoder = getattr(import_module(module), name)
        if config.file is not None and config.file.exists():
            found = Router.load(config.file, encoder)
            if found.weights != dict(config.weights):
                raise ValueError(
                    f"{config.file} has learned with the weights {found.weights}, and the settings say "
                    f"{dict(config.weights)}; expected the same, or another file."
                )
            if found.budget != ({} if config.budget is None else {"dollars": config.budget}):
                found.set_budget(config.budget)
            # New models first, as a router must have one.
            known = {model.name: model.price for model in found.models}
            for one in config.models:
                if one.name not in known:
                    found.add(one.model)
                elif one.model.price not in (None, known[one.name]):
                    found.reprice(one.name, one.model.price)
            for name in known.keys() - {one.name for one in config.models}:
                found.withdraw(name)
            return found
        models = [one.model for one in config.models]
        return Router(models, encoder=encoder, budget=config.budget, weights=config.weights, seed=config.seed)

    def application(self) -> Starlette:
        """Return the application."""
        rows: list[tuple[str, str, Handler]] = [
            ("POST", "/v1/chat/completions", self.chat),
            ("POST", "/v1/feedback", self.feedback),
            ("GET", "/v1/models", self.models),
            ("POST", "/v1/models", self.add),
            ("PATCH", "/v1/models/{name:path}", self.reprice),
            ("DELETE", "/v1/models/{name:path}", self.withdraw),
            ("GET", "/v1/status", self.status),
        ]
        routes = [Path_(path, self._guarded(handler), methods=[method]) for method, path, handler in rows]
        routes += [Path_("/health", self.health), Path_("/", self.page), Path_("/page/{name}", self.page)]
        return Starlette(routes=routes, lifespan=self._lifespan)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        saving = asyncio.create_task(self._save_regularly())
        try:
            yield
        finally:
            saving.cancel()
            await self.client.aclose()
            if self.config.file is not None:
                self.router.save(self.config.file)

    async def _save_regularly(self) -> None:
        while self.config.file is not None:
            await asyncio.sleep(SAVED_EVERY)
            await asyncio.to_thread(self.router.save, self.config.file)

    def _guarded(self, handler: Handler) -> Handler:
        """Return a handler that asks for the key, and answers bad requests with one sentence."""

        async def guarded(request: Request) -> Response:
            given = request.headers.get("authorization", "").removeprefix("Bearer ")
            if self._key is not None and not hmac.compare_digest(given.encode(), self._key.encode()):
                return _error(401, "the key is missing or wrong; send it as a Bearer token.")
            try:
                return await handler(request)
            except ValueError as error:
                return _error(400, str(error))

        return guarded

    async def chat(self, request: Request) -> Response:
        """Answer a chat request by the model that the router picks, or by the one that the client names."""
        body = await _body(request)
        named = str(body.get("model", ""))
        if named in ROUTED:
            return await self._routed(body)
        if named not in self.upstreams:
            return _error(404, f"there is no model {named!r}; expected 'auto' or one of {list(self.upstreams)}.")
        try:
            response = await self._ask(named, body, None)
        except UpstreamError as error:
            return _error(502, str(error))
        return response

    async def _routed(self, body: dict[str, Any]) -> Response:
        prompt = prompt_of(body)
        vector = await asyncio.to_thread(self._timed, prompt)
        tried: list[str] = []
        reasons: list[str] = []
        while len(tried) < len(self.upstreams):
            resting = [name for name, one in self.upstreams.items() if one.rests and name not in tried]
            exclude = [*tried, *resting]
            if len(exclude) >= len(self.upstreams):  # nothing is left but servers that rest
                exclude = tried
            route = self.router.route(vector, exclude=exclude)
            try:
                return await self._ask(route.model, body, route)
            except UpstreamError as error:
                self.router.failed(route.id)
                tried.append(route.model)
                reasons.append(str(error))
        return _error(502, f"no model has answered: {'; '.join(reasons)}.")

    def _timed(self, prompt: str) -> Any:
        begin = time.perf_counter()
        vector = self.router.encode(prompt)
        self.router.history.seconds["encoding"] += time.perf_counter() - begin
        return vector

    async def _ask(self, name: str, body: dict[str, Any], route: Route | None) -> Response:
        """Return the answer of one model; what it has cost is kept for the feedback."""
        upstream, begin = self.upstreams[name], time.monotonic()
        response = await upstream.open(body)
        headers = {"x-router-model": name}
        if route is not None:
            headers["x-router-id"] = route.id

        def done(usage: Any) -> None:
            upstream.answered()
            if route is not None:
                self._keep(route, usage, time.monotonic() - begin)

        def broken() -> None:
            upstream.failed()
            if route is not None:
                self.router.failed(route.id)

        media = response.headers.get("content-type", "application/json")
        parts = response.aiter_bytes()
        try:
            if response.status_code >= 400:  # the request's fault: what the server says is passed on
                content = await response.aread()
                upstream.answered()
                if route is not None:
                    self.router.failed(route.id)
                return Response(content, response.status_code, headers, media)
            if body.get("stream"):
                first = await anext(parts, b"")
                stream = _closing(passed_on(first, parts, done, broken), response)
                return StreamingResponse(stream, response.status_code, headers, media)
            answer = await response.aread()
        except BROKEN as error:
            await response.aclose()
            upstream.failed()
            raise UpstreamError(f"{name}: {type(error).__name__}") from error
        await response.aclose()
        try:
            found = json.loads(answer)
        except ValueError:
            raise UpstreamError(f"{name}: an answer that is not JSON") from None
        done(found.get("usage") if isinstance(found, dict) else None)
        if route is not None and isinstance(found, dict):
            found["router"] = {"id": route.id, "model": name}
            answer = json.dumps(found).encode()
        return Response(answer, response.status_code, headers, media)

    def _keep(self, route: Route, usage: Any, latency: float) -> None:
        model = next((model for model in self.router.models if model.name == route.model), None)
        cost = None if model is None else cost_of(usage, model)
        self.answers[route.id] = _Answer(cost, latency)
        if len(self.answers) > KEPT:
            self.answers.popitem(last=False)

    async def feedback(self, request: Request) -> Response:
        """Learn how good an answer was; its cost and latency are those that were measured, unless given."""
        body = await _body(request)
        key = body.get("id")
        if not isinstance(key, str) or "reward" not in body:
            raise ValueError("id or reward is missing; expected the x-router-id of an answer, and a number.")
        known = self.answers.get(key, _Answer(None, float("nan")))
        latency = body.get("latency", None if known.latency != known.latency else known.latency)
        try:
            outcome = self.router.feedback(key, body["reward"], body.get("cost", known.cost), latency)
        except UnknownRequestError as error:
            return _error(404, str(error))
        self.answers.pop(key, None)
        return JSONResponse({"id": key, "outcome": outcome})

    async def models(self, request: Request) -> Response:
        """Return the models, "auto" first."""
        names = ["auto", *(model.name for model in self.router.models)]
        return JSONResponse(
            {"object": "list", "data": [{"id": name, "object": "model", "owned_by": "eigenbandits"} for name in names]}
        )

    async def add(self, request: Request) -> Response:
        """Add a model."""
        body = await _body(request)
        try:
            one = UpstreamConfig(**body)
        except TypeError:
            raise ValueError(f"a model has the fields {sorted(body)}; expected at least name and url.") from None
        self.router.add(one.model)
        self.upstreams[one.name] = Upstream(one, self.client)
        return JSONResponse({"id": one.name, "object": "model", "owned_by": "eigenbandits"}, 201)

    async def reprice(self, request: Request) -> Response:
        """Change the price of a model."""
        body = await _body(request)
        if "price" not in body:
            raise ValueError("price is missing; expected dollars per million tokens, or a pair.")
        self.router.reprice(request.path_params["name"], body["price"], body.get("factor"))
        return Response(status_code=204)

    async def withdraw(self, request: Request) -> Response:
        """Remove a model."""
        name = request.path_params["name"]
        self.router.withdraw(name)
        self.upstreams.pop(name, None)
        return Response(status_code=204)

    async def status(self, request: Request) -> Response:
        """Return what the page shows."""
        return JSONResponse(status(self.router, self.upstreams))

    async def health(self, request: Request) -> Response:
        """Report that the gateway is running."""
        return JSONResponse({"status": "ready"})

    async def page(self, request: Request) -> Response:
        """Return the page or one of its files."""
        path = PAGE / request.path_params.get("name", "index.html")
        if path.parent != PAGE or not path.is_file():
            return _error(404, "there is no such file.")
        media = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        return Response(path.read_bytes(), media_type=media, headers=_HEADERS)


async def _closing(stream: AsyncIterator[bytes], response: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for part in stream:
            yield part
    finally:
        await response.aclose()


async def _body(request: Request) -> dict[str, Any]:
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > LARGEST_BODY:
            raise ValueError(f"the body is longer than {LARGEST_BODY:,} bytes.")
    try:
        found = json.loads(content)
    except ValueError:
        raise ValueError("the body is not JSON.") from None
    if not isinstance(found, dict):
        raise ValueError("the body is not a JSON object.")
    return found


def _error(code: int, sentence: str) -> JSONResponse:
    kind = "invalid_request_error" if code < 500 else "upstream_error"
    return JSONResponse({"error": {"message": sentence, "type": kind, "code": code}}, code)
