"""A policy's diagnostics in sentences: what was found, why, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def explain(found: Mapping[str, Any]) -> list[str]:
    """Return sentences that say what diagnostics mean.

    Parameters
    ----------
    found
        What the parts of a policy told.

    Examples
    --------
    >>> explain({"rounds": 0, "dim": None})
    ['Nothing has been seen yet.']
    """
    if found.get("dim") is None:
        return ["Nothing has been seen yet."]
    return [*_subspace(found), *_intersection(found)]


def _subspace(found: Mapping[str, Any]) -> Iterator[str]:
    rank, spectrum, edge = found.get("rank"), found.get("spectrum"), found.get("noise_edge")
    if rank is None:
        return
    directions = "1 direction" if rank == 1 else f"{rank} directions"
    if edge is not None and spectrum is not None:
        shown = f"Rank {rank} of {found['dim']}: {directions} stand{'s' if rank == 1 else ''} out of the noise"
        if spectrum[rank - 1] <= edge:
            yield f"Rank 1 of {found['dim']}: no direction stands out of the noise, and 1 is the least there can be."
        elif edge > 0.0:
            yield f"{shown}; the weakest has {spectrum[rank - 1] / edge:.2g} times the energy that noise could show."
        else:
            yield f"{shown}."
    error = found.get("projection_error", 1.0)
    if error is None:
        return
    worth = found.get("independent_vectors")
    seen = found["vectors_seen"]
    basis = f"{seen:,} vectors" + (f", worth {worth:,.0f} independent ones," if worth and worth < 0.9 * seen else "")
    if error >= 1.0:
        yield (
            f"From {basis} the subspace is not known yet (ε = 1): show more vectors with observe(), "
            "or wait, or use OFUL if it stays so."
        )
    else:
        yield f"From {basis} the subspace is known up to an angle whose sine is {error:.2g} (ε)."


def _intersection(found: Mapping[str, Any]) -> Iterator[str]:
    share = found.get("share_bound_by_projected")
    if share is None:
        return
    if found.get("rounds_contradicted"):
        yield "The two sets contradicted each other: see the warnings."
    if share >= 0.5:
        yield (
            f"The projected set decides in {share:.0%} of the choices; whether what pays lies outside of it, "
            "a cut cannot see."
        )
    else:
        yield (
            f"The projected set decides in {share:.0%} of the choices only: the subspace hardly helps; "
            "a smaller rank, or OFUL, would do as well."
        )
