"""The table of routes: every endpoint of the service, with its scope, response, body and errors."""

from eigenbandits.serve.http import decision_models as d
from eigenbandits.serve.http import models as m
from eigenbandits.serve.http import uploads
from eigenbandits.serve.http.carried_over import CarryoverHandlers
from eigenbandits.serve.http.catalogues import CatalogueHandlers
from eigenbandits.serve.http.decisions import DecisionHandlers
from eigenbandits.serve.http.endpoint import ANY_KEY, BINARY, OPEN, PARQUET, TEXT, Endpoint
from eigenbandits.serve.http.gateway import Gateway
from eigenbandits.serve.http.keys import KeyHandlers
from eigenbandits.serve.http.page import PageHandlers
from eigenbandits.serve.http.policies import PolicyHandlers
from eigenbandits.serve.http.status import StatusHandlers

_UPLOAD = "max_catalogue_bytes"


def routes(gateway: Gateway) -> list[Endpoint]:
    """Return the table; routes are tried in this order, so the frequent ones come first."""
    decisions, policies, catalogues = DecisionHandlers(gateway), PolicyHandlers(gateway), CatalogueHandlers(gateway)
    carryover = CarryoverHandlers(gateway)
    keys, status, page = KeyHandlers(gateway), StatusHandlers(gateway), PageHandlers()
    metrics = OPEN if gateway.settings.open_metrics else ANY_KEY
    # Each row: method, path, scope and handler, then the request and the response as described in `Endpoint`.
    # fmt: off
    return [
        Endpoint("POST", "/v1/policies/{name}/decide", "decide", decisions.decide,
                 d.Decided, body=d.Decide, raw=("dim", "request"), errors=(404,), label="decide"),
        Endpoint("POST", "/v1/policies/{name}/reward", "reward", decisions.reward,
                 d.Rewarded, body=d.Reward, errors=(404, 409), label="reward"),
        Endpoint("POST", "/v1/policies/{name}/decide/batch", "decide", decisions.decide_batch,
                 d.DecidedBatch, body=d.DecideBatch, raw=("dim", "sets"), errors=(404,), label="decide/batch"),
        Endpoint("POST", "/v1/policies/{name}/reward/batch", "reward", decisions.reward_batch,
                 d.RewardedBatch, body=d.RewardBatch, errors=(404,), label="reward/batch"),
        Endpoint("POST", "/v1/policies/{name}/import", "admin", decisions.import_decisions,
                 d.ImportedBatch, body=d.ImportBatch, errors=(404, 409), label="import"),
        Endpoint("POST", "/v1/empty", ANY_KEY, status.empty, m.Empty, label="empty"),

        Endpoint("POST", "/v1/policies", "admin", policies.create_policy,
                 m.PolicyInfo, body=m.NewPolicy, statuses=(201, 200), errors=(404, 409)),
        Endpoint("GET", "/v1/policies", ANY_KEY, policies.list_policies, m.Policies),
        Endpoint("GET", "/v1/policies/{name}", ANY_KEY, policies.get_policy, m.PolicyInfo, errors=(404,)),
        Endpoint("PATCH", "/v1/policies/{name}", "admin", policies.edit_policy,
                 m.PolicyInfo, body=m.PolicyChanges, errors=(404,)),
        Endpoint("DELETE", "/v1/policies/{name}", "admin", policies.delete_policy, statuses=(204,), errors=(404,)),
        Endpoint("GET", "/v1/policies/{name}/diagnostics", ANY_KEY, policies.get_diagnostics,
                 m.Diagnostics, errors=(404,)),
        Endpoint("GET", "/v1/policies/{name}/history", ANY_KEY, policies.get_history,
                 m.History, query=m.HistoryQuery, errors=(404,)),
        Endpoint("GET", "/v1/policies/{name}/lift", ANY_KEY, policies.get_lift, m.Lift, errors=(404,)),
        Endpoint("GET", "/v1/policies/{name}/export", "admin", policies.export_log,
                 PARQUET, query=m.ExportQuery, errors=(404,)),
        Endpoint("POST", "/v1/policies/{name}/translate", "admin", carryover.translate_policy,
                 m.Translated, body=m.NewTranslation, parse=uploads.read, limit=_UPLOAD,
                 statuses=(201, 200), errors=(404, 409)),
        Endpoint("POST", "/v1/policies/{name}/merge", "admin", carryover.merge_policy,
                 m.Merged, body=m.Merge, limit=_UPLOAD, errors=(404, 409)),
        Endpoint("GET", "/v1/policies/{name}/snapshot", "admin", policies.get_snapshot, BINARY, errors=(404,)),

        Endpoint("GET", "/v1/catalogues", ANY_KEY, catalogues.list_catalogues, m.Catalogues),
        Endpoint("GET", "/v1/catalogues/{name}", ANY_KEY, catalogues.get_catalogue, m.CatalogueInfo, errors=(404,)),
        Endpoint("PUT", "/v1/catalogues/{name}", "admin", catalogues.create_catalogue,
                 m.CatalogueInfo, body=m.NewCatalogue, parse=uploads.read, limit=_UPLOAD,
                 statuses=(201, 200), errors=(404, 409)),
        Endpoint("DELETE", "/v1/catalogues/{name}", "admin", catalogues.delete_catalogue,
                 statuses=(204,), errors=(404, 409)),
        Endpoint("GET", "/v1/catalogues/{name}/items", ANY_KEY, catalogues.list_items,
                 m.ItemPage, query=m.ItemsQuery, errors=(404,)),
        Endpoint("POST", "/v1/catalogues/{name}/items", "admin", catalogues.put_items,
                 m.Changed, body=m.Items, parse=uploads.read, limit=_UPLOAD, errors=(404, 409)),
        Endpoint("POST", "/v1/catalogues/{name}/items/delete", "admin", catalogues.delete_items,
                 m.Changed, body=m.ItemIds, limit=_UPLOAD, errors=(404,)),
        Endpoint("DELETE", "/v1/catalogues/{name}/items/{item:path}", "admin", catalogues.delete_item,
                 m.Changed, errors=(404,)),

        Endpoint("POST", "/v1/keys", "admin", keys.create_key, m.CreatedKey, body=m.NewKey, statuses=(201,)),
        Endpoint("GET", "/v1/keys", "admin", keys.list_keys, m.Keys),
        Endpoint("DELETE", "/v1/keys/{id}", "admin", keys.revoke_key, statuses=(204,), errors=(404,)),

        Endpoint("GET", "/health", OPEN, status.health, m.Health),
        Endpoint("GET", "/ready", OPEN, status.ready, m.Ready, statuses=(200, 503)),
        Endpoint("GET", "/v1/status", ANY_KEY, status.get_status, m.Status),
        Endpoint("GET", "/metrics", metrics, status.metrics, TEXT),
        Endpoint("GET", "/", OPEN, page.index, documented=False),
        Endpoint("GET", "/page/{name:path}", OPEN, page.file, documented=False),
        Endpoint("GET", "/favicon.ico", OPEN, page.icon, documented=False),
    ]
    # fmt: on
