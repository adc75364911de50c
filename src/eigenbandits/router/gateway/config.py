"""The settings of the gateway, from a TOML file."""

from __future__ import annotations

import dataclasses
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eigenbandits import inputs
from eigenbandits.router.models import Model


@dataclass(frozen=True)
class UpstreamConfig:
    """A model and the server that answers for it.

    Parameters
    ----------
    name
        The name of the model at the gateway.
    url
        The server's address up to and including /v1.
    price, family
        As for `Model`.
    upstream
        The name of the model at the server; the same by default.
    key_env
        The environment variable that holds the server's API key; none is sent by default.
    timeout
        Seconds until the first byte of an answer, and between two parts of it.
    retries
        Further attempts at this server before another model is asked.
    """

    name: str
    url: str
    price: float | tuple[float, float] | None = None
    family: str | None = None
    upstream: str | None = None
    key_env: str | None = None
    timeout: float = 60.0
    retries: int = 1

    def __post_init__(self) -> None:
        """Check the fields."""
        if not str(self.url).startswith(("http://", "https://")):
            raise ValueError(f"url of {self.name!r} is {self.url!r}; expected an address that begins with http.")
        inputs.size(self.timeout, f"timeout of {self.name!r}")
        inputs.whole(self.retries, f"retries of {self.name!r}", least=0)
        if self.key_env is not None and self.key_env not in os.environ:
            raise ValueError(f"{self.key_env} is not set; expected the API key of {self.name!r} in it.")
        _ = self.model

    @property
    def model(self) -> Model:
        """The model, for the router."""
        return Model(self.name, self.price, self.family)


@dataclass(frozen=True)
class Config:
    """The settings of the gateway.

    Parameters
    ----------
    models
        The models and their servers.
    budget
        Dollars that a request may cost on average; None for no limit.
    weights
        As for `Router`.
    listen
        Address and port.
    key_env
        The environment variable that holds the key which clients must send; None to accept every request, which is
        refused for addresses other than this machine's.
    file
        Where the router is saved every minute and at the end, and loaded from at the start; None to forget it.
    encoder
        "minilm", or "module:function" for a function of yours that turns a prompt into a vector.
    seed
        Seed of the router.
    """

    models: tuple[UpstreamConfig, ...]
    budget: float | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    listen: str = "127.0.0.1:8780"
    key_env: str | None = None
    file: Path | None = None
    encoder: str = "minilm"
    seed: int | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        if not self.models:
            raise ValueError("models is empty; expected at least one [[models]] with a name and a url.")
        if self.key_env is None and self.host not in ("127.0.0.1", "localhost", "::1"):
            raise ValueError(f"listen is {self.listen!r} without a key; set key_env, or listen on 127.0.0.1.")
        if self.key_env is not None and not os.environ.get(self.key_env):
            raise ValueError(f"{self.key_env} is not set; expected the key that clients must send in it.")

    @property
    def host(self) -> str:
        """The address to listen on."""
        return self.listen.rpartition(":")[0]

    @property
    def port(self) -> int:
        """The port to listen on."""
        text = self.listen.rpartition(":")[2]
        if not text.isdigit():
            raise ValueError(f"listen is {self.listen!r}; expected an address and a port, such as 127.0.0.1:8780.")
        return int(text)

    @classmethod
    def read(cls, path: Path) -> Config:
        """Read a TOML file."""
        try:
            found: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ValueError(f"{path} cannot be read: {error}.") from None
        models = found.pop("models", [])
        _refuse_unknown(found, cls, str(path))
        for model in models:
            _refuse_unknown(model, UpstreamConfig, f"a model in {path}")
            if not {"name", "url"} <= set(model):
                raise ValueError(f"a model in {path} has the fields {sorted(model)}; expected a name and a url.")
        if "file" in found:
            found["file"] = path.parent / found["file"]
        return cls(models=tuple(UpstreamConfig(**model) for model in models), **found)


def _refuse_unknown(given: Mapping[str, Any], kind: type[Any], where: str) -> None:
    known = {one.name for one in dataclasses.fields(kind)}
    unknown = sorted(set(given) - known)
    if unknown:
        raise ValueError(f"{where} has the setting {unknown[0]!r}; expected one of {', '.join(sorted(known))}.")
