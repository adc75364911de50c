"""The service's settings: a TOML file, overridden by the environment, overridden by the command line."""

from __future__ import annotations

import dataclasses
import ipaddress
import math
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eigenbandits.inputs import one_of

PREFIX = "EIGENBANDITS_"
_FOLDER = Path("eigenbandits-data")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SPAN = re.compile(r"0*[1-9][0-9]{0,8}[smhd]")


def _option(default: Any, text: str, least: float | None = None) -> Any:
    return field(default=default, metadata={"help": text, "least": least})


@dataclass(frozen=True)
class Settings:
    """The settings; every field can be set in the file, in the environment and as a command-line option.

    Examples
    --------
    >>> Settings(port=0).host
    '127.0.0.1'
    >>> Settings(port=-1)
    Traceback (most recent call last):
        ...
    ValueError: port is -1; expected at least 0.
    """

    folder: Path = _option(  # noqa: RUF009 - a field, like the others
        _FOLDER, "Folder of the database, the snapshots and the lock."
    )
    database: str = _option("", "postgresql://… to use instead of SQLite in the folder.")
    host: str = _option("127.0.0.1", "Address to listen on; any other than loopback requires a key.")
    port: int = _option(8765, "Port to listen on; 0 picks a free one.", 0)
    deciders: int = _option(0, "Processes that decide, in addition to one that learns; 0 does both in one process.", 0)
    publish_seconds: float = _option(1.0, "Seconds between the beliefs that the learner publishes to deciders.", 0.01)
    publish_rewards: int = _option(1000, "Number of rewards after which the learner publishes a belief sooner.", 1)
    max_body_bytes: int = _option(8 * 2**20, "Largest request body.", 1024)
    max_catalogue_bytes: int = _option(256 * 2**20, "Largest request body with items of a catalogue.", 1024)
    max_actions: int = _option(10_000, "Largest number of actions in one decision set, K.", 1)
    max_dim: int = _option(4096, "Largest length of a vector, d.", 1)
    max_batch: int = _option(1000, "Largest number of entries in one batch request.", 1)
    max_policies: int = _option(100, "Largest number of policies.", 1)
    max_catalogues: int = _option(100, "Largest number of catalogues.", 1)
    max_items: int = _option(1_000_000, "Largest number of items in one catalogue.", 1)
    max_waiting: int = _option(
        2000, "Requests to one policy that may wait for the writer; further ones are refused temporarily.", 1
    )
    max_connections: int = _option(1000, "Connections that may be open at once.", 1)
    rate: float = _option(0.0, "Requests per second for each key; 0 sets no limit.", 0)
    request_timeout: float = _option(10.0, "Seconds after which a request times out.", 0.01)
    snapshot_events: int = _option(20_000, "Decisions and rewards between two snapshots of a policy.", 1)
    snapshot_seconds: float = _option(300.0, "Seconds after which a changed policy gets a snapshot anyway.", 0.01)
    history_days: float = _option(7.0, "Days for which the history of rewards is kept.", 0)
    keep: str = _option(
        "", "How long decisions are kept after they have ended, such as 90d, 12h or 30m; empty keeps them forever."
    )
    open_metrics: bool = _option(False, "Serve /metrics without a key.")
    log_level: str = _option("info", "debug, info, warning or error.")

    def __post_init__(self) -> None:
        """Convert strings to the types of the fields, and refuse values out of range."""
        for spec in dataclasses.fields(self):
            value = _converted(spec, getattr(self, spec.name))
            least = spec.metadata["least"]
            if least is not None and not value >= least:
                raise ValueError(f"{spec.name} is {value:g}; expected at least {least:g}.")
            object.__setattr__(self, spec.name, value)
        if self.port > 65535:
            raise ValueError(f"port is {self.port}; expected at most 65535.")
        if self.database and not self.database.startswith(("postgresql://", "postgres://")):
            raise ValueError("database is neither empty nor a postgresql:// address; expected one or the other.")
        if self.keep and _SPAN.fullmatch(self.keep) is None:
            raise ValueError(f"keep is {self.keep!r}; expected a number and a unit, such as 90d, 12h, 30m or 45s.")
        one_of(self.log_level, "log_level", ("debug", "info", "warning", "error"))

    @property
    def keep_seconds(self) -> float:
        """How long decisions are kept, in seconds.

        Examples
        --------
        >>> Settings(keep="90d").keep_seconds, Settings().keep_seconds
        (7776000.0, inf)
        """
        return math.inf if not self.keep else float(self.keep[:-1]) * _UNITS[self.keep[-1]]

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @classmethod
    def read(cls, file: Path | None = None, environment: Mapping[str, str] | None = None, **options: Any) -> Settings:
        """Read the settings from a file, overridden by the environment, overridden by options that are not None."""
        names = [spec.name for spec in dataclasses.fields(cls)]
        values: dict[str, Any] = _from_file(file, names) if file is not None else {}
        for key, value in (os.environ if environment is None else environment).items():
            if key.startswith(PREFIX) and key[len(PREFIX) :].lower() in names:
                values[key[len(PREFIX) :].lower()] = value
        return cls(**values | {name: value for name, value in options.items() if value is not None})


def _from_file(file: Path, names: list[str]) -> dict[str, Any]:
    try:
        values = tomllib.loads(file.read_text())
    except OSError as error:
        raise ValueError(f"{file} cannot be read ({error.strerror}); expected a TOML file of settings.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} is not TOML ({error}).") from error
    unknown = sorted(set(values) - set(names))
    if unknown:
        raise ValueError(f"{file} sets {unknown[0]!r}, which is not a setting; expected {', '.join(names)}.")
    return values


def _converted(spec: dataclasses.Field[Any], value: Any) -> Any:
    kind: type[Any] = type(spec.default)
    if isinstance(spec.default, Path):
        return Path(value)
    try:
        if kind is bool and isinstance(value, str):
            return {"true": True, "1": True, "false": False, "0": False}[value.lower()]
        if kind is int and isinstance(value, float):
            raise ValueError
        if isinstance(value, bool) is not (kind is bool):
            raise ValueError
        return kind(value)
    except (ValueError, TypeError, KeyError):
        noun = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}[kind]
        raise ValueError(f"{spec.name} is {value!r}; expected {noun}.") from None
