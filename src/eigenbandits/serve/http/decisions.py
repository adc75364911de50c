"""Decisions and rewards: the frequent endpoints, which parse their requests themselves for speed."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import orjson
from starlette.requests import Request

from eigenbandits.serve.errors import Refusal, invalid
from eigenbandits.serve.http import vectors
from eigenbandits.serve.http.endpoint import BINARY, media_type, read_body, require_json
from eigenbandits.serve.http.gateway import Gateway
from eigenbandits.serve.http.options import least_zero, read_options, whole
from eigenbandits.serve.storage.schema import read_decision_id
from eigenbandits.serve.writer.commands import SentReward
from eigenbandits.serve.writer.decision_sets import CatalogueSet, DecisionSet, InlineSet, Options
from eigenbandits.serve.writer.hosted_policy import HostedPolicy

_REWARD = {"decision", "reward", "part", "correct", "cost"}
_OPTIONS = {"allowed", "exclude", "scores", "costs", "count", "request"}
_LOGGED = {"index", "item", "reward", "propensity", "scores", "costs", "cost", "request"}
_INLINE, _FROM_CATALOGUE = {"actions", "dim"}, {"query", "items"}


class _Imported(NamedTuple):
    """A decision that another system has made, with its reward and cost if they are known."""

    set: DecisionSet
    request: str
    reward: float | None
    cost: float | None


class DecisionHandlers:
    """Handlers that take Starlette's `Request` and return JSON."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._settings = gateway.settings

    async def decide(self, request: Request) -> bytes:
        """Choose an action; the decision is on disk before the response is sent."""
        hosted = self._policy(request)
        if media_type(request) == BINARY:
            sets, name = await self._raw_sets(hosted, request, 1)
        else:
            one, name = self._entry(hosted, await _json(request), "")
            sets = [one]
        rows = await self._gateway.decide(hosted, sets, [name])
        if sets[0].options.count:
            return _json_of({"decisions": [row.answer() for row in rows]})
        return _json_of(rows[0].answer())

    async def decide_batch(self, request: Request) -> bytes:
        """Choose from many decision sets at once."""
        hosted = self._policy(request)
        if media_type(request) == BINARY:
            sets, name = await self._raw_sets(hosted, request, whole(request.query_params.get("sets"), "sets"))
            names = [name] * len(sets)
        else:
            entries = self._list(await _json(request), "requests")
            pairs = [self._entry(hosted, entry, f"requests[{i}]") for i, entry in enumerate(entries)]
            sets, names = [one for one, _ in pairs], [name for _, name in pairs]
            if any(one.options.count for one in sets):
                raise invalid("count is for a single request; send lists one by one.", "count")
        rows = await self._gateway.decide(hosted, sets, names)
        return _json_of({"decisions": [row.answer() for row in rows]})

    async def reward(self, request: Request) -> bytes:
        """Give a decision its reward, which is on disk before the response and counts once however often it is sent."""
        hosted = self._gateway.policy(request.path_params["name"])
        id_, sent = _reward(hosted, await _json(request), "")
        (result,) = await self._gateway.reward(hosted, [sent])
        if isinstance(result, Refusal):
            raise result
        return _json_of({"decision": id_, "status": result})

    async def reward_batch(self, request: Request) -> bytes:
        """Give many decisions their rewards, each independently of the others."""
        hosted = self._gateway.policy(request.path_params["name"])
        entries = self._list(await _json(request), "rewards")
        rewards = [_reward(hosted, entry, f"rewards[{i}]") for i, entry in enumerate(entries)]
        results = await self._gateway.reward(hosted, [sent for _, sent in rewards])
        outcomes = []
        for (id_, _), result in zip(rewards, results, strict=True):
            outcomes.append({"decision": id_} | _status(result))
        return _json_of({"results": outcomes})

    async def import_decisions(self, request: Request) -> bytes:
        """Learn from decisions made by another system; each counts once, by its request id."""
        hosted = self._gateway.policy(request.path_params["name"])
        entries = self._list(await _json(request), "decisions")
        imported = [self._imported(hosted, entry, f"decisions[{i}]") for i, entry in enumerate(entries)]
        # Both steps can safely be repeated: a caller that gets no response sends everything again.
        rows = await self._gateway.decide(hosted, [one.set for one in imported], [one.request for one in imported])
        places, sent = [], []
        for place, (row, one) in enumerate(zip(rows, imported, strict=True)):
            if one.reward is not None:
                places.append(place)
                sent.append(SentReward(row.round, row.epoch, one.reward, row.decision, cost=one.cost))
        results = await self._gateway.reward(hosted, sent) if sent else []
        outcomes = [{"decision": row.decision, "status": "pending"} for row in rows]
        for place, result in zip(places, results, strict=True):
            outcomes[place] |= _status(result)
        return _json_of({"results": outcomes})

    def _imported(self, hosted: HostedPolicy, entry: Any, place: str) -> _Imported:
        decision_set, request = self._entry(hosted, entry, place, _LOGGED)
        if request is None:
            message = "request is missing; each imported decision needs its own id, so that it counts once."
            raise invalid(message, f"{place}.request")
        if decision_set.options.logged is None:
            raise invalid("index is missing; expected the row that was chosen.", f"{place}.index")
        cost, reward = _cost(hosted, entry, f"{place}."), entry.get("reward")
        earned = None if reward is None else _number(hosted, reward, f"{place}.reward")
        return _Imported(decision_set, request, earned, cost)

    def _policy(self, request: Request) -> HostedPolicy:
        hosted = self._gateway.policy(request.path_params["name"])
        # The first decision fixes the vector length permanently, which is up to an administrator.
        if hosted.dim is None and not request.scope["caller"].admin:
            message = (
                "The length of this policy's vectors is not known yet, and this key may not fix it; create the policy "
                "with dim, or make its first decision with a key that has the scope admin."
            )
            raise Refusal(409, "unknown_dimension", message)
        return hosted

    # Reading bodies

    def _entry(
        self, hosted: HostedPolicy, entry: Any, place: str, more: set[str] = _OPTIONS
    ) -> tuple[DecisionSet, str | None]:
        """Return an entry's decision set and request id; `more` are the fields allowed besides the actions."""
        try:
            if type(entry) is not dict:
                raise invalid("A request to decide is a JSON object; expected one with actions, or query and items.")
            request = entry.get("request")
            if request is not None:
                vectors.name(request, "request", 64)
            allowed = (_INLINE if hosted.catalogue is None else _FROM_CATALOGUE) | more
            if not entry.keys() <= allowed:
                extra = sorted(set(entry) - allowed)[0][:100]
                kind = "without a" if hosted.catalogue is None else "with a"
                message = f"A policy {kind} catalogue has no field {extra!r}; expected {', '.join(sorted(allowed))}."
                raise invalid(message, extra)
            read_set = self._inline_set if hosted.catalogue is None else self._catalogue_set
            decision_set: DecisionSet = read_set(hosted, entry)
            if not entry.keys().isdisjoint(more - {"request"}):
                if not hosted.takes_lists and entry.get("count") is not None:
                    message = "Deciders cannot choose lists; run the service without --deciders, or omit count."
                    raise Refusal(409, "not_with_deciders", message, "count")
                if entry.get("costs") is not None:
                    _refuse_without_budget(hosted, "costs")
                decision_set = replace(decision_set, options=read_options(entry, decision_set, hosted.catalogue))
                _refuse_above_ceiling(hosted, decision_set.options)
            return decision_set, request
        except Refusal as refusal:
            if place:
                refusal.field = place if refusal.field is None else f"{place}.{refusal.field}"
            raise

    def _inline_set(self, hosted: HostedPolicy, entry: dict[str, Any]) -> InlineSet:
        dim = hosted.dim
        if entry.get("dim") is not None:
            dim = self._same_dim(dim, entry["dim"])
        array = vectors.matrix(entry.get("actions"), dim, self._settings, "actions")
        # A policy in single precision would round them first; in the log they then take half the space.
        return InlineSet(array.astype(np.float32, copy=False) if hosted.policy.dtype == "float32" else array)

    def _same_dim(self, known: int | None, value: Any) -> int:
        dim = whole(value, "dim")
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
        entries = body.get(field) if type(body) is dict else None
        if type(entries) is not list or not entries or len(body) > 1:
            raise invalid(f"A batch is a JSON object with one field, {field}, a list of at least one entry.", field)
        if len(entries) > self._settings.max_batch:
            message = f"{field} has {len(entries)} entries; this service takes at most {self._settings.max_batch}."
            raise invalid(message, field)
        return entries


async def _json(request: Request) -> Any:
    require_json(request)
    body = await read_body(request)
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise invalid(f"The body is not JSON: {error.msg} at character {error.pos}.", code="invalid_json") from error
    vectors.refuse_truth_values(body, content)
    return content


def _reward(hosted: HostedPolicy, entry: Any, place: str) -> tuple[str, SentReward]:
    """Return the id and the reward; the number is 0 if no decision of this policy has the id."""
    inside = f"{place}." if place else ""
    if type(entry) is not dict or not {"decision", "reward"} <= entry.keys() <= _REWARD:
        message = (
            "A reward is a JSON object with the fields decision and reward, and optionally part, correct and cost."
        )
        raise invalid(message, place or None)
    id_ = vectors.name(entry["decision"], f"{inside}decision")
    reward = _number(hosted, entry["reward"], f"{inside}reward")
    part, correct = entry.get("part"), entry.get("correct", False)
    if type(correct) is not bool:
        raise invalid("correct is not a boolean; expected true or false.", f"{inside}correct")
    if (part is not None or correct) and hosted.spec.learn_at == "reward":
        message = (
            "This policy learns a reward as soon as it arrives, so it takes no parts and no corrections; create one "
            "with learn_at 'time_to_live'."
        )
        raise Refusal(409, "learned_at_once", message, place or None)
    policy, epoch, number = read_decision_id(id_) or (0, None, 0)
    part_name = "" if part is None else vectors.name(part, f"{inside}part", 64)
    cost = _cost(hosted, entry, inside)
    return id_, SentReward(number if policy == hosted.id else 0, epoch, reward, id_, part_name, correct, cost)


def _cost(hosted: HostedPolicy, entry: dict[str, Any], inside: str) -> float | None:
    """Return the cost that was paid, which a policy with a budget learns with the reward."""
    if entry.get("cost") is None:
        return None
    _refuse_without_budget(hosted, f"{inside}cost")
    if hosted.spec.learn_at != "reward":
        message = "This policy learns at the end of the time to live, without costs; send costs when you decide."
        raise invalid(message, f"{inside}cost")
    return least_zero(entry["cost"], f"{inside}cost")


def _refuse_above_ceiling(hosted: HostedPolicy, options: Options) -> None:
    """Refuse a request whose known costs are all above the ceiling, before it reaches the writer."""
    ceiling = (hosted.spec.budget or {}).get("ceiling")
    if ceiling is None or options.costs is None:
        return
    allowed = options.allowed(len(options.costs))
    cheapest = float((options.costs if allowed is None else options.costs[allowed]).min())
    if cheapest > ceiling:
        message = f"Every allowed action costs more than the ceiling of {ceiling:g}; the cheapest costs {cheapest:g}."
        raise invalid(message, "costs")


def _refuse_without_budget(hosted: HostedPolicy, field: str) -> None:
    if hosted.spec.budget is None:
        raise invalid("This policy has no budget, so it takes no costs; create a policy with a budget.", field)


def _number(hosted: HostedPolicy, value: Any, field: str) -> float:
    """Return a reward after checking it against the policy's bounds."""
    reward = vectors.number(value, field)
    if hosted.spec.outside(reward):
        low, high = hosted.spec.least_reward, hosted.spec.largest_reward
        message = f"reward is {reward:g}; this policy takes rewards from {low} to {high}."
        raise invalid(message, field, "reward_out_of_bounds")
    return reward


def _status(result: str | Refusal) -> dict[str, Any]:
    return {"status": "refused", **result.body()} if isinstance(result, Refusal) else {"status": result}


def _json_of(content: dict[str, Any]) -> bytes:
    return orjson.dumps(content)
