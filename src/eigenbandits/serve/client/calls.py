"""`Calls`: everything that the service offers, as plans that `Client` and `AsyncClient` carry out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from os import PathLike
from typing import Any, Unpack
from urllib.parse import quote

from numpy.typing import ArrayLike

from eigenbandits.files import write_whole
from eigenbandits.serve.client.bodies import (
    Offer,
    catalogue_path,
    cost_field,
    decide_body,
    decision_id,
    import_body,
    policy_path,
)
from eigenbandits.serve.client.exchange import Request
from eigenbandits.serve.client.plans import Body, Call, Plan, ask, send
from eigenbandits.serve.client.vectors import as_float32, in_base64, matrix_fields
from eigenbandits.serve.served_decision import ServedDecision

# Entries in one call, of which a service takes 1,000 unless it is set otherwise.
_LARGEST_BATCH = 500


class Calls:
    """The calls, whose results `Client` returns and `AsyncClient` returns to whoever awaits them."""

    # Policies

    @Call
    def create_policy(
        self,
        /,
        name: str,
        algorithm: str = "EigenUCB",
        parameters: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> Plan[Body]:
        """Create a policy; an identical one that exists already is fine.

        Parameters
        ----------
        name
            Lowercase letters, digits, - and _.
        algorithm
            The name of one of the library's policies; the default needs no parameters.
        parameters
            Its parameters, such as ``{"seed": 0}``.
        **settings
            The other settings of a policy, such as ``catalogue="tags"``, ``dim=384``, ``time_to_live=3600.0`` or
            ``default_reward=0.0``; the service's reference lists them.
        """
        body = {"name": name, "algorithm": algorithm, "parameters": dict(parameters or {})}
        return (yield from ask("POST", "/v1/policies", body | settings))

    @Call
    def clone_policy(self, /, name: str, of: str, **changes: Any) -> Plan[Body]:
        """Create a policy that starts from the state and the settings of another one; an identical one is fine.

        Its log is its own: neither learns from the other's rewards. `changes` are fields that are to differ, such as
        ``time_to_live=60.0``; algorithm, parameters and catalogue cannot.
        """
        return (yield from ask("POST", "/v1/policies", {"name": name, "clone_of": of} | changes))

    @Call
    def policies(self) -> Plan[list[Body]]:
        """Return all policies, with their counts of decisions and rewards."""
        return list((yield from ask("GET", "/v1/policies"))["policies"])

    @Call
    def policy(self, name: str) -> Plan[Body]:
        """Return one policy."""
        return (yield from ask("GET", policy_path(name)))

    @Call
    def edit_policy(self, /, name: str, **changes: float | None) -> Plan[Body]:
        """Change `time_to_live`, `default_reward`, `least_reward` or `largest_reward`; None removes one.

        The others stay as they are. What is changed holds for decisions that wait for their reward now, too.
        """
        return (yield from ask("PATCH", policy_path(name), changes))

    @Call
    def delete_policy(self, name: str) -> Plan[None]:
        """Delete a policy with its log."""
        yield Request("DELETE", policy_path(name), again=False)

    # Decisions and rewards

    @Call
    def decide(self, policy: str, actions: ArrayLike | None = None, **offer: Unpack[Offer]) -> Plan[ServedDecision]:
        """Let the policy choose one of some actions, or one item of its catalogue.

        Parameters
        ----------
        policy
            Its name.
        actions
            (K, d) vectors, for a policy without a catalogue.
        query
            (d,) vector, for a policy with one; None offers the items as they are.
        items
            The ids to choose from; None for all items.
        allowed, exclude
            The only ones that may be chosen, and those that may not: rows of `actions`, or ids of items. All of them
            still show the policy where the actions lie.
        scores
            What a ranker that is there already says of each action, or of each of `items`; from the first decision on,
            or never.
        costs
            What each action, or each of `items`, costs, None where that is not known; for a policy with a budget.
        request
            Your own id of this request: the same id returns the same decision. By default each call gets a new one, so
            that a lost response does not lead to a second decision.
        """
        path = policy_path(policy) + "/decide"
        body = decide_body(actions, offer)
        if body.keys() == {"actions", "dim", "request"}:
            # The vectors as they are, without the detour over text.
            content = as_float32(actions, 2, "actions").tobytes()  # type: ignore[arg-type]
            asked = {"dim": body["dim"], "request": body["request"]}
            return ServedDecision.of((yield from send(Request("POST", path, content, asked))))
        return ServedDecision.of((yield from ask("POST", path, body)))

    @Call
    def decide_list(
        self, policy: str, actions: ArrayLike | None = None, *, count: int, **offer: Unpack[Offer]
    ) -> Plan[list[ServedDecision]]:
        """Let the policy choose a list of `count` distinct actions or items, in order; each has a reward of its own.

        The other parameters are those of `decide`.
        """
        body = decide_body(actions, offer) | {"count": int(count)}
        made = yield from ask("POST", policy_path(policy) + "/decide", body)
        return [ServedDecision.of(one) for one in made["decisions"]]

    @Call
    def decide_many(
        self, policy: str, requests: Iterable[Mapping[str, Any]], *, batch: int = 1000
    ) -> Plan[list[ServedDecision]]:
        """Decide for many requests in few calls, all with the same belief.

        Parameters
        ----------
        policy
            Its name.
        requests
            For each decision the arguments of `decide` by name: ``{"actions": …}``, or ``{"query": …, "items": …}``,
            and optionally ``"request"`` and the others.
        batch
            How many go into one call.
        """
        bodies = [decide_body(one.get("actions"), {**one, "actions": None}) for one in requests]
        found: list[ServedDecision] = []
        for i in range(0, len(bodies), batch):
            part = yield from ask("POST", policy_path(policy) + "/decide/batch", {"requests": bodies[i : i + batch]})
            found += map(ServedDecision.of, part["decisions"])
        return found

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
        """Send the reward of a decision; return "learned", or "repeated" if the service had it already.

        A policy that learns at the end of the time to live returns "recorded", or "corrected".

        Parameters
        ----------
        policy
            Its name.
        decision
            What `decide` returned, or its id.
        reward
            A finite number.
        part
            Where a policy learns at the end of the time to live: the name of a part of the reward, such as "purchase".
            What is learned is the sum of the parts.
        correct
            There, replace what was sent before.
        cost
            What was paid, for a policy with a budget.
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
        """Send many rewards by decision, or by its id; return the outcome of each, in order.

        A refused reward does not affect the others: its entry has the status "refused" and an "error". `costs` are
        those that are known, in the same way.
        """
        paid = costs or {}
        pairs = [
            {"decision": decision_id(one), "reward": float(reward)} | cost_field(paid.get(one))
            for one, reward in rewards.items()
        ]
        found: list[Body] = []
        for i in range(0, len(pairs), batch):
            part = yield from ask("POST", policy_path(policy) + "/reward/batch", {"rewards": pairs[i : i + batch]})
            found += part["results"]
        return found

    @Call
    def import_decisions(
        self, policy: str, decisions: Iterable[Mapping[str, Any]], *, batch_bytes: int = 2**21
    ) -> Plan[dict[str, int]]:
        """Let the policy learn from decisions that another system has made; return how many had each status.

        Each counts once, so that an import that was cut off may be repeated from its beginning.

        Parameters
        ----------
        policy
            Its name.
        decisions
            In their order, each with the arguments of `decide` by name and with ``"index"``, the row that was chosen,
            or ``"item"``; with ``"reward"``, unless that is sent later, ``"propensity"`` and ``"cost"``, if they are
            known, and an id ``"request"``. `log_entries` makes them from a log.
        batch_bytes
            About how much goes into one call.
        """
        counts: Counter[str] = Counter()
        part: list[Body] = []
        size = 0
        for one in chain(decisions, [None]):
            if part and (one is None or size > batch_bytes or len(part) == _LARGEST_BATCH):
                found = yield from ask("POST", policy_path(policy) + "/import", {"decisions": part})
                counts.update(entry["status"] for entry in found["results"])
                part, size = [], 0
            if one is not None:
                part.append(import_body(one))
                size += sum(len(value) for value in part[-1].values() if isinstance(value, str | list))
        return dict(counts)

    # Status

    @Call
    def diagnostics(self, policy: str) -> Plan[Body]:
        """Return what the policy knows about itself: rank, spectrum, noise, prior, warnings, a summary."""
        return dict((yield from ask("GET", policy_path(policy) + "/diagnostics"))["diagnostics"])

    @Call
    def history(self, policy: str, seconds: int = 3600) -> Plan[Body]:
        """Return decisions and rewards over time."""
        return (yield from ask("GET", policy_path(policy) + "/history", query={"seconds": seconds}))

    @Call
    def lift(self, policy: str) -> Plan[Body]:
        """Return how much more a policy with a holdout earns than its baseline, with an interval valid at all times."""
        return (yield from ask("GET", policy_path(policy) + "/lift"))

    @Call
    def status(self) -> Plan[Body]:
        """Return the status of the service: readiness, uptime, latency."""
        return (yield from ask("GET", "/v1/status"))

    @Call
    def export(
        self,
        policy: str,
        path: str | PathLike[str],
        *,
        columns: str = "log",
        after: int = 0,
        through: int | None = None,
        since: float | None = None,
        until: float | None = None,
    ) -> Plan[None]:
        """Write the policy's log to a Parquet file.

        Parameters
        ----------
        policy
            Its name.
        path
            The file.
        columns
            "log" for off-policy evaluation, "all" for every column, "compact" for queries and ids of items instead of
            vectors.
        after, through
            Only decisions whose round is above the first and up to the second.
        since, until
            Only decisions that were made from the first time on and before the second, in seconds since 1970.
        """
        bounds = {"through": through, "since": since, "until": until}
        asked: dict[str, str | int] = {"columns": columns, "after": after}
        asked |= {name: str(value) for name, value in bounds.items() if value is not None}
        answer = yield Request("GET", policy_path(policy) + "/export", query=asked, accept="*/*")
        write_whole(path, answer.body)

    # Catalogues

    @Call
    def create_catalogue(
        self, name: str, ids: Sequence[str], vectors: ArrayLike, *, center: str = "both", mean: ArrayLike | None = None
    ) -> Plan[Body]:
        """Upload a catalogue; an identical one that exists already is fine.

        Parameters
        ----------
        name
            Lowercase letters, digits, - and _.
        ids
            n names, one for each item.
        vectors
            (n, d), one row for each item.
        center
            What the mean is subtracted from before a query and an item are multiplied: "both", "items" or "none".
        mean
            (d,) to subtract; None for the mean of these items.
        """
        body = {"ids": list(ids), **matrix_fields(vectors, "vectors"), "center": center}
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
        found: list[str] = []
        while True:
            asked: dict[str, str | int] = {"limit": 1000} | ({"after": found[-1]} if found else {})
            page = (yield from ask("GET", catalogue_path(catalogue) + "/items", query=asked))["ids"]
            found += page
            if len(page) < 1000:
                return found

    @Call
    def add_items(self, catalogue: str, ids: Sequence[str], vectors: ArrayLike) -> Plan[Body]:
        """Add items to a catalogue, or replace those with the same ids."""
        body = {"ids": list(ids), **matrix_fields(vectors, "vectors")}
        return (yield from ask("POST", catalogue_path(catalogue) + "/items", body))

    @Call
    def remove_items(self, catalogue: str, ids: Sequence[str]) -> Plan[Body]:
        """Remove items from a catalogue; their decisions can still be rewarded."""
        return (yield from ask("POST", catalogue_path(catalogue) + "/items/delete", {"ids": list(ids)}))

    @Call
    def delete_catalogue(self, name: str) -> Plan[None]:
        """Delete a catalogue that no policy uses."""
        yield Request("DELETE", catalogue_path(name), again=False)

    # Keys

    @Call
    def create_key(self, name: str, scopes: Sequence[str], *, policies: Sequence[str] | None = None) -> Plan[Body]:
        """Create a key with scopes out of "decide", "reward" and "admin", for some policies or all; shown this once."""
        body = {"name": name, "scopes": list(scopes), "policies": None if policies is None else list(policies)}
        return (yield from send(Request("POST", "/v1/keys", body, again=False)))

    @Call
    def keys(self) -> Plan[list[Body]]:
        """Return all keys, without their secrets."""
        return list((yield from ask("GET", "/v1/keys"))["keys"])

    @Call
    def revoke_key(self, id: str) -> Plan[None]:
        """Revoke a key."""
        yield Request("DELETE", f"/v1/keys/{quote(id, safe='')}")
