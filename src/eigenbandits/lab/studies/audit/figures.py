"""The figure of an audit: the spectrum with the proposed rank, the projection error, the simulated regret."""

import numpy as np

from eigenbandits.lab.reporting.plots import Axis, Bars, Line, Mark, Panel, Plot, VerticalLine
from eigenbandits.lab.studies.audit.report import Audit
from eigenbandits.lab.studies.audit.simulation import SimulatedRegret


def overview(audit: Audit) -> Plot:
    """Return the figure as data."""
    panels = [_spectrum(audit), _projection(audit)]
    if audit.comparison is not None:
        panels.append(_regret(audit.comparison, audit.rounds))
    caption = f"{audit.vectors:,} vectors of {audit.dim} numbers; proposed m = {audit.rank}"
    return Plot(panels, columns=len(panels), caption=caption)


def _spectrum(audit: Audit) -> Panel:
    shares = audit.spectrum / audit.spectrum.sum()
    places = np.arange(1, len(shares) + 1)
    shown = shares > 1e-9
    marks: list[Mark] = [
        Line("eigenvalues", places[shown], shares[shown]),
        VerticalLine(audit.rank + 0.5, f"m = {audit.rank}, edge of the bulk"),
    ]
    if not audit.agree:
        marks.append(VerticalLine(audit.gap_rank + 0.5, f"m = {audit.gap_rank}, gap", dashed=True))
    title = "Spectrum around the mean" if audit.center == "mean" else "Spectrum"
    return Panel(title, Axis("direction", log=True), Axis("share of the energy", log=True), marks, legend=True)


def _projection(audit: Audit) -> Panel:
    marks: list[Mark] = [
        Line("estimated", [p.rounds for p in audit.projection], [p.estimated for p in audit.projection], markers="all")
    ]
    known = [(p.rounds, p.measured) for p in audit.projection if p.measured is not None]
    if known:
        rounds, measured = zip(*known, strict=True)
        marks.append(Line("distance to all", rounds, measured, markers="all"))
    title = f"Error of the subspace, {audit.arms} vectors a round"
    return Panel(title, Axis("rounds", log=True), Axis("‖P̂ − P‖", low=0.0, high=1.05), marks, legend=True)


def _regret(comparison: SimulatedRegret, rounds: int) -> Panel:
    marks: list[Mark] = []
    highest = 0.0
    for place, where in enumerate(comparison.places):
        means, errors = zip(*(loss.places[place] for loss in comparison.losses), strict=True)
        marks.append(Bars(f"θ* {where}", means, errors))
        highest = max(highest, *(mean + error for mean, error in zip(means, errors, strict=True)))
    policies = [loss.policy.replace(", ", ",\n") for loss in comparison.losses]
    axis = Axis("regret", low=0.0, high=1.06 * highest or 1.0)
    return Panel(f"Simulated regret after {rounds} rounds", Axis(categories=policies), axis, marks, legend=True)
