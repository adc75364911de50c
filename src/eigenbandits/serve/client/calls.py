"""`Calls`: everything that the service offers, as plans that `Client` and `AsyncClient` carry out."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack
from urllib.parse import quote

from numpy.typing import ArrayLike

from eigenbandits.serve.client.bodies import (
    Offer,
    as_float32,
    catalogue_path,
    cost_field,
    decide_body,
    decision_id,
    in_base64,
    matrix_fields,
    names,
    policy_path,
    request_id,
)
from eigenbandits.serve.client.exchange import Request
from eigenbandits.serve.client.plans import Body, Call, Plan, ask, send
from eigenbandits.serve.client.policy_calls import PolicyCalls
from eigenbandits.serve.served_decision import ServedDecision


class Calls(PolicyCalls):
    """The calls; `Client` returns their results, `AsyncClient` returns awaitables."""

    # Decisions and rewards

    @Call
    def decide(self, policy: str, actions: ArrayLike | None = None, **offer: Unpack[Offer]) -> Plan[ServedDecision]:
        """Let the policy choose one of several actions, or one item of its catalogue.

        Parameters
        ----------
        policy
            The policy's name.
        actions
            (K, d) vectors, for a policy without a catalogue.

        Other Parameters
        ----------------
        query : ArrayLike
            (d,) vector, for a policy with a catalogue; without it the items are offered as they are.
        items : Sequence[str]
            The ids to choose from; by default all items.
        allowed, exclude : Sequence[int] | Sequence[str]
            The only ones that may be chosen, and those that may not: rows of `actions`, or ids of items. All of them
            still show the policy where the actions lie.
        scores : ArrayLike
            An existing ranker's score of each action, or of each of `items`; pass scores from the first decision on, or
            never.
        costs : Sequence[float | None]
            What each action, or each of `items`, costs, None where that is not known; for a policy with a budget.
        request : str
            Your own id of this request: the same id returns the same decision. By default each call gets a new one, so
            that a lost response does not lead to a second decision.
        """
        path = policy_path(policy) + "/decide"
        if actions is None or {name for name, value in offer.items() if value is not None} - {"request"}:
            return ServedDecision.of((yield from ask("POST", path, decide_body(actions, offer))))
        # The vectors as raw bytes, without a detour through text.
        array = as_float32(actions, 2, "actions")
        query = {"dim": array.shape[1], "request": request_id(offer.get("request"))}
        return ServedDecision.of((yield from send(Request("POST", path, array.tobytes(), query))))

    @Call
    def decide_list(
        self, policy: str, actions: ArrayLike | None = None, *, count: int, **offer: Unpack[Offer]
    ) -> Plan[list[ServedDecision]]:
        """Let the policy choose a list of `count` distinct actions or items, in order; each has its own reward.

        The other parameters are those of `decide`.
        """
        body = decide_body(actions, offer) | {"count": int(count)}
        response = yield from ask("POST", policy_path(policy) + "/decide", body)
        return [ServedDecision.of(one) for one in response["decisions"]]

    @Call
    def decide_many(
        self, policy: str, requests: Iterable[Mapping[str, Any]], *, batch: int = 1000
    ) -> Plan[list[ServedDecision]]:
        """Decide for many requests in few calls, all with the same belief.

        Parameters
        ----------
        policy
            The policy's name.
        requests
            For each decision, the arguments of `decide` by name: ``{"actions": …}``, or ``{"query": …, "items": …}``,
            and optionally ``"request"`` and the others.
        batch
            The number of requests per call.
        """
        bodies = [decide_body(one.get("actions"), {**one, "actions": None}) for one in requests]
        decisions: list[ServedDecision] = []
        for i in range(0, len(bodies), batch):
            part = yield from ask("POST", policy_path(policy) + "/decide/batch", {"requests": bodies[i : i + batch]})
            decisions += map(ServedDecision.of, part["decisions"])
        return decisions

    @Call
    def reward(
        self,
        policy: str,
        decision: str | ServedDecision,
        reward: float,
        *,
        part: str | None = None,
        correct: bool = False,
        cost: float | None = None,
    ) -> Plan[str]:
        """Send the reward of a decision; return "learned", or "repeated" if the service already had it.

        If the policy learns at the end of the time to live, return "recorded" or "corrected".

        Parameters
        ----------
        policy
            The policy's name.
        decision
            The result of `decide`, or its id.
        reward
            A finite number.
        part
            If the policy learns at the end of the time to live: the name of a part of the reward, such as "purchase".
            The sum of the parts is learned.
        correct
            If the policy learns at the end of the time to live: replace what was sent before.
        cost
            The cost that was paid, for a policy with a budget.
        """
        body: Body = {"decision": decision_id(decision), "reward": float(reward)} | cost_field(cost)
        body |= ({} if part is None else {"part": part}) | ({"correct": True} if correct else {})
        return str((yield from ask("POST", policy_path(policy) + "/reward", body))["status"])

    @Call
    def reward_many(
        self,
        policy: str,
        rewards: Mapping[str | ServedDecision, float],
        *,
        costs: Mapping[str | ServedDecision, float] | None = None,
        batch: int = 1000,
    ) -> Plan[list[Body]]:
        """Send many rewards, by decision or decision id; return the outcome of each, in order.

        A refused reward does not affect the others: its entry has the status "refused" and an "error". `costs` are
        the known costs, also by decision or decision id.
        """
        paid = costs or {}
        pairs = [
            {"decision": decision_id(one), "reward": float(reward)} | cost_field(paid.get(one))
            for one, reward in rewards.items()
        ]
        results: list[Body] = []
        for i in range(0, len(pairs), batch):
            part = yield from ask("POST", policy_path(policy) + "/reward/batch", {"rewards": pairs[i : i + batch]})
            results += part["results"]
        return results

    # Catalogues

    @Call
    def create_catalogue(
        self, name: str, ids: Sequence[str], vectors: ArrayLike, *, center: str = "both", mean: ArrayLike | None = None
    ) -> Plan[Body]:
        """Upload a catalogue; an identical one that already exists is fine.

        Parameters
        ----------
        name
            Lowercase letters, digits, - and _.
        ids
            n names, one per item.
        vectors
            (n, d), one row per item.
        center
            What the mean is subtracted from before a query and an item are multiplied: "both", "items" or "none".
        mean
            (d,) vector to subtract; None for the mean of these items.
        """
        body = {"ids": names(ids, "ids"), **matrix_fields(vectors, "vectors"), "center": center}
        if mean is not None:
            body["mean"] = in_base64(as_float32(mean, 1, "mean"))
        return (yield from ask("PUT", catalogue_path(name), body))

    @Call
    def catalogues(self) -> Plan[list[Body]]:
        """Return all catalogues."""
        return list((yield from ask("GET", "/v1/catalogues"))["catalogues"])

    @Call
    def items(self, catalogue: str) -> Plan[list[str]]:
        """Return the ids of a catalogue's items."""
        ids: list[str] = []
        while True:
            query: dict[str, str | int] = {"limit": 1000} | ({"after": ids[-1]} if ids else {})
            page = (yield from ask("GET", catalogue_path(catalogue) + "/items", query=query))["ids"]
            ids += page
            if len(page) < 1000:
                return ids

    @Call
    def add_items(self, catalogue: str, ids: Sequence[str], vectors: ArrayLike) -> Plan[Body]:
        """Add items to a catalogue, or replace those with the same ids."""
        body = {"ids": names(ids, "ids"), **matrix_fields(vectors, "vectors")}
        return (yield from ask("POST", catalogue_path(catalogue) + "/items", body))

    @Call
    def remove_items(self, catalogue: str, ids: Sequence[str]) -> Plan[Body]:
        """Remove items from a catalogue; their decisions can still be rewarded."""
        return (yield from ask("POST", catalogue_path(catalogue) + "/items/delete", {"ids": names(ids, "ids")}))

    @Call
    def delete_catalogue(self, name: str) -> Plan[None]:
        """Delete a catalogue that no policy uses."""
        yield Request("DELETE", catalogue_path(name), again=False)

    # Keys

    @Call
    def create_key(self, name: str, scopes: Sequence[str], *, policies: Sequence[str] | None = None) -> Plan[Body]:
        """Create a key with scopes out of "decide", "reward" and "admin", for some policies or all; shown this once."""
        body = {
            "name": name,
            "scopes": names(scopes, "scopes"),
            "policies": None if policies is None else names(policies, "policies"),
        }
        return (yield from send(Request("POST", "/v1/keys", body, again=False)))

    @Call
    def keys(self) -> Plan[list[Body]]:
        """Return all keys, without their secrets."""
        return list((yield from ask("GET", "/v1/keys"))["keys"])

    @Call
    def revoke_key(self, id: str) -> Plan[None]:
        """Revoke a key."""
        yield Request("DELETE", f"/v1/keys/{quote(id, safe='')}")

    # The service

    @Call
    def status(self) -> Plan[Body]:
        """Return the status of the service: readiness, uptime, latency."""
        return (yield from ask("GET", "/v1/status"))
