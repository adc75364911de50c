"""Decisions and rewards: the frequent endpoints, which read their requests by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import orjson
from starlette.requests import Request
from starlette.responses import Response

from eigenbandits.serve.errors import Refusal, invalid
from eigenbandits.serve.http import vectors
from eigenbandits.serve.http.endpoint import BINARY, JSON, media_type, read_body, require_json
from eigenbandits.serve.http.gateway import Gateway
from eigenbandits.serve.storage.schema import read_decision_id
from eigenbandits.serve.writer.catalogue import Catalogue
from eigenbandits.serve.writer.commands import SentReward
from eigenbandits.serve.writer.decision_sets import CatalogueSet, DecisionSet, InlineSet, Options
from eigenbandits.serve.writer.hosted_policy import HostedPolicy

_REWARD = {"decision", "reward", "part", "correct"}
_OPTIONS = {"allowed", "exclude", "scores", "count", "request"}
_INLINE, _FROM_CATALOGUE = {"actions", "dim"} | _OPTIONS, {"query", "items"} | _OPTIONS
# The longest list.
_LONGEST = 1000


class DecisionHandlers:
    """Handlers of `Request` that return a `Response`, as Starlette has them."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._settings = gateway.settings

    async def decide(self, request: Request) -> Response:
        """Choose one of some actions; the decision is on disk before it is answered."""
        hosted = self._policy(request)
        if media_type(request) == BINARY:
            sets, name = await self._raw_sets(hosted, request, 1)
        else:
            one, name = self._entry(hosted, await _json(request), "")
            sets = [one]
        rows = await self._gateway.decide(hosted, sets, [name])
        if sets[0].options.count:
            return _response({"decisions": [row.answer() for row in rows]})
        return _response(rows[0].answer())

    async def decide_batch(self, request: Request) -> Response:
        """Choose in many decision sets at once."""
        hosted = self._policy(request)
        if media_type(request) == BINARY:
            sets, name = await self._raw_sets(hosted, request, _whole(request.query_params.get("sets"), "sets"))
            names = [name] * len(sets)
        else:
            entries = self._list(await _json(request), "requests")
            pairs = [self._entry(hosted, entry, f"requests[{i}]") for i, entry in enumerate(entries)]
            sets, names = [one for one, _ in pairs], [name for _, name in pairs]
            if any(one.options.count for one in sets):
                raise invalid("count is for a single request; send lists one by one.", "count")
        rows = await self._gateway.decide(hosted, sets, names)
        return _response({"decisions": [row.answer() for row in rows]})

    async def reward(self, request: Request) -> Response:
        """Give a decision its reward; it is on disk before it is answered, and counts once however often it is sent."""
        hosted = self._gateway.policy(request.path_params["name"])
        id_, sent = _reward(hosted, await _json(request), "")
        (result,) = await self._gateway.reward(hosted, [sent])
        if isinstance(result, Refusal):
            raise result
        return _response({"decision": id_, "status": result})

    async def reward_batch(self, request: Request) -> Response:
        """Give many decisions their rewards, each independently of the others."""
        hosted = self._gateway.policy(request.path_params["name"])
        entries = self._list(await _json(request), "rewards")
        rewards = [_reward(hosted, entry, f"rewards[{i}]") for i, entry in enumerate(entries)]
        results = await self._gateway.reward(hosted, [sent for _, sent in rewards])
        found = []
        for (id_, _), result in zip(rewards, results, strict=True):
            status = {"status": "refused", **result.body()} if isinstance(result, Refusal) else {"status": result}
            found.append({"decision": id_} | status)
        return _response({"results": found})

    def _policy(self, request: Request) -> HostedPolicy:
        hosted = self._gateway.policy(request.path_params["name"])
        # What the first decision fixes for good is the administrator's to say.
        if hosted.dim is None and not request.scope["caller"].admin:
            message = (
                "The length of this policy's vectors is not known yet, and this key may not fix it; create the policy "
                "with dim, or make its first decision with a key that has the scope admin."
            )
            raise Refusal(409, "unknown_dimension", message)
        return hosted

    # Reading bodies

    def _entry(self, hosted: HostedPolicy, entry: Any, place: str) -> tuple[DecisionSet, str | None]:
        """Return the decision set of an entry, and the request id."""
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
            found = self._inline_set(hosted, entry) if hosted.catalogue is None else self._catalogue_set(hosted, entry)
            if not entry.keys().isdisjoint(_OPTIONS - {"request"}):
                if not hosted.takes_options:
                    message = "Deciders take no allowed, exclude, scores or count; run the service without --deciders."
                    raise Refusal(409, "not_with_deciders", message)
                found = replace(found, options=_options(entry, found, hosted.catalogue))
            return found, request
        except Refusal as refusal:
            if place:
                refusal.field = place if refusal.field is None else f"{place}.{refusal.field}"
            raise

    def _inline_set(self, hosted: HostedPolicy, entry: dict[str, Any]) -> InlineSet:
        dim = hosted.dim
        if entry.get("dim") is not None:
            dim = self._same_dim(dim, entry["dim"])
        return InlineSet(vectors.matrix(entry.get("actions"), dim, self._settings, "actions"))

    def _same_dim(self, known: int | None, value: Any) -> int:
        dim = _whole(value, "dim")
        if known is not None and dim != known:
            raise invalid(f"dim is {dim}; this policy takes vectors of length {known}.", "dim", "wrong_dimension")
        if dim > self._settings.max_dim:
            message = f"dim is {dim}; this service takes at most {self._settings.max_dim}."
            raise invalid(message, "dim", "too_many_dimensions")
        return dim

    def _catalogue_set(self, hosted: HostedPolicy, entry: dict[str, Any]) -> CatalogueSet:
        catalogue, settings = hosted.catalogue, self._settings
        assert catalogue is not None
        query, items = entry.get("query"), entry.get("items")
        vector = None if query is None else vectors.vector(query, catalogue.dim, settings, "query")
        count = len(catalogue.slot_of) if items is None else len(items) if type(items) is list else 0
        if count == 0:
            raise invalid("items is empty or not a list; expected the ids of at least one item.", "items")
        if count > settings.max_actions:
            message = f"items names {count} items; this service takes at most {settings.max_actions}."
            raise invalid(message, "items", "too_many_actions")
        if items is None:
            return CatalogueSet(vector, None, catalogue.version)
        return CatalogueSet(vector, catalogue.slots_of(items))

    async def _raw_sets(
        self, hosted: HostedPolicy, request: Request, sets: int
    ) -> tuple[list[DecisionSet], str | None]:
        """Return decision sets of equal size from a body of raw float32, and the request id."""
        if hosted.catalogue is not None:
            raise invalid("This policy has a catalogue; send JSON with query and items.", "body")
        query, settings = request.query_params, self._settings
        dim = hosted.dim if "dim" not in query else self._same_dim(hosted.dim, query["dim"])
        name = query.get("request")
        if name is not None and (sets > 1 or not vectors.name(name, "request", 64)):
            raise invalid("request names one decision, not a batch.", "request")
        if sets > settings.max_batch:
            raise invalid(f"sets is {sets}; this service takes at most {settings.max_batch}.", "sets")
        rows = vectors.raw(await read_body(request), dim, settings, "body", settings.max_actions * sets)
        if len(rows) % sets:
            message = f"The body has {len(rows)} vectors; expected a multiple of {sets}, the number of sets."
            raise invalid(message, "sets")
        return [InlineSet(part) for part in rows.reshape(sets, -1, rows.shape[1])], name

    def _list(self, body: Any, field: str) -> list[Any]:
        found = body.get(field) if type(body) is dict else None
        if type(found) is not list or not found or len(body) > 1:
            raise invalid(f"A batch is a JSON object with one field, {field}, a list of at least one entry.", field)
        if len(found) > self._settings.max_batch:
            message = f"{field} has {len(found)} entries; this service takes at most {self._settings.max_batch}."
            raise invalid(message, field)
        return found


def _options(entry: dict[str, Any], found: DecisionSet, catalogue: Catalogue | None) -> Options:
    """Return what an entry says besides the actions."""
    size = found.size(catalogue)
    ids = None
    if catalogue is not None and (entry.get("allowed") is not None or entry.get("exclude") is not None):
        assert isinstance(found, CatalogueSet)
        slots = catalogue.slots_at(found.version) if found.slots is None else found.slots
        ids = {catalogue.names[slot]: row for row, slot in enumerate(slots.tolist())}
    out: set[int] = set()
    if entry.get("allowed") is not None:
        out |= set(range(size)) - _rows(entry["allowed"], "allowed", size, ids, strict=True)
    if entry.get("exclude") is not None:
        out |= _rows(entry["exclude"], "exclude", size, ids, strict=False)
    if len(out) == size:
        raise invalid("allowed and exclude leave no action to choose from; expected at least one.", "exclude")
    scores = entry.get("scores")
    if scores is not None:
        if type(scores) is not list or len(scores) != size:
            raise invalid(f"scores is not a list of {size} numbers, one for each action or item.", "scores")
        if catalogue is not None and entry.get("items") is None:
            raise invalid("scores are in the order of items; send items with them.", "scores")
        scores = np.array([vectors.number(one, "scores") for one in scores])
    count = entry.get("count")
    if count is not None and not 1 <= _whole(count, "count") <= min(size - len(out), _LONGEST):
        message = f"count is {count}; expected at most {min(size - len(out), _LONGEST)}, the actions to choose from."
        raise invalid(message, "count")
    return Options(np.array(sorted(out), dtype=np.int32) if out else None, scores, 0 if count is None else int(count))


def _rows(value: Any, field: str, size: int, ids: dict[str, int] | None, strict: bool) -> set[int]:
    """Return rows by their numbers or the ids of their items; ids that are not offered are refused, or passed over."""
    if type(value) is not list or (ids is None and not all(type(one) is int and 0 <= one < size for one in value)):
        raise invalid(
            f"{field} is not a list of {'item ids' if ids is not None else f'rows from 0 to {size - 1}'}.", field
        )
    if ids is None:
        return set(value)
    strange = next((one for one in value if type(one) is not str or (strict and one not in ids)), None)
    if strange is not None:
        raise invalid(f"{field} holds {str(strange)[:100]!r}, which is not offered here.", field, "unknown_item")
    return {ids[one] for one in value if one in ids}


async def _json(request: Request) -> Any:
    require_json(request)
    body = await read_body(request)
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise invalid(f"The body is not JSON: {error.msg} at character {error.pos}.", code="invalid_json") from error
    vectors.refuse_truth_values(body, content)
    return content


def _whole(value: Any, field: str) -> int:
    text = str(value) if type(value) in (int, str) else ""
    if not text.isdecimal() or not 1 <= len(text) <= 9 or int(text) < 1:
        raise invalid(f"{field} is missing or not a whole number above 0.", field)
    return int(text)


def _reward(hosted: HostedPolicy, entry: Any, place: str) -> tuple[str, SentReward]:
    """Return the id and the reward; the number is 0 where no decision of this policy has the id."""
    inside = f"{place}." if place else ""
    if type(entry) is not dict or not {"decision", "reward"} <= entry.keys() <= _REWARD:
        message = "A reward is a JSON object with the fields decision and reward, and optionally part and correct."
        raise invalid(message, place or None)
    id_ = vectors.name(entry["decision"], f"{inside}decision")
    reward = vectors.number(entry["reward"], f"{inside}reward")
    if hosted.spec.outside(reward):
        low, high = hosted.spec.least_reward, hosted.spec.largest_reward
        message = f"reward is {reward:g}; this policy takes rewards from {low} to {high}."
        raise invalid(message, f"{inside}reward", "reward_out_of_bounds")
    part, correct = entry.get("part"), entry.get("correct", False)
    if type(correct) is not bool:
        raise invalid("correct is neither true nor false.", f"{inside}correct")
    if (part is not None or correct) and hosted.spec.learn_at == "reward":
        message = (
            "This policy learns a reward as soon as it arrives, so there are no parts and no corrections; create one "
            "with learn_at 'time_to_live'."
        )
        raise Refusal(409, "learned_at_once", message, place or None)
    policy, epoch, number = read_decision_id(id_) or (0, None, 0)
    named = "" if part is None else vectors.name(part, f"{inside}part", 64)
    return id_, SentReward(number if policy == hosted.id else 0, epoch, reward, id_, named, correct)


def _response(content: dict[str, Any]) -> Response:
    return Response(orjson.dumps(content), media_type=JSON)
