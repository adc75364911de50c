"""The whole space: no structure is assumed."""

from eigenbandits.subspace.base import Subspace


class Whole(Subspace):
    """All directions count equally, as OFUL assumes.

    Examples
    --------
    >>> Whole().frame() is None
    True
    """
