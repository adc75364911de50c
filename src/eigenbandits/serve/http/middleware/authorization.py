"""Authorization by API keys."""

from __future__ import annotations

from starlette.types import Scope

from eigenbandits.serve.http.endpoint import ANY_KEY
from eigenbandits.serve.keys import KeyRing


class Authorization:
    """Admits requests whose key allows a scope and the policy in the path; puts the caller in `scope["caller"]`."""

    def __init__(self, keys: KeyRing, scope: str) -> None:
        self._keys = keys
        self._scope = None if scope == ANY_KEY else scope

    def __call__(self, scope: Scope) -> None:
        """Check one request."""
        header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        # There is no policy in the path of the list of policies, catalogues, keys, the status and the metrics.
        policy = scope.get("path_params", {}).get("name") if scope["path"].startswith("/v1/policies/") else None
        scope["caller"] = self._keys.check(header.decode("latin-1"), self._scope, policy)
