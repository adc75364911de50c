"""A policy's diagnostics in sentences: the findings, the reasons, and what to do about them."""

from collections.abc import Iterator, Mapping
from typing import Any

# The weight is a probability: if the model holds, a warning at this weight is wrong at most one time in twenty.
_SURE = 0.95


def explain(report: Mapping[str, Any]) -> list[str]:
    """Return sentences that explain the report of a policy's parts.

    Examples
    --------
    >>> explain({"rounds": 0, "dim": None})
    ['Nothing has been seen yet.']
    """
    if report.get("dim") is None:
        return ["Nothing has been seen yet."]
    return [*_subspace(report), *_prior(report), *_intersection(report)]


def warn(report: Mapping[str, Any]) -> list[str]:
    """Return what someone should know before trusting the subspace.

    Examples
    --------
    >>> warn({"shapes": {"0": 1.0, "1": 0.0}})[0].partition(":")[0]
    'The subspace does not help here'
    """
    shapes = report.get("shapes")
    if not shapes or shapes.get("0", 0.0) < _SURE:
        return []
    return [
        "The subspace does not help here: the rewards favor a prior that ignores the spectrum, "
        f"with a weight of {shapes['0']:.1%}. The reward depends on directions outside those in which the vectors "
        "vary most; OFUL with a suitable ridge would do as well."
    ]


def _subspace(report: Mapping[str, Any]) -> Iterator[str]:
    rank, spectrum, edge = report.get("rank"), report.get("spectrum"), report.get("noise_edge")
    if rank is None:
        return
    directions = "1 direction" if rank == 1 else f"{rank} directions"
    if edge is not None and spectrum is not None:
        shown = f"Rank {rank} of {report['dim']}: {directions} stand{'s' if rank == 1 else ''} out from the noise"
        if spectrum[rank - 1] <= edge:
            yield f"Rank 1 of {report['dim']}: no direction stands out from the noise; 1 is the smallest rank."
        elif edge > 0.0:
            yield f"{shown}; the weakest has {spectrum[rank - 1] / edge:.2g} times the energy that noise could produce."
        else:
            yield f"{shown}."
    error = report.get("projection_error", 1.0)
    if error is None:
        return
    worth = report.get("independent_vectors")
    seen = report["vectors_seen"]
    basis = f"{seen:,} vectors" + (f", worth {worth:,.0f} independent ones," if worth and worth < 0.9 * seen else "")
    if error < 1.0:
        yield f"From {basis} the subspace is known up to an angle whose sine is {error:.2g} (ε)."
    elif "shapes" not in report:
        # A prior that follows the spectrum does not depend on the bound.
        yield (
            f"From {basis} the subspace is not known yet (ε = 1): show more vectors with observe(), "
            "or wait, or use OFUL if this does not change."
        )


def _prior(report: Mapping[str, Any]) -> Iterator[str]:
    """Explain which shape of the prior the rewards favor, and how large signal and noise are."""
    shapes, widths = report.get("shapes"), report.get("widths")
    if not shapes or not widths:
        return
    if not report.get("rewards_learned"):
        yield "No reward has arrived yet: every shape of the prior is equally likely."
        return
    shape = max(shapes, key=lambda name: float(shapes[name]))
    weight = f"(weight {shapes[shape]:.0%})"
    if shape == "cut":
        yield (
            f"The rewards favor a prior that cuts the spectrum {weight}: every direction that stands out from the "
            "noise is equally likely to matter, and the rest hardly matter."
        )
    else:
        favored = f"The rewards favor a prior that follows the spectrum to the power {shape} {weight}"
        half = 2.0 ** float(shape)
        if half == 1.0:
            yield f"{favored}: every direction is equally likely to matter."
        else:
            yield f"{favored}: a direction with half the variance is expected to have 1/{half:g} of the squared weight."
    signal, noise = float(widths["signal"]), float(widths["noise"])
    words = f"Signal {signal:.2g}, noise {noise:.2g}, both learned as standard deviations of a reward"
    if signal >= noise:
        yield f"{words}: one reward says a lot about an action."
    else:
        yield f"{words}: it takes about {(noise / signal) ** 2:,.0f} rewards to tell actions apart."


def _intersection(report: Mapping[str, Any]) -> Iterator[str]:
    share = report.get("share_bound_by_projected")
    if share is None:
        return
    if report.get("rounds_contradicted"):
        yield "The two sets contradicted each other: see the warnings."
    if share >= 0.5:
        yield (
            f"The projected set decides {share:.0%} of the choices; a cut cannot show whether the reward depends on "
            "directions outside of it."
        )
    else:
        yield (
            f"The projected set decides only {share:.0%} of the choices: the subspace hardly helps; "
            "a smaller rank, or OFUL, would do as well."
        )
