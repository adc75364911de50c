"""Catalogues: upload once, change while the service runs."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Path, Query, Response

from eigenbandits.serve import models, vectors
from eigenbandits.serve.context import Context, may_fail
from eigenbandits.serve.errors import invalid


def router(context: Context) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(prefix="/v1/catalogues", tags=["catalogues"])
    engine, admin = context.engine, context.admin

    def read(body: models.Items, dim: int | None) -> tuple[list[str], Any]:
        settings = engine.settings
        ids = [vectors.name(id_, "ids") for id_ in body.ids]
        if len(set(ids)) < len(ids):
            raise invalid("ids holds the same id twice; expected each once.", "ids")
        if body.dim is not None and dim is not None and body.dim != dim:
            raise invalid(f"dim is {body.dim}; this catalogue has vectors of length {dim}.", "dim", "wrong_dimension")
        wanted = body.dim or dim
        array = vectors.matrix(body.vectors, wanted, settings, "vectors", settings.max_items, vectors.LARGEST_FACTOR)
        if len(array) != len(ids):
            raise invalid(f"vectors has {len(array)} vectors for {len(ids)} ids; expected as many.", "vectors")
        return ids, np.ascontiguousarray(array, dtype=np.float32)

    @routes.get("", responses=may_fail())
    async def list_catalogues() -> models.Catalogues:
        """List all catalogues."""
        found = [models.CatalogueInfo(**one.summary()) for one in engine.catalogues.values()]
        return models.Catalogues(catalogues=found)

    @routes.get("/{name}", responses=may_fail(404))
    async def get_catalogue(name: str) -> models.CatalogueInfo:
        """Return one catalogue."""
        return models.CatalogueInfo(**admin.catalogue(name).summary())

    @routes.put("/{name}", status_code=201, responses=may_fail(404, 409) | {200: {"model": models.CatalogueInfo}})
    async def create_catalogue(
        name: Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")], body: models.NewCatalogue, response: Response
    ) -> models.CatalogueInfo:
        """Create a catalogue with its first items; the very same again is answered with 200."""
        ids, array = await asyncio.to_thread(read, body, None)
        summary, new = await context.run(admin.create_catalogue, name, ids, array, body.center, body.mean)
        response.status_code = 201 if new else 200
        return models.CatalogueInfo(**summary)

    @routes.delete("/{name}", status_code=204, responses=may_fail(404, 409))
    async def delete_catalogue(name: str) -> None:
        """Delete a catalogue that no policy uses."""
        await context.run(admin.delete_catalogue, name)

    @routes.get("/{name}/items", responses=may_fail(404))
    async def list_items(
        name: str, after: str = "", limit: Annotated[int, Query(ge=1, le=10_000)] = 1000
    ) -> models.ItemPage:
        """List the ids of items, in their order, after an id."""
        ids = admin.catalogue(name).sorted_ids()
        start = bisect_right(ids, after)
        return models.ItemPage(ids=ids[start : start + limit])

    @routes.post("/{name}/items", responses=may_fail(404, 409))
    async def put_items(name: str, body: models.Items) -> models.Changed:
        """Add items, or replace those of the same ids."""
        ids, array = await asyncio.to_thread(read, body, admin.catalogue(name).dim)
        return models.Changed(**await context.run(admin.put_items, name, ids, array))

    @routes.post("/{name}/items/delete", responses=may_fail(404))
    async def delete_items(name: str, body: models.ItemIds) -> models.Changed:
        """Remove items."""
        return models.Changed(**await context.run(admin.delete_items, name, list(dict.fromkeys(body.ids))))

    @routes.delete("/{name}/items/{item:path}", responses=may_fail(404))
    async def delete_item(name: str, item: str) -> models.Changed:
        """Remove one item."""
        return models.Changed(**await context.run(admin.delete_items, name, [item]))

    return routes
