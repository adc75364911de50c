"""A limit on how often each key may send requests."""

from __future__ import annotations

import math
import time
from collections import OrderedDict

from starlette.types import Scope

from eigenbandits.serve.errors import Refusal

# The number of keys whose buckets are kept; dropping the least recently used one only favors its caller.
KEPT = 10_000


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
