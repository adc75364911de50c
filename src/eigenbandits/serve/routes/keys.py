"""Keys: create, list, revoke."""

from __future__ import annotations

from fastapi import APIRouter

from eigenbandits.serve import models, vectors
from eigenbandits.serve.context import Context, may_fail
from eigenbandits.serve.journal import Journal


def router(context: Context) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/v1/keys", tags=["keys"])

    @routes.post("", status_code=201, responses=may_fail())
    async def create_key(body: models.NewKey) -> models.MadeKey:
        """Create a key; it is shown this once. The first, with the scope admin, closes the service to all others."""
        return models.MadeKey(**await context.run(context.admin.create_key, body.name, body.scopes))

    @routes.get("", responses=may_fail())
    async def list_keys() -> models.Keys:
        """List all keys, the revoked ones too."""
        keys = await context.read(Journal.keys)
        found = [
            models.KeyInfo(
                id=key.id,
                name=key.name,
                scopes=list(key.scopes),
                created_at=key.created_at,
                revoked_at=key.revoked_at,
            )
            for key in keys
        ]
        return models.Keys(keys=found)

    @routes.delete("/{id}", status_code=204, responses=may_fail(404))
    async def revoke_key(id: str) -> None:
        """Revoke a key, at once."""
        await context.run(context.admin.revoke_key, vectors.name(id, "id"))

    return routes
