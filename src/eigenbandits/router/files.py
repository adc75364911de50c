"""Routers on disk: plain arrays and a JSON header, no pickle, written whole or not at all."""

from __future__ import annotations

import io
import json
from collections import OrderedDict
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from eigenbandits import files
from eigenbandits.algorithms import EigenUCB
from eigenbandits.budgeted import Budgeted
from eigenbandits.router.encoders import Encoder
from eigenbandits.router.models import Model
from eigenbandits.router.router import Router, _Open

FORMAT, VERSION = "eigenbandits-router", 1


def save(router: Router, path: str | PathLike[str]) -> None:
    """Write a router to a file."""
    learner = router._learner
    arrays: dict[str, np.ndarray[Any, Any]] = {
        "policy": np.frombuffer(files.to_bytes(learner.policy), dtype=np.uint8),
        "open": np.array([opened.vector for opened in router._open.values()]),
    }
    settings = ("budget", "weights", "rank", "width", "memory", "seed")
    header = {
        "format": FORMAT,
        "version": VERSION,
        "settings": {name: getattr(router, name) for name in settings},
        "models": [{"name": model.name, "price": model.price, "family": model.family} for model in router.models],
        "learner": files.encode(learner.state(), arrays),
        "history": router.history.state(),
        "requests": [[key, opened.model, opened.number, opened.cost] for key, opened in router._open.items()],
        "done": list(router._done),
    }
    text = json.dumps(header).encode()
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, header=np.frombuffer(text, dtype=np.uint8), **arrays)
    files.write_whole(path, buffer.getvalue())


def load(path: str | PathLike[str], encoder: Encoder | None = None) -> Router:
    """Read a router that `save` wrote."""
    content = Path(path).read_bytes()
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        header = json.loads(arrays.pop("header").tobytes())
        if header["format"] != FORMAT:
            raise KeyError(header["format"])
        version = int(header["version"])
    except Exception as error:  # damage makes the readers of zip files and of arrays raise nearly anything
        raise ValueError(f"{path} is not a saved router, or is cut short or damaged.") from error
    if version != VERSION:
        raise ValueError(f"{path} has format version {version}; this eigenbandits reads version {VERSION}.")
    try:
        router = Router([Model(**model) for model in header["models"]], encoder=encoder, **header["settings"])
        policy = files.from_bytes(arrays["policy"].tobytes(), "its policy")
        if not isinstance(policy, EigenUCB | Budgeted):
            raise TypeError("its policy is of another kind")
        router._learner.restore(files.decode(header["learner"], arrays), policy)
        router.history.restore(header["history"])
        # Decisions are not kept: what was open is learned by its vector.
        router._open = OrderedDict(
            (key, _Open(model, number, cost, vector, None, -1))
            for (key, model, number, cost), vector in zip(header["requests"], arrays["open"], strict=True)
        )
        router._done = OrderedDict.fromkeys(header["done"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} cannot be read as a router: {error}.") from error
    return router
