"""The service's first key, from its environment: a container can be reached before anyone can log in to it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from eigenbandits.serve.keys import key_of
from eigenbandits.serve.settings import PREFIX
from eigenbandits.serve.storage.base import Database
from eigenbandits.serve.storage.journal import Journal
from eigenbandits.serve.storage.schema import KEYS

VARIABLE = f"{PREFIX}FIRST_KEY"


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
