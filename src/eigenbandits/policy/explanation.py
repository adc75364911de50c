"""A policy's diagnostics in sentences: what was found, why, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# The weight is a probability: where the model holds, a warning at this one is wrong one time in twenty at most.
_SURE = 0.95


def explain(found: Mapping[str, Any]) -> list[str]:
    """Return sentences that say what the parts of a policy report.

    Examples
    --------
    >>> explain({"rounds": 0, "dim": None})
    ['Nothing has been seen yet.']
    """
    if found.get("dim") is None:
        return ["Nothing has been seen yet."]
    return [*_subspace(found), *_prior(found), *_intersection(found)]


def warn(found: Mapping[str, Any]) -> list[str]:
    """Return what a person should know before trusting the subspace.

    Examples
    --------
    >>> warn({"shapes": {"0": 1.0, "1": 0.0}})[0].partition(":")[0]
    'The subspace does not help here'
    """
    shapes = found.get("shapes")
    if not shapes or shapes.get("0", 0.0) < _SURE:
        return []
    return [
        "The subspace does not help here: the rewards favor a prior that ignores the spectrum, "
        f"with a weight of {shapes['0']:.1%}. What pays lies outside the directions in which the vectors "
        "differ most; OFUL with a ridge that fits would do as well."
    ]


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
    if error < 1.0:
        yield f"From {basis} the subspace is known up to an angle whose sine is {error:.2g} (ε)."
    elif "shapes" not in found:
        # A prior that follows the spectrum does not depend on the bound.
        yield (
            f"From {basis} the subspace is not known yet (ε = 1): show more vectors with observe(), "
            "or wait, or use OFUL if it stays so."
        )


def _prior(found: Mapping[str, Any]) -> Iterator[str]:
    """Say which shape of the prior the rewards favor, and how large signal and noise are."""
    shapes, widths = found.get("shapes"), found.get("widths")
    if not shapes or not widths:
        return
    if not found.get("rewards_learned"):
        yield "No reward has come yet: every shape of the prior is as likely as any other."
        return
    shape = max(shapes, key=lambda name: float(shapes[name]))
    weight = f"(weight {shapes[shape]:.0%})"
    if shape == "cut":
        yield (
            f"The rewards favor a prior that cuts the spectrum {weight}: every direction that stands out of the noise "
            "is as likely to matter as any other, and the rest hardly matter."
        )
    else:
        favored = f"The rewards favor a prior that follows the spectrum to the power {shape} {weight}"
        half = 2.0 ** float(shape)
        if half == 1.0:
            yield f"{favored}: every direction is as likely to matter as any other."
        else:
            yield f"{favored}: a direction with half the variance is expected to have 1/{half:g} of the squared weight."
    signal, noise = float(widths["signal"]), float(widths["noise"])
    words = f"Signal {signal:.2g}, noise {noise:.2g}, both learned as standard deviations of a reward"
    if signal >= noise:
        yield f"{words}: one reward says much about an action."
    else:
        yield f"{words}: it takes some {(noise / signal) ** 2:,.0f} rewards to tell actions apart."


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
