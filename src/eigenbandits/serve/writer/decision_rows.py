"""Conversion between decisions and rows of the log."""

from typing import Any

from numpy.typing import NDArray

from eigenbandits.policy import Decision
from eigenbandits.serve.storage.schema import DecisionRow
from eigenbandits.serve.writer.catalogue import Catalogue
from eigenbandits.serve.writer.decision_sets import DecisionSet, ListMember
from eigenbandits.serve.writer.event_codec import Forecast, encode_decision
from eigenbandits.wrappers.budgeted import PricedDecision


def decision_row(
    policy: int,
    catalogue: Catalogue | None,
    decision_set: DecisionSet,
    decision: Decision,
    number: int,
    request: str | None,
    now: float,
    epoch: int,
    *,
    chooser: int | None = None,
    place: int = 0,
    belief: int | None = None,
) -> DecisionRow:
    """Return the row of a decision; `place` is its place in a list, `belief` the version of the belief that made it."""
    logged = decision_set.options.logged
    return DecisionRow(
        policy=policy,
        round=number,
        request=request,
        index=decision.index,
        size=decision_set.size(catalogue),
        item=decision_set.item(catalogue, decision.index),
        propensity=decision.propensity if logged is None else logged.propensity,
        estimate=decision.estimate,
        upper=decision.upper,
        decided_at=now,
        content=encode_decision(ListMember(place) if place else decision_set, decision.forecast),
        epoch=epoch,
        chooser=chooser,
        belief=belief,
        cost=decision.cost if isinstance(decision, PricedDecision) else None,
    )


def bare_decision(
    index: int,
    action: NDArray[Any],
    round_: int,
    lifted: NDArray[Any] | None,
    forecast: Forecast | None,
    cost: float | None,
) -> Decision:
    """Return a decision with only what learning needs."""
    if cost is None:
        return Decision(index, action, round_, 0.0, 0.0, lifted=lifted, forecast=forecast)
    return PricedDecision(index, action, round_, 0.0, 0.0, lifted=lifted, forecast=forecast, cost=cost)
