"""Catalogues: upload them once, and change their items while the service runs."""

import asyncio
from bisect import bisect_right
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.responses import Response

from eigenbandits.serve.errors import invalid
from eigenbandits.serve.http import models, vectors
from eigenbandits.serve.http.endpoint import json_response
from eigenbandits.serve.http.gateway import Gateway
from eigenbandits.serve.writer.catalogue import Catalogue


class CatalogueHandlers:
    """Handlers of the endpoints under /v1/catalogues."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._administration = gateway.administration
        self._settings = gateway.settings

    async def list_catalogues(self) -> models.Catalogues:
        """List all catalogues."""
        infos = [models.CatalogueInfo(**one.summary()) for one in self._gateway.registry.catalogues.values()]
        return models.Catalogues(catalogues=infos)

    async def get_catalogue(self, name: str) -> models.CatalogueInfo:
        """Return one catalogue."""
        return models.CatalogueInfo(**self._gateway.registry.catalogue(name).summary())

    async def create_catalogue(self, name: str, body: models.NewCatalogue) -> Response:
        """Create a catalogue with its first items; repeating the same request returns 200."""
        vectors.slug(name, "name")
        created, array = await asyncio.to_thread(self._catalogue, name, body)
        summary, new = await self._gateway.write(self._administration.create_catalogue, created, array)
        return json_response(models.CatalogueInfo(**summary), 201 if new else 200)

    async def delete_catalogue(self, name: str) -> None:
        """Delete a catalogue that no policy uses."""
        await self._gateway.write(self._administration.delete_catalogue, name)

    async def list_items(self, name: str, query: models.ItemsQuery) -> models.ItemPage:
        """List the ids of items in sorted order, after an id."""
        ids = self._gateway.registry.catalogue(name).sorted_ids()
        start = bisect_right(ids, query.after)
        return models.ItemPage(ids=ids[start : start + query.limit])

    async def put_items(self, name: str, body: models.Items) -> models.Changed:
        """Add items, or replace items with the same ids."""
        ids, array = await asyncio.to_thread(self._items, body, self._gateway.registry.catalogue(name).dim)
        return models.Changed(**await self._gateway.write(self._administration.put_items, name, ids, array))

    async def delete_items(self, name: str, body: models.ItemIds) -> models.Changed:
        """Remove items."""
        return await self._delete(name, list(dict.fromkeys(body.ids)))

    async def delete_item(self, name: str, item: str) -> models.Changed:
        """Remove one item."""
        return await self._delete(name, [item])

    async def _delete(self, name: str, ids: list[str]) -> models.Changed:
        return models.Changed(**await self._gateway.write(self._administration.delete_items, name, ids))

    def _catalogue(self, name: str, body: models.NewCatalogue) -> tuple[Catalogue, NDArray[np.float32]]:
        ids, array = self._items(body, None)
        mean = None if body.mean is None else vectors.vector(body.mean, array.shape[1], self._settings, "mean")
        return Catalogue.new(name, ids, array, body.center, mean), array

    def _items(self, body: models.Items, dim: int | None) -> tuple[list[str], NDArray[np.float32]]:
        settings = self._settings
        ids = [vectors.name(id_, "ids") for id_ in body.ids]
        if len(set(ids)) < len(ids):
            raise invalid("ids holds the same id twice; expected each id once.", "ids")
        if body.dim is not None and dim is not None and body.dim != dim:
            raise invalid(f"dim is {body.dim}; this catalogue has vectors of length {dim}.", "dim", "wrong_dimension")
        dim = body.dim or dim
        array: NDArray[Any] = vectors.matrix(
            body.vectors, dim, settings, "vectors", settings.max_items, vectors.LARGEST_FACTOR
        )
        if len(array) != len(ids):
            raise invalid(f"vectors has {len(array)} vectors for {len(ids)} ids; expected one for each id.", "vectors")
        return ids, np.ascontiguousarray(array, dtype=np.float32)
