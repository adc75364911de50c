"""How often each caller may come: a bucket of tokens per key that fills at the permitted rate."""

from __future__ import annotations

import math
from collections import OrderedDict

from eigenbandits.serve.errors import Refusal

# Callers that are remembered; who has not come for longest is forgotten, which only ever errs in a caller's favour.
REMEMBERED = 10_000


class RateLimit:
    """Token buckets with room for one second's worth of requests.

    Parameters
    ----------
    rate
        Requests per second and caller; 0 sets no limit.

    Examples
    --------
    >>> limit = RateLimit(2.0)
    >>> limit.take("a", 0.0), limit.take("a", 0.0)
    (None, None)
    >>> limit.take("a", 0.0)
    Traceback (most recent call last):
        ...
    eigenbandits.serve.errors.Refusal: This key may send 2 requests per second; wait a little.
    >>> limit.take("a", 0.5)
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.room = max(rate, 1.0)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, now: float) -> None:
        """Let one request through or raise `Refusal`; `now` is a monotonic time in seconds."""
        if not self.rate:
            return
        tokens, then = self._buckets.pop(caller, (self.room, now))
        tokens = min(self.room, tokens + (now - then) * self.rate)
        enough = tokens >= 1.0
        self._buckets[caller] = (tokens - enough, now)
        if len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        if not enough:
            message = f"This key may send {self.rate:g} requests per second; wait a little."
            wait = math.ceil((1.0 - tokens) / self.rate)
            raise Refusal(429, "too_many_requests", message, retry_after=wait)
