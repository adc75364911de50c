"""What the gateway's page shows, as JSON."""

from collections.abc import Mapping
from typing import Any

from eigenbandits.router.gateway.upstreams import Upstream
from eigenbandits.router.router import Router


def status(router: Router, upstreams: Mapping[str, Upstream]) -> dict[str, Any]:
    """Return quality, spend, shares and failures, in total, by model and over time."""
    history = router.history
    present = {model.name: model for model in router.models}
    models = []
    for name, counts in history.models.items():
        upstream = upstreams.get(name)
        models.append(
            {
                "name": name,
                "present": name in present,
                "price": present[name].price if name in present else None,
                "rests": upstream.rests if upstream is not None else False,
                "added": counts["added"],
                **_means(counts),
            }
        )
    totals = {name: sum(counts[name] for counts in history.models.values()) for name in _SUMS}
    return {
        "requests": history.requests,
        "budget": router.budget.get("dollars"),
        "price": router.price,
        "changes": router.changes,
        "encoding": history.seconds["encoding"] / max(history.requests, 1),
        "routing": history.seconds["routing"] / max(history.requests, 1),
        "total": _means(totals),
        "models": models,
        "period": history.length,
        "periods": [{**_means(period), "shares": period["shares"]} for period in history.periods],
    }


_SUMS = ("requests", "answers", "failures", "quality", "priced", "dollars", "timed", "latency")


def _means(counts: Mapping[str, Any]) -> dict[str, Any]:
    def mean(total: str, count: str) -> float | None:
        return counts[total] / counts[count] if counts[count] else None

    return {
        "requests": counts["requests"],
        "answers": counts["answers"],
        "failures": counts["failures"],
        "quality": mean("quality", "answers"),
        "dollars": mean("dollars", "priced"),
        "latency": mean("latency", "timed"),
    }
