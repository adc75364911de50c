"""The certified set of the whole space alone: one ridge, assuming only the noise and the bound on θ*."""

from typing import ClassVar

from eigenbandits import inputs
from eigenbandits.belief.ambient import Ambient


class WholeSet(Ambient):
    """‖θ − θ̂‖_Z ≤ Ω with a radius proven to hold in all rounds simultaneously (docs/certified.md, with one member).

    The ridge is λ = dR²/S², the prior that spreads S² evenly over d directions.

    Parameters
    ----------
    noise, theta_bound, delta
        R, S and δ, as for `Ambient`.

    Examples
    --------
    >>> import numpy as np
    >>> bounds = WholeSet(noise=0.5, theta_bound=1.0, delta=0.01)
    >>> bounds.start(4)
    >>> bounds.ridge
    1.0
    >>> bool(bounds.view(np.eye(4)).lowers().max() < -1.0)  # so far, only ‖θ*‖ ≤ 1 is known
    True
    """

    _state_names: ClassVar[tuple[str, ...]] = ("ridge", *Ambient._state_names)

    def __init__(self, noise: float, theta_bound: float, delta: float = 0.01) -> None:
        super().__init__(inputs.size(noise, "noise"), theta_bound, 1.0, delta, "mixture")

    def start(self, dim: int, intercept: float = 0.0) -> None:
        """Set up the set for vectors of length `dim`."""
        self.ridge = dim * (self.noise / self.theta_bound) ** 2
        super().start(dim, intercept)
