"""Checks made before the body of a request is read: its origin, its key, and how often the key sends requests."""

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from eigenbandits.serve.errors import Refusal
from eigenbandits.serve.http.endpoint import ANY_KEY
from eigenbandits.serve.keys import KeyRing

# The number of keys whose buckets are kept; dropping the least recently used one only favors its caller.
KEPT = 10_000

# Raises a `Refusal` if the check fails.
Check = Callable[[Scope], None]


class Checks:
    """Makes several checks in a single layer: a layer for each would cost more than the checks themselves."""

    def __init__(self, app: ASGIApp, checks: Sequence[Check]) -> None:
        self._app = app
        self._checks = tuple(checks)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        for check in self._checks:
            check(scope)
        await self._app(scope, receive, send)


class LocalOrigin:
    """While there is no key, refuses requests that another site's page sends through a browser on this machine."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    def __call__(self, scope: Scope) -> None:
        """Check one request."""
        if self._keys.open:
            for name, value in scope["headers"]:
                # When another site's page embeds an address, such as an image, a browser sends no origin, but it sends
                # sec-fetch-site. Links to the service's own page are allowed.
                embedded = name == b"sec-fetch-site" and value in (b"cross-site", b"same-site") and scope["path"] != "/"
                if embedded or (name in (b"host", b"origin") and not _is_local(value)):
                    message = "Without keys, this service answers only this machine under a local name; create a key."
                    raise Refusal(403, "not_from_here", message)


@lru_cache(maxsize=256)
def _is_local(header: bytes) -> bool:
    value = header.decode("latin-1")
    try:
        host = urlsplit(value if "//" in value else f"//{value}").hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Authorization:
    """Admits requests whose key allows a scope and the policy in the path; puts the caller in `scope["caller"]`."""

    def __init__(self, keys: KeyRing, scope: str) -> None:
        self._keys = keys
        self._scope = None if scope == ANY_KEY else scope

    def __call__(self, scope: Scope) -> None:
        """Check one request."""
        header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        # There is no policy in the path of the list of policies, catalogues, keys, the status and the metrics.
        policy = scope.get("path_params", {}).get("name") if scope["path"].startswith("/v1/policies/") else None
        scope["caller"] = self._keys.check(header.decode("latin-1"), self._scope, policy)


class TokenBuckets:
    """A token bucket for each key, filled at the permitted rate, with room for one second's worth of requests.

    Parameters
    ----------
    rate
        Requests per second and key.

    Examples
    --------
    >>> buckets = TokenBuckets(2.0)
    >>> buckets.take("a", 0.0), buckets.take("a", 0.0)
    (None, None)
    >>> buckets.take("a", 0.0)
    Traceback (most recent call last):
        ...
    eigenbandits.serve.errors.Refusal: This key may send 2 requests per second; slow down.
    >>> buckets.take("a", 0.5)
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.room = max(rate, 1.0)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, now: float) -> None:
        """Take a token or raise `Refusal`; `now` is a monotonic time in seconds."""
        tokens, then = self._buckets.pop(key, (self.room, now))
        tokens = min(self.room, tokens + (now - then) * self.rate)
        enough = tokens >= 1.0
        self._buckets[key] = (tokens - enough, now)
        if len(self._buckets) > KEPT:
            self._buckets.popitem(last=False)
        if not enough:
            message = f"This key may send {self.rate:g} requests per second; slow down."
            wait = math.ceil((1.0 - tokens) / self.rate)
            raise Refusal(429, "too_many_requests", message, retry_after=wait)


class RateLimit:
    """Refuses requests of a key, taken from `scope["caller"]`, that come faster than permitted."""

    def __init__(self, buckets: TokenBuckets) -> None:
        self._buckets = buckets

    def __call__(self, scope: Scope) -> None:
        """Check one request."""
        self._buckets.take(scope["caller"].key, time.monotonic())
