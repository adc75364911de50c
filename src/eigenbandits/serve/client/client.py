"""`Client`: decisions, rewards and everything else that the service offers, from Python."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import numpy as np
from numpy.typing import ArrayLike

from eigenbandits.files import write_whole
from eigenbandits.serve.client.transport import Transport
from eigenbandits.serve.client.vectors import as_float32, in_base64, matrix_fields
from eigenbandits.serve.served_decision import ServedDecision

Body = dict[str, Any]


class Client:
    """Talks to `eigenbandits serve`, from any number of threads.

    A call that fails for a temporary reason (no connection, too busy, shutting down) is retried until `patience` runs
    out. Nothing is done twice: every decision is requested under an id of its own, and a reward counts once.

    Parameters
    ----------
    url
        Where the service listens.
    key
        The API key; None if the service has none.
    timeout
        Seconds that one attempt may take.
    patience
        Seconds after which no further attempt is made; 0 for a single attempt. By default 30, but 3 while the service
        cannot be reached and has never answered: the address is then probably wrong.

    Raises
    ------
    ServiceError
        Every call; its subclasses say what can be done about it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from eigenbandits.serve import Client, Settings, running
    >>> with TemporaryDirectory() as folder, running(Settings(folder=folder, port=0)) as server:
    ...     with Client(server.url) as client:
    ...         policy = client.create_policy("news", parameters={"noise": 0.5, "seed": 0})
    ...         made = client.decide("news", [[1.0, 0.0], [0.0, 3.0]])
    ...         made.index, client.reward("news", made, 1.0), client.reward("news", made.decision, 1.0)
    (1, 'learned', 'repeated')
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8765",
        *,
        key: str | None = None,
        timeout: float = 10.0,
        patience: float | None = None,
    ) -> None:
        self._transport = Transport(url, key, timeout, patience)

    def __repr__(self) -> str:
        return f"Client({self._transport.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the next call opens a new one."""
        self._transport.close()

    # Policies

    def create_policy(
        self,
        name: str,
        algorithm: str = "EigenUCB",
        parameters: Mapping[str, Any] | None = None,
        *,
        catalogue: str | None = None,
        time_to_live: float | None = None,
        default_reward: float | None = None,
        **more: Any,
    ) -> Body:
        """Create a policy; an identical one that exists already is fine.

        Parameters
        ----------
        name
            Lowercase letters, digits, - and _.
        algorithm
            The name of one of the library's policies; the default needs no parameters.
        parameters
            Its parameters, such as ``{"seed": 0}``.
        catalogue
            The catalogue whose items it chooses from; None if each request brings its actions.
        time_to_live
            Seconds after which a decision no longer waits for its reward.
        default_reward
            The reward of such a decision; None for none.
        **more
            Other fields that the service accepts, such as ``dim=384`` or ``learn_at="time_to_live"``.
        """
        body: Body = {"name": name, "algorithm": algorithm, "parameters": dict(parameters or {})}
        body |= {"catalogue": catalogue, "time_to_live": time_to_live, "default_reward": default_reward}
        return self._ask("POST", "/v1/policies", body | more)

    def clone_policy(self, name: str, of: str, **changes: Any) -> Body:
        """Create a policy that starts from the state and the settings of another one; an identical one is fine.

        Its log is its own: neither learns from the other's rewards. `changes` are fields that are to differ, such as
        ``time_to_live=60.0``; algorithm, parameters and catalogue cannot.
        """
        return self._ask("POST", "/v1/policies", {"name": name, "clone_of": of} | changes)

    def policies(self) -> list[Body]:
        """Return all policies, with their counts of decisions and rewards."""
        return list(self._ask("GET", "/v1/policies")["policies"])

    def policy(self, name: str) -> Body:
        """Return one policy."""
        return self._ask("GET", _policy(name))

    def edit_policy(self, name: str, **changes: float | None) -> Body:
        """Change `time_to_live`, `default_reward`, `least_reward` or `largest_reward`; None removes one.

        The others stay as they are. What is changed holds for decisions that wait for their reward now, too.
        """
        return self._ask("PATCH", _policy(name), changes)

    def delete_policy(self, name: str) -> None:
        """Delete a policy with its log."""
        self._transport.send("DELETE", _policy(name), again=False)

    # Decisions and rewards

    def decide(
        self,
        policy: str,
        actions: ArrayLike | None = None,
        *,
        query: ArrayLike | None = None,
        items: Sequence[str] | None = None,
        allowed: Sequence[int] | Sequence[str] | None = None,
        exclude: Sequence[int] | Sequence[str] | None = None,
        scores: ArrayLike | None = None,
        request: str | None = None,
    ) -> ServedDecision:
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
        request
            Your own id of this request: the same id returns the same decision. By default each call gets a new one, so
            that a lost response does not lead to a second decision.
        """
        name = request or secrets.token_hex(16)
        path = _policy(policy) + "/decide"
        options = _options(allowed, exclude, scores)
        if actions is None or options:
            return ServedDecision.of(self._ask("POST", path, _decide_body(actions, query, items, name) | options))
        _refuse_both(query, items)
        array = as_float32(actions, 2, "actions")
        asked: dict[str, str | int] = {"dim": array.shape[1], "request": name}
        return ServedDecision.of(self._transport.send("POST", path, array.tobytes(), query=asked).json())

    def decide_list(
        self,
        policy: str,
        actions: ArrayLike | None = None,
        *,
        count: int,
        query: ArrayLike | None = None,
        items: Sequence[str] | None = None,
        allowed: Sequence[int] | Sequence[str] | None = None,
        exclude: Sequence[int] | Sequence[str] | None = None,
        scores: ArrayLike | None = None,
        request: str | None = None,
    ) -> list[ServedDecision]:
        """Let the policy choose a list of `count` distinct actions or items, in order; each has a reward of its own.

        The other parameters are those of `decide`.
        """
        name = request or secrets.token_hex(16)
        body = _decide_body(actions, query, items, name) | _options(allowed, exclude, scores) | {"count": int(count)}
        return [ServedDecision.of(one) for one in self._ask("POST", _policy(policy) + "/decide", body)["decisions"]]

    def decide_many(
        self, policy: str, requests: Iterable[Mapping[str, Any]], *, batch: int = 1000
    ) -> list[ServedDecision]:
        """Decide for many requests in few calls, all with the same belief.

        Parameters
        ----------
        policy
            Its name.
        requests
            For each decision the arguments of `decide` by name: ``{"actions": …}``, or ``{"query": …, "items": …}``,
            and optionally ``"request"``.
        batch
            How many go into one call.
        """
        bodies = [
            _decide_body(one.get("actions"), one.get("query"), one.get("items"), one.get("request") or made)
            for one, made in ((one, secrets.token_hex(16)) for one in requests)
        ]
        path = _policy(policy) + "/decide/batch"
        parts = (self._ask("POST", path, {"requests": bodies[i : i + batch]}) for i in range(0, len(bodies), batch))
        return [ServedDecision.of(one) for part in parts for one in part["decisions"]]

    def reward(
        self,
        policy: str,
        decision: str | ServedDecision,
        reward: float,
        *,
        part: str | None = None,
        correct: bool = False,
    ) -> str:
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
        """
        body: Body = {"decision": _id(decision), "reward": float(reward)}
        body |= ({} if part is None else {"part": part}) | ({"correct": True} if correct else {})
        return str(self._ask("POST", _policy(policy) + "/reward", body)["status"])

    def reward_many(
        self, policy: str, rewards: Mapping[str | ServedDecision, float], *, batch: int = 1000
    ) -> list[Body]:
        """Send many rewards by decision, or by its id; return the outcome of each, in order.

        A refused reward does not affect the others: its entry has the status "refused" and an "error".
        """
        pairs = [{"decision": _id(decision), "reward": float(reward)} for decision, reward in rewards.items()]
        path = _policy(policy) + "/reward/batch"
        parts = (self._ask("POST", path, {"rewards": pairs[i : i + batch]}) for i in range(0, len(pairs), batch))
        return [one for part in parts for one in part["results"]]

    # Status

    def diagnostics(self, policy: str) -> Body:
        """Return what the policy knows about itself: rank, spectrum, noise, prior, warnings, a summary."""
        return dict(self._ask("GET", _policy(policy) + "/diagnostics")["diagnostics"])

    def history(self, policy: str, seconds: int = 3600) -> Body:
        """Return decisions and rewards over time."""
        return self._ask("GET", _policy(policy) + "/history", query={"seconds": seconds})

    def lift(self, policy: str) -> Body:
        """Return how much more a policy with a holdout earns than its baseline, with an interval valid at all times."""
        return self._ask("GET", _policy(policy) + "/lift")

    def status(self) -> Body:
        """Return the status of the service: readiness, uptime, latency."""
        return self._ask("GET", "/v1/status")

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
    ) -> None:
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
        asked: dict[str, str | int] = {"columns": columns, "after": after}
        bounds = {"through": through, "since": since, "until": until}
        asked |= {name: str(value) for name, value in bounds.items() if value is not None}
        answer = self._transport.send("GET", _policy(policy) + "/export", query=asked, accept="*/*")
        write_whole(path, answer.body)

    # Catalogues

    def create_catalogue(
        self, name: str, ids: Sequence[str], vectors: ArrayLike, *, center: str = "both", mean: ArrayLike | None = None
    ) -> Body:
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
        return self._ask("PUT", _catalogue(name), body)

    def catalogues(self) -> list[Body]:
        """Return all catalogues."""
        return list(self._ask("GET", "/v1/catalogues")["catalogues"])

    def items(self, catalogue: str) -> list[str]:
        """Return the ids of a catalogue's items."""
        found: list[str] = []
        while True:
            asked: dict[str, str | int] = {"limit": 1000} | ({"after": found[-1]} if found else {})
            page = self._ask("GET", _catalogue(catalogue) + "/items", query=asked)["ids"]
            found += page
            if len(page) < 1000:
                return found

    def add_items(self, catalogue: str, ids: Sequence[str], vectors: ArrayLike) -> Body:
        """Add items to a catalogue, or replace those with the same ids."""
        body = {"ids": list(ids), **matrix_fields(vectors, "vectors")}
        return self._ask("POST", _catalogue(catalogue) + "/items", body)

    def remove_items(self, catalogue: str, ids: Sequence[str]) -> Body:
        """Remove items from a catalogue; their decisions can still be rewarded."""
        return self._ask("POST", _catalogue(catalogue) + "/items/delete", {"ids": list(ids)})

    def delete_catalogue(self, name: str) -> None:
        """Delete a catalogue that no policy uses."""
        self._transport.send("DELETE", _catalogue(name), again=False)

    # Keys

    def create_key(self, name: str, scopes: Sequence[str], *, policies: Sequence[str] | None = None) -> Body:
        """Create a key with scopes out of "decide", "reward" and "admin", for some policies or all; shown this once."""
        body = {"name": name, "scopes": list(scopes), "policies": None if policies is None else list(policies)}
        return dict(self._transport.send("POST", "/v1/keys", body, again=False).json())

    def keys(self) -> list[Body]:
        """Return all keys, without their secrets."""
        return list(self._ask("GET", "/v1/keys")["keys"])

    def revoke_key(self, id: str) -> None:
        """Revoke a key."""
        self._transport.send("DELETE", f"/v1/keys/{quote(id, safe='')}")

    def _ask(self, method: str, path: str, body: Any = None, *, query: Mapping[str, str | int] | None = None) -> Body:
        return dict(self._transport.send(method, path, body, query=query).json())


def _policy(name: str) -> str:
    return f"/v1/policies/{quote(name, safe='')}"


def _catalogue(name: str) -> str:
    return f"/v1/catalogues/{quote(name, safe='')}"


def _id(decision: str | ServedDecision) -> str:
    found = decision.decision if isinstance(decision, ServedDecision) else decision
    if not isinstance(found, str):
        raise ValueError(f"decision is {found!r}; expected what decide() returned, or its id.")
    return found


def _refuse_both(query: ArrayLike | None, items: Sequence[str] | None) -> None:
    if query is not None or items is not None:
        raise ValueError("both actions and query or items were given; give one or the other.")


def _decide_body(actions: ArrayLike | None, query: ArrayLike | None, items: Sequence[str] | None, request: str) -> Body:
    body: Body = {"request": request}
    if actions is not None:
        _refuse_both(query, items)
        return body | matrix_fields(actions, "actions")
    if query is not None:
        body["query"] = in_base64(as_float32(query, 1, "query"))
    if items is not None:
        if isinstance(items, str):
            raise ValueError(f"items is {items!r}; expected a list of ids, such as [{items!r}].")
        body["items"] = list(items)
    return body


def _options(
    allowed: Sequence[int] | Sequence[str] | None,
    exclude: Sequence[int] | Sequence[str] | None,
    scores: ArrayLike | None,
) -> Body:
    body: Body = {} if allowed is None else {"allowed": np.asarray(allowed).tolist()}
    if exclude is not None:
        body["exclude"] = np.asarray(exclude).tolist()
    if scores is not None:
        body["scores"] = np.asarray(scores, dtype=np.float64).tolist()
    return body
