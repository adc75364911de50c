"""Chat requests: what an answer has cost, and how a streamed answer is passed on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from eigenbandits.router.gateway.upstreams import BROKEN
from eigenbandits.router.models import Model

# A line of a stream that is longer holds no usage that anyone would look for.
LONGEST_LINE = 1_000_000


def cost_of(usage: Any, model: Model) -> float | None:
    """Return the dollars that an answer has cost, by its tokens and the model's price; None if either is unknown.

    Examples
    --------
    >>> cost_of({"prompt_tokens": 100, "completion_tokens": 50}, Model("large", price=(2.0, 8.0)))
    0.0006
    """
    if not isinstance(usage, Mapping) or model.price is None:
        return None
    counts = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    if not all(isinstance(count, int) and count >= 0 for count in counts):
        return None
    assert isinstance(model.price, tuple)
    return float(sum(count * price for count, price in zip(counts, model.price, strict=True)) / 1e6)


async def passed_on(
    first: bytes, parts: AsyncIterator[bytes], done: Callable[[Any], None], broken: Callable[[], None]
) -> AsyncIterator[bytes]:
    """Yield a streamed answer as it comes; `done` gets its usage, or None, and `broken` is called if it breaks off.

    Parameters
    ----------
    first, parts
        The first bytes, and the others.
    done, broken
        What is called at the end.
    """
    usage, rest = None, b""
    ended = False
    try:
        part = first
        while True:
            yield part
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                usage = _usage(line) or usage
            rest = rest[-LONGEST_LINE:]
            part = await anext(parts)
    except StopAsyncIteration:
        ended = True
        done(_usage(rest) or usage)
    except BROKEN as error:
        ended = True
        broken()
        message = {"error": {"message": f"the model's answer broke off: {type(error).__name__}", "type": "upstream"}}
        yield b"\n\ndata: " + json.dumps(message).encode() + b"\n\n"
    finally:
        if not ended:  # the client has gone
            done(usage)


def _usage(line: bytes) -> Any:
    if not line.startswith(b"data:") or b'"usage"' not in line:
        return None
    try:
        return json.loads(line[5:]).get("usage")
    except (ValueError, AttributeError):
        return None
