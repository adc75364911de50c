"""Protection of a service without keys from web pages on other sites."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.types import Scope

from eigenbandits.serve.errors import Refusal
from eigenbandits.serve.keys import KeyRing


class LocalOrigin:
    """While there is no key, refuses requests that another site's page sends through a browser on this machine."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    def __call__(self, scope: Scope) -> None:
        """Check one request."""
        if self._keys.open:
            for name, value in scope["headers"]:
                # When another site's page embeds an address, such as an image, a browser sends no origin, but it sends
                # sec-fetch-site. Links to the service's own page are allowed.
                embedded = name == b"sec-fetch-site" and value in (b"cross-site", b"same-site") and scope["path"] != "/"
                if embedded or (name in (b"host", b"origin") and not _is_local(value)):
                    message = "Without keys, this service answers only this machine under a local name; create a key."
                    raise Refusal(403, "not_from_here", message)


@lru_cache(maxsize=256)
def _is_local(header: bytes) -> bool:
    value = header.decode("latin-1")
    try:
        host = urlsplit(value if "//" in value else f"//{value}").hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
