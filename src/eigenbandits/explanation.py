"""A policy's diagnostics in sentences: what was found, why, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# From this share on, what the estimate has outside the subspace is worth a word of doubt.
DOUBTFUL = 0.2
# Rewards before which the estimate says little.
EARLY = 100
_POWERS = {1: "ℓ₁/ℓ", 2: "(ℓ₁/ℓ)²", 3: "(ℓ₁/ℓ)³", 4: "(ℓ₁/ℓ)⁴", 6: "(ℓ₁/ℓ)⁶"}


def explain(found: Mapping[str, Any]) -> list[str]:
    """Return sentences that say what diagnostics mean.

    Parameters
    ----------
    found
        What `Policy.diagnostics` gives.

    Examples
    --------
    >>> explain({"rounds": 0, "dim": None})
    ['Nothing has been seen yet.']
    """
    if found.get("dim") is None:
        return ["Nothing has been seen yet."]
    return [*_subspace(found), *_graded(found), *_intersection(found)]


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


def _graded(found: Mapping[str, Any]) -> Iterator[str]:
    share, rewards = found.get("share_outside"), found.get("rewards_learned", 0)
    if share is None:
        return
    if "power_inside" in found:
        since = f"since reward {found['power_since']:,}" if found["power_since"] else "since the start"
        power = _POWERS.get(found["power_inside"])
        how = f"rises as {power} along the spectrum, the steepest" if power else "is even, the only one"
        yield f"Inside the subspace the ridge {how} that the rewards allow ({since})."
    if found.get("intercept"):
        yield "The rewards have a large offset of their own, which an intercept learns."
    if rewards < EARLY:
        yield f"With {rewards} rewards it is too early to tell whether what pays lies inside the subspace."
    elif share < DOUBTFUL:
        yield f"What pays lies inside the subspace: {share:.0%} of the estimate's energy is outside."
    else:
        yield (
            f"What pays lies partly outside the subspace ({share:.0%} of the estimate's energy): "
            "the low-rank assumption is doubtful here; compare with OFUL on logged data."
        )


def _intersection(found: Mapping[str, Any]) -> Iterator[str]:
    share = found.get("share_bound_by_projected")
    if share is None:
        return
    if found.get("rounds_contradicted"):
        yield "The two sets contradicted each other: see the warnings."
    if share >= 0.5:
        yield (
            f"The projected set decides in {share:.0%} of the choices; whether what pays lies outside of it, "
            'a cut cannot see: outside="shrunk" can.'
        )
    else:
        yield (
            f"The projected set decides in {share:.0%} of the choices only: the subspace hardly helps; "
            "a smaller rank, or OFUL, would do as well."
        )
