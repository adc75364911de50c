"""API keys: shown once, stored as hashes, compared in constant time; and the first key of a new service."""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from eigenbandits.serve.errors import Refusal, invalid, unavailable
from eigenbandits.serve.settings import PREFIX
from eigenbandits.serve.storage.base import Database
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.schema import KEYS, KeyRow

# Holds the first key of a new service: a container can be reached before anyone can log in to it.
VARIABLE = f"{PREFIX}FIRST_KEY"
SCOPES = ("decide", "reward", "admin")
_PREFIX = "ebk_"
_FORM = re.compile(rf"{_PREFIX}[0-9a-f]{{16}}_[\w-]{{43,}}", re.ASCII)
_CHALLENGE = {"www-authenticate": "Bearer"}


def new_key(name: str, scopes: Iterable[str], now: float, policies: Sequence[str] | None = None) -> tuple[KeyRow, str]:
    """Return a new key as it is stored, and the text that its owner sends; without `policies`, it allows all policies.

    The text has 256 random bits, so one round of a fast hash protects it as well as a slow hash would.
    """
    granted = [scope for scope in SCOPES if scope in set(scopes)]
    if not granted or set(scopes) - set(SCOPES):
        raise invalid(f"scopes is {sorted(set(scopes))}; expected one or more of {', '.join(SCOPES)}.", "scopes")
    if not 1 <= len(name) <= 100 or not name.isprintable():
        raise invalid(
            "name of the key is empty, too long or not printable; expected 1 to 100 printable characters.", "name"
        )
    if policies is not None and (not policies or "admin" in granted):
        message = "policies is empty, or the key has the scope admin, which is for all policies; leave one of them out."
        raise invalid(message, "policies")
    text = random_text()
    allowed = None if policies is None else " ".join(dict.fromkeys(policies))
    return KeyRow(_id(text), name, " ".join(granted), _digest(text), now, policies=allowed), text


def random_text() -> str:
    """Return the text of a new key."""
    return f"{_PREFIX}{secrets.token_hex(8)}_{secrets.token_urlsafe(32)}"


def key_of(text: str, name: str, now: float) -> KeyRow:
    """Return a key with all scopes, as it is stored, for a text that was generated elsewhere.

    Examples
    --------
    >>> key_of("secret", "first", 0.0)
    Traceback (most recent call last):
        ...
    ValueError: this is not a valid key; generate one with `eigenbandits keys generate`.
    """
    if not _FORM.fullmatch(text):
        raise ValueError("this is not a valid key; generate one with `eigenbandits keys generate`.")
    return KeyRow(_id(text), name, " ".join(SCOPES), _digest(text), now)


def _id(text: str) -> str:
    return text[len(_PREFIX) :].partition("_")[0]


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


class Caller(NamedTuple):
    """The sender of a request: the id of the key, "" without keys, and whether the key has the scope admin."""

    key: str
    admin: bool


class KeyRing:
    """The keys that are currently valid.

    If there has never been a key, not even one that was revoked, everything is open; revoking the last key does not
    open the service again. Until the keys have been read, every request is refused.

    Parameters
    ----------
    may_be_open
        Whether the service may be open at all.
    """

    def __init__(self, may_be_open: bool = True) -> None:
        self.known = False
        self.empty = False
        self.open = False
        self._may_be_open = may_be_open
        self._valid: dict[str, KeyRow] = {}

    def replace(self, keys: Iterable[KeyRow]) -> None:
        """Replace the keys with those of the database."""
        rows = list(keys)
        self._valid = {key.id: key for key in rows if key.revoked_at is None}
        self.empty = not rows
        self.open = self._may_be_open and self.empty
        self.known = True

    def check(self, header: str | None, scope: str | None, policy: str | None = None) -> Caller:
        """Return the caller; raise `Refusal` if the key is missing or wrong, or does not allow the request.

        Parameters
        ----------
        header
            The Authorization header.
        scope
            The scope that the key must have; None accepts any valid key.
        policy
            The policy that the request is about; None if there is none.
        """
        if self.open:
            return Caller("", True)
        if not self.known:
            raise unavailable("its keys have not been read yet")
        if not header:
            message = "A key is required; send it as 'Authorization: Bearer ebk_…'."
            raise Refusal(401, "missing_key", message, headers=_CHALLENGE)
        scheme, _, text = header.partition(" ")
        key = self._valid.get(_id(text))
        # An unknown id is compared as well, so that the response time does not reveal which ids exist.
        same = hmac.compare_digest(_digest(text), key.digest if key else bytes(32))
        if scheme.lower() != "bearer" or key is None or not same:
            message = "This key is unknown or was revoked; ask for a new one."
            raise Refusal(401, "wrong_key", message, headers=_CHALLENGE)
        if scope is not None and not {scope, "admin"} & set(key.scopes.split()):
            raise Refusal(403, "missing_scope", f"This key lacks the scope {scope!r}, which this request needs.")
        if key.policies is not None and policy not in key.policies.split():
            message = f"This key is only for {', '.join(key.policies.split())}; use another key for this request."
            raise Refusal(403, "other_policy", message)
        return Caller(key.id, "admin" in key.scopes.split())


def first_key(environment: Mapping[str, str] | None = None) -> str | None:
    """Return the key in `EIGENBANDITS_FIRST_KEY`, or in the file named by `EIGENBANDITS_FIRST_KEY_FILE`."""
    variables = os.environ if environment is None else environment
    text, file = variables.get(VARIABLE, ""), variables.get(f"{VARIABLE}_FILE", "")
    if text and file:
        raise ValueError(f"both {VARIABLE} and {VARIABLE}_FILE are set; set one of them.")
    if file:
        try:
            text = Path(file).read_text(encoding="utf-8")
        except OSError as error:
            raise ValueError(f"{VARIABLE}_FILE is {file}, which cannot be read ({error.strerror}).") from error
    return text.strip() or None


def add_first_key(database: Database, text: str, now: float) -> bool:
    """Store a key with all scopes if there has never been a key; return whether it was stored.

    Later starts with the same environment change nothing, even after the key has been revoked.
    """
    row = key_of(text, "first", now)
    connection = database.connect()
    try:
        with connection.transaction():
            journal = Journal(connection)
            if journal.keys():
                return False
            journal.add(KEYS, [row])
            return True
    finally:
        connection.close()
