"""`PolicyCalls`: the calls that manage whole policies."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from eigenbandits.files import open_whole
from eigenbandits.policy import Policy, files
from eigenbandits.serve.client.bodies import as_float32, import_body, in_base64, in_text, policy_path
from eigenbandits.serve.client.exchange import Request
from eigenbandits.serve.client.plans import Body, Call, Plan, ask

# Entries per call; by default, a service accepts 1,000.
_LARGEST_BATCH = 500


class PolicyCalls:
    """The calls that create, change, inspect and transfer policies."""

    @Call
    def create_policy(
        self,
        /,
        name: str,
        algorithm: str = "EigenUCB",
        parameters: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> Plan[Body]:
        """Create a policy; an identical one that already exists is fine.

        Parameters
        ----------
        name
            Lowercase letters, digits, - and _.
        algorithm
            The name of one of the library's policies; the default needs no parameters.
        parameters
            The algorithm's parameters, such as ``{"seed": 0}``.
        **settings
            The policy's other settings, such as ``catalogue="tags"``, ``dim=384``, ``time_to_live=3600.0`` or
            ``default_reward=0.0``; see the service's reference for a list.
        """
        body = {"name": name, "algorithm": algorithm, "parameters": dict(parameters or {})}
        return (yield from ask("POST", "/v1/policies", body | settings))

    @Call
    def clone_policy(self, /, name: str, of: str, **changes: Any) -> Plan[Body]:
        """Create a policy that starts from another policy's state and settings; an identical one is fine.

        It has its own log: neither policy learns from the other's rewards. `changes` are the fields that should differ,
        such as ``time_to_live=60.0``; algorithm, parameters and catalogue cannot.
        """
        return (yield from ask("POST", "/v1/policies", {"name": name, "clone_of": of} | changes))

    @Call
    def translate_policy(
        self,
        name: str,
        of: str,
        *,
        catalogue: str | None = None,
        old_queries: ArrayLike | None = None,
        new_queries: ArrayLike | None = None,
        old_actions: ArrayLike | None = None,
        new_actions: ArrayLike | None = None,
    ) -> Plan[Body]:
        """Create a policy for another encoder's vectors that starts with what another policy has learned.

        The other policy continues unchanged, with its own vectors. Returns the policy, and how well the translation
        went.

        Parameters
        ----------
        name, of
            The names of the new policy and of the other one.
        catalogue
            The catalogue with the new vectors under the same ids, if the other policy has a catalogue.
        old_queries, new_queries
            (n, d) and (n, d′): sample queries as embedded by both encoders, if decisions have queries.
        old_actions, new_actions
            The same for actions, if the policy has no catalogue.
        """
        body: Body = {"name": name, "catalogue": catalogue}
        given = {"old_queries": old_queries, "new_queries": new_queries}
        for field, array in (given | {"old_actions": old_actions, "new_actions": new_actions}).items():
            if array is not None:
                body[field] = in_base64(as_float32(array, 2, field))
        if new_actions is not None:
            body["new_dim"] = as_float32(new_actions, 2, "new_actions").shape[1]
        return (yield from ask("POST", policy_path(of) + "/translate", body))

    @Call
    def merge_policy(
        self, name: str, replicas: Iterable[Policy], *, base: Policy | None = None, request: str
    ) -> Plan[str]:
        """Add what replicas of a policy have learned; return "merged", or "repeated" if that was already done.

        Parameters
        ----------
        name
            The policy's name.
        replicas
            The replicas' states in other services: the results of `snapshot` there.
        base
            The state that all of them started from, including this policy; what it knows is counted once.
        request
            Your own id of this merge, which is done only once.
        """
        body: Body = {"replicas": [in_text(files.to_bytes(one)) for one in replicas], "request": request}
        if base is not None:
            body["base"] = in_text(files.to_bytes(base))
        return str((yield from ask("POST", policy_path(name) + "/merge", body))["status"])

    @Call
    def snapshot(self, policy: str) -> Plan[Policy]:
        """Return a copy of the policy in its current state; using it does not affect the service."""
        answer = yield Request("GET", policy_path(policy) + "/snapshot", accept="*/*")
        return files.from_bytes(answer.body)

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
        """Change `time_to_live`, `default_reward`, `least_reward` or `largest_reward`; None removes a setting.

        Settings that are not passed stay as they are. Changes also apply to pending decisions.
        """
        return (yield from ask("PATCH", policy_path(name), changes))

    @Call
    def delete_policy(self, name: str) -> Plan[None]:
        """Delete a policy with its log."""
        yield Request("DELETE", policy_path(name), again=False)

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
    def import_decisions(
        self, policy: str, decisions: Iterable[Mapping[str, Any]], *, batch_bytes: int = 2**21
    ) -> Plan[dict[str, int]]:
        """Let the policy learn from decisions made by another system; return how many had each status.

        Each decision counts once, so an interrupted import may be repeated from the start.

        Parameters
        ----------
        policy
            The policy's name.
        decisions
            The decisions in order, each with the arguments of `decide` by name and with ``"index"``, the chosen row, or
            ``"item"``; with ``"reward"``, unless it is sent later; with ``"propensity"`` and ``"cost"``, if known; and
            with an id ``"request"``. `log_entries` makes them from a log.
        batch_bytes
            The approximate size of a call.
        """
        counts: Counter[str] = Counter()
        part: list[Body] = []
        size = 0
        for one in chain(decisions, [None]):
            if part and (one is None or size > batch_bytes or len(part) == _LARGEST_BATCH):
                response = yield from ask("POST", policy_path(policy) + "/import", {"decisions": part})
                counts.update(entry["status"] for entry in response["results"])
                part, size = [], 0
            if one is not None:
                part.append(import_body(one))
                size += sum(len(value) for value in part[-1].values() if isinstance(value, str | list))
        return dict(counts)

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
            The policy's name.
        path
            The path of the file.
        columns
            "log" for off-policy evaluation, "all" for every column, "compact" for queries and item ids instead of
            vectors.
        after, through
            Only decisions whose round is above the first and at most the second.
        since, until
            Only decisions made at or after the first time and before the second, in seconds since 1970.
        """
        span = {"through": through, "since": since, "until": until}
        query: dict[str, str | int] = {"columns": columns, "after": after}
        query |= {name: str(value) for name, value in span.items() if value is not None}
        with open_whole(path) as file:
            yield Request("GET", policy_path(policy) + "/export", query=query, accept="*/*", into=file)
