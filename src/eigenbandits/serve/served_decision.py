"""`ServedDecision`: what callers see of a decision."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class ServedDecision:
    """A decision that the service has made and written to disk.

    A field added here becomes a field of the response, the OpenAPI document and the client's result, and a column of
    the log; `storage.schema.DecisionRow` adds the fields that callers do not see.

    Attributes
    ----------
    decision
        The decision's id: send it back with the reward.
    index
        The row of the actions, or of the items offered, that was chosen.
    item
        The id of the chosen item, if there is a catalogue.
    round
        The policy's round, counting from 1.
    estimate
        The estimated value.
    upper
        The optimistic (or sampled) value with which the action won.
    propensity
        The probability of the choice, if the rule is randomized.
    cost
        The action's cost, as sent or as expected, if the policy has a budget.
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
        """Return the decision in the service's response; fields that a newer service adds are ignored."""
        known: dict[str, Any] = {name: answer.get(name) for name in cls.__dataclass_fields__}
        return cls(**known)
