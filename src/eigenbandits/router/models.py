"""`Model`: a language model that requests can be routed to, and its price."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from eigenbandits import inputs

Price = float | Sequence[float] | None


@dataclass(frozen=True)
class Model:
    """A language model.

    Parameters
    ----------
    name
        Its name, as upstreams know it.
    price
        Dollars per million tokens: one number, or a pair for input and output; None if unknown. What a request costs is
        learned from feedback; the price tells how that changes when a model is repriced.
    family
        The name of a model that this one resembles. When this one is added, it starts from some of that model's
        recent answers, which its own answers soon outweigh.

    Examples
    --------
    >>> Model("large", price=(2.0, 8.0)).mean_price
    5.0
    """

    name: str
    price: Price = None
    family: str | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"name is {self.name!r}; expected the name of a model.")
        object.__setattr__(self, "price", as_price(self.price))

    @property
    def mean_price(self) -> float:
        """The mean of the prices for input and output; NaN if there is none."""
        if self.price is None:
            return math.nan
        assert isinstance(self.price, tuple)
        return 0.5 * float(sum(self.price))


def as_price(price: Price) -> tuple[float, float] | None:
    """Return a price as a pair for input and output."""
    if price is None:
        return None
    pair = (price, price) if isinstance(price, int | float) else tuple(price)
    if len(pair) != 2:
        raise ValueError(f"price has {len(pair)} numbers; expected one, or a pair for input and output.")
    first, second = (inputs.number(one, "price", least=0.0) for one in pair)
    return first, second
