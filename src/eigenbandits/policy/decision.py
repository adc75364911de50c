"""Decision: a choice that a policy has made, to be learned from when its reward is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from eigenbandits.inputs import Array


@dataclass(frozen=True, eq=False)
class Decision:
    """A choice made by a policy; pass it to `learn` with its reward, now or later.

    Attributes
    ----------
    index
        Which row of the decision set was chosen.
    action
        The row itself.
    round
        The policy's round, from 1.
    estimate
        The estimated value of the action.
    upper
        The optimistic (or sampled) value that won.
    propensity
        The probability with which the action was chosen, where the rule is randomized.
    lifted
        The row that the choice was made on, as the belief sees it: centered, and with an intercept where there is one.
    forecast
        What the belief predicted for the decision, if it learns from its own forecasts.
    """

    index: int
    action: Array
    round: int
    estimate: float
    upper: float
    propensity: float | None = None
    lifted: Array | None = field(default=None, repr=False)
    forecast: Array | None = field(default=None, repr=False)
    _model: Callable[[], Array] | None = field(default=None, repr=False)

    # By hand: one is made in every round, and the __init__ of a frozen dataclass takes four times as long.
    def __init__(
        self,
        index: int,
        action: Array,
        round: int,
        estimate: float,
        upper: float,
        propensity: float | None = None,
        lifted: Array | None = None,
        forecast: Array | None = None,
        _model: Callable[[], Array] | None = None,
    ) -> None:
        fields = self.__dict__
        fields["index"] = index
        fields["action"] = action
        fields["round"] = round
        fields["estimate"] = estimate
        fields["upper"] = upper
        fields["propensity"] = propensity
        fields["lifted"] = lifted
        fields["forecast"] = forecast
        fields["_model"] = _model

    @property
    def model(self) -> Array:
        """The model θ̃ (d,) that the choice followed, computed when asked for."""
        if self._model is None:
            raise ValueError("this decision carries no model; only decisions that come from choose() do.")
        # A copy, since the array may be the belief's own; the intercept is not part of θ̃.
        return np.array(self._model()[: len(self.action)])

    @property
    def projection(self) -> Array | None:
        """The projection P̃ (d, d) that belongs to the model, computed when asked for.

        Where the rule is "joint" and the ambient set has not decided alone; else None.
        """
        found: Callable[[], Array] | None = getattr(self._model, "projection", None)
        return None if found is None else found()
