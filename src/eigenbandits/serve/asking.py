"""Requests to decide and to reward, read from their bodies and handed to the writer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar

import orjson

from eigenbandits.serve import vectors
from eigenbandits.serve.engine import Engine
from eigenbandits.serve.errors import Refusal, invalid, unavailable, unknown
from eigenbandits.serve.hosted import Hosted
from eigenbandits.serve.jobs import Answer, Ask, Report
from eigenbandits.serve.sets import AskedSet, Inline, Picked

T = TypeVar("T")
JSON, BINARY = "application/json", "application/octet-stream"
_INLINE, _FROM_CATALOGUE = {"actions", "dim", "request"}, {"query", "items", "request"}


class Asking:
    """Reads bodies in the event loop's thread and waits for the writer."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._settings = engine.settings

    # The four requests: each takes the policy's name, the media type, the query string and the body.

    async def decide(self, name: str, media: str, query: Mapping[str, str], body: bytes) -> bytes:
        """Answer one decision."""
        hosted = self._engine.named(name)
        if media == BINARY:
            entry = self._binary(hosted, query, body, 1)[0]
        else:
            entry = self._entry(hosted, _object(media, body), "")
        answers = await self._ask(hosted, [entry])
        return orjson.dumps(_told(hosted, answers[0]))

    async def decide_batch(self, name: str, media: str, query: Mapping[str, str], body: bytes) -> bytes:
        """Answer many decisions, all or none."""
        hosted = self._engine.named(name)
        if media == BINARY:
            entries = self._binary(hosted, query, body, _whole(query.get("sets"), "sets"))
        else:
            asked = self._list(_object(media, body), "requests")
            entries = [self._entry(hosted, one, f"requests[{i}]") for i, one in enumerate(asked)]
        answers = await self._ask(hosted, entries)
        return orjson.dumps({"decisions": [_told(hosted, answer) for answer in answers]})

    async def reward(self, name: str, media: str, query: Mapping[str, str], body: bytes) -> bytes:
        """Take one reward."""
        hosted = self._engine.named(name)
        number, reward, id_ = _reward(hosted, _object(media, body), "")
        if number == 0:
            raise unknown("decision", id_)
        result = (await self._report(hosted, [(number, reward)]))[0]
        if isinstance(result, Refusal):
            raise result
        return orjson.dumps({"decision": id_, "status": result})

    async def reward_batch(self, name: str, media: str, query: Mapping[str, str], body: bytes) -> bytes:
        """Take many rewards, each for itself."""
        hosted = self._engine.named(name)
        rewards = self._list(_object(media, body), "rewards")
        entries = [_reward(hosted, one, f"rewards[{i}]") for i, one in enumerate(rewards)]
        results = await self._report(hosted, [(number, reward) for number, reward, _ in entries])
        told = []
        for (_, _, id_), result in zip(entries, results, strict=True):
            if isinstance(result, Refusal):
                told.append({"decision": id_, "status": "refused", **result.body()})
            else:
                told.append({"decision": id_, "status": result})
        return orjson.dumps({"results": told})

    # Waiting for the writer

    async def _ask(self, hosted: Hosted, entries: list[tuple[AskedSet, str | None]]) -> list[Answer]:
        future: asyncio.Future[list[Answer]] = asyncio.get_running_loop().create_future()
        self._engine.submit(Ask(hosted.id, [one for one, _ in entries], [request for _, request in entries], future))
        return await self._wait(future)

    async def _report(self, hosted: Hosted, rewards: list[tuple[int, float]]) -> list[str | Refusal]:
        future: asyncio.Future[list[str | Refusal]] = asyncio.get_running_loop().create_future()
        self._engine.submit(Report(hosted.id, rewards, future))
        return await self._wait(future)

    async def _wait(self, future: asyncio.Future[T]) -> T:
        try:
            async with asyncio.timeout(self._settings.request_timeout):
                return await future
        except TimeoutError:
            raise unavailable("this took too long") from None

    # Reading bodies

    def _entry(self, hosted: Hosted, entry: Any, place: str) -> tuple[AskedSet, str | None]:
        try:
            if type(entry) is not dict:
                raise invalid("A request to decide is a JSON object; expected one with actions, or query and items.")
            request = entry.get("request")
            if request is not None:
                vectors.name(request, "request", 64)
            allowed = _INLINE if hosted.catalogue is None else _FROM_CATALOGUE
            if not entry.keys() <= allowed:
                extra = sorted(set(entry) - allowed)[0][:100]
                kind = "without a" if hosted.catalogue is None else "with a"
                message = f"A policy {kind} catalogue takes no field {extra!r}; expected {', '.join(sorted(allowed))}."
                raise invalid(message, extra)
            asked = self._inline(hosted, entry) if hosted.catalogue is None else self._picked(hosted, entry)
            return asked, request
        except Refusal as refusal:
            if place:
                refusal.field = place if refusal.field is None else f"{place}.{refusal.field}"
            raise

    def _inline(self, hosted: Hosted, entry: dict[str, Any]) -> Inline:
        dim = hosted.dim
        if entry.get("dim") is not None:
            dim = self._same_dim(dim, entry["dim"])
        return Inline(vectors.matrix(entry.get("actions"), dim, self._settings, "actions"))

    def _same_dim(self, known: int | None, value: Any) -> int:
        dim = _whole(value, "dim")
        if known is not None and dim != known:
            raise invalid(f"dim is {dim}; this policy takes vectors of length {known}.", "dim", "wrong_dimension")
        if dim > self._settings.max_dim:
            message = f"dim is {dim}; this service takes at most {self._settings.max_dim}."
            raise invalid(message, "dim", "too_many_dimensions")
        return dim

    def _picked(self, hosted: Hosted, entry: dict[str, Any]) -> Picked:
        catalogue, settings = hosted.catalogue, self._settings
        assert catalogue is not None
        query, items = entry.get("query"), entry.get("items")
        vector = None if query is None else vectors.vector(query, catalogue.dim, settings, "query")
        count = len(catalogue.slot_of) if items is None else len(items) if type(items) is list else 0
        if count == 0:
            raise invalid("items is empty or no list; expected the ids of at least one item.", "items")
        if count > settings.max_actions:
            message = f"items names {count} items; this service takes at most {settings.max_actions}."
            raise invalid(message, "items", "too_many_actions")
        if items is None:
            return Picked(vector, None, catalogue.version)
        return Picked(vector, catalogue.slots_of(items))

    def _binary(
        self, hosted: Hosted, query: Mapping[str, str], body: bytes, sets: int
    ) -> list[tuple[AskedSet, str | None]]:
        if hosted.catalogue is not None:
            raise invalid("This policy has a catalogue; send JSON with query and items.", "body")
        dim = hosted.dim if "dim" not in query else self._same_dim(hosted.dim, query["dim"])
        request = query.get("request")
        if request is not None and (sets > 1 or not vectors.name(request, "request", 64)):
            raise invalid("request names one decision, not a batch.", "request")
        if sets > self._settings.max_batch:
            raise invalid(f"sets is {sets}; this service takes at most {self._settings.max_batch}.", "sets")
        rows = vectors.raw(body, dim, self._settings, "body", self._settings.max_actions * sets)
        if len(rows) % sets:
            message = f"The body has {len(rows)} vectors; expected a multiple of {sets}, as many in each set."
            raise invalid(message, "sets")
        cut = rows.reshape(sets, -1, rows.shape[1])
        return [(Inline(cut[i]), request) for i in range(sets)]

    def _list(self, body: Any, field: str) -> list[Any]:
        found = body.get(field) if type(body) is dict else None
        if type(found) is not list or not found or len(body) > 1:
            raise invalid(f"A batch is a JSON object with one field, {field}, a list of at least one entry.", field)
        if len(found) > self._settings.max_batch:
            message = f"{field} has {len(found)} entries; this service takes at most {self._settings.max_batch}."
            raise invalid(message, field)
        return found


def _object(media: str, body: bytes) -> Any:
    if media != JSON:
        message = f"The media type is not understood; expected {JSON} or, to decide, {BINARY}."
        raise Refusal(415, "unsupported_media_type", message)
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise invalid(f"The body is not JSON: {error.msg} at character {error.pos}.", code="invalid_json") from error


def _whole(value: Any, field: str) -> int:
    text = str(value) if type(value) in (int, str) else ""
    if not text.isdecimal() or not 1 <= len(text) <= 9 or int(text) < 1:
        raise invalid(f"{field} is missing or no whole number above 0; expected one.", field)
    return int(text)


def _reward(hosted: Hosted, entry: Any, place: str) -> tuple[int, float, str]:
    """Return number, reward and id; number 0 where the id is of no decision of this policy."""
    inside = f"{place}." if place else ""
    if type(entry) is not dict or entry.keys() != {"decision", "reward"}:
        raise invalid("A reward is a JSON object with two fields, decision and reward.", place or None)
    id_, reward = (
        vectors.name(entry["decision"], f"{inside}decision"),
        vectors.number(entry["reward"], f"{inside}reward"),
    )
    policy, _, number = id_.partition("-")
    mine = policy == str(hosted.id) and number.isdecimal() and number.isascii() and len(number) <= 18
    return (int(number) if mine else 0), reward, id_


def _told(hosted: Hosted, answer: Answer) -> dict[str, Any]:
    return {
        "decision": f"{hosted.id}-{answer.number}",
        "index": answer.index,
        "item": answer.item,
        "round": answer.number,
        "estimate": answer.estimate,
        "upper": answer.upper,
        "propensity": answer.propensity,
    }
