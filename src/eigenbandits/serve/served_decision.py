"""`ServedDecision`: what callers learn about a decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class ServedDecision:
    """A decision that the service has made and put on disk.

    A field that is added here is a field of the response, of the OpenAPI document and of the client's result, and a
    column of the log; `storage.schema.DecisionRow` adds those that callers do not see.

    Attributes
    ----------
    decision
        Its id: send it back with the reward.
    index
        Which of the actions, or of the items offered, was chosen.
    item
        The id of the chosen item, where there is a catalogue.
    round
        The policy's round, from 1.
    estimate
        The estimated value.
    upper
        The optimistic (or sampled) value that won.
    propensity
        The probability of the choice, where the rule is randomized.
    cost
        What it costs, as sent or as expected, where the policy has a budget.
    """

    decision: str
    index: int
    item: str | None
    round: int
    estimate: float
    upper: float
    propensity: float | None
    cost: float | None

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Self:
        """Return it from the service's response; fields that a newer service adds are left out."""
        known: dict[str, Any] = {name: answer.get(name) for name in cls.__dataclass_fields__}
        return cls(**known)
