"""Protection of a service without keys from web pages elsewhere."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.types import Scope

from eigenbandits.serve.errors import Refusal
from eigenbandits.serve.keys import KeyRing


class LocalOrigin:
    """While there is no key, refuses what a page of another site sends through a browser on this machine."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    def __call__(self, scope: Scope) -> None:
        """Check one request."""
        if self._keys.open:
            for name, value in scope["headers"]:
                # A browser names no origin when a page elsewhere embeds an address, as an image for example; but it
                # says from where. The service's own page may be linked to.
                embedded = name == b"sec-fetch-site" and value in (b"cross-site", b"same-site") and scope["path"] != "/"
                if embedded or (name in (b"host", b"origin") and not _is_local(value)):
                    message = "Without keys this service answers only to this machine by its own name; create a key."
                    raise Refusal(403, "not_from_here", message)


@lru_cache(maxsize=256)
def _is_local(header: bytes) -> bool:
    value = header.decode("latin-1")
    try:
        host = urlsplit(value if "//" in value else f"//{value}").hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
