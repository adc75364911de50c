"""Keys: create, list and revoke them."""

from eigenbandits.serve.http import models, vectors
from eigenbandits.serve.http.gateway import Gateway
from eigenbandits.serve.storage.journal import Journal


class KeyHandlers:
    """Handlers of the endpoints under /v1/keys."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def create_key(self, body: models.NewKey) -> models.CreatedKey:
        """Create a key, shown only once; the first needs the scope admin and closes the service to everyone else."""
        create = self._gateway.administration.create_key
        row, text = await self._gateway.write(create, body.name, body.scopes, body.policies)
        return models.CreatedKey.of(row, key=text)

    async def list_keys(self) -> models.Keys:
        """List all keys, including revoked ones."""
        keys = await self._gateway.read(Journal.keys)
        return models.Keys(keys=[models.KeyInfo.of(key) for key in keys])

    async def revoke_key(self, id: str) -> None:
        """Revoke a key, effective immediately."""
        await self._gateway.write(self._gateway.administration.revoke_key, vectors.name(id, "id"))
