"""Decision: a choice that a policy has made, to be learned from when its reward is known."""

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
        The row of the decision set that was chosen.
    action
        That row itself.
    round
        The policy's round, counting from 1.
    estimate
        The estimated value of the action.
    upper
        The optimistic (or sampled) value with which the action won.
    propensity
        The probability with which the action was chosen, if the rule is randomized.
    lifted
        The chosen row as the belief sees it: centered, and with an intercept if there is one.
    forecast
        The belief's prediction for the decision, if the belief learns from its own forecasts.
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

    # Written out, since one decision is made per round and the __init__ of a frozen dataclass takes four times as long.
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
        """The model θ̃ (d,) that the choice followed, computed on demand."""
        if self._model is None:
            raise ValueError("this decision carries no model; only decisions returned by choose() do.")
        # A copy, since the array may be the belief's own; the intercept is not part of θ̃.
        return np.array(self._model()[: len(self.action)])

    @property
    def projection(self) -> Array | None:
        """The projection P̃ (d, d) that belongs to the model, computed on demand.

        None unless the rule is "joint" and the ambient set did not decide alone.
        """
        projection: Callable[[], Array] | None = getattr(self._model, "projection", None)
        return None if projection is None else projection()
