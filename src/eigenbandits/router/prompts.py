"""The text of a chat request that it is routed by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def prompt_of(body: Mapping[str, Any]) -> str:
    """Return the text that a request is routed by: the last message of the user.

    Examples
    --------
    >>> prompt_of({"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]})
    'Why?'
    """
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(one, dict) for one in messages):
        raise ValueError("messages is missing or empty; expected a list of messages with a role and a content.")
    asked = [message for message in messages if message.get("role") == "user"] or messages
    content = asked[-1].get("content")
    if isinstance(content, list):
        content = "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)
    return content if isinstance(content, str) else ""
