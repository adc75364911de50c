"""Query ⊙ item: the score of a classifier or of a two-tower model as a linear bandit, with no training at all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits.inputs import Array, as_action, as_actions, whole


def product(
    query: ArrayLike, items: ArrayLike, dim: int | None = None, center: bool | ArrayLike = True, *, seed: int = 0
) -> Array:
    """Return a decision set in which θ* is the vector of ones: action k is item k times the query, number by number.

    The sum of an action's numbers is the inner product of its item with the query: the logit of a class, where the
    items are the weights of a classifier's last layer and the query is what that layer reads; the score, where both
    are embeddings. With `dim` the numbers are summed in random groups, which leaves that sum as it is. So the score
    of every action is exactly linear, and `theta = np.ones(dim)` would rank as the model does.

    Parameters
    ----------
    query : array of shape (d,) or (n, d)
        What is asked for: one vector, or several for one decision set each.
    items : array of shape (K, d)
        What can be chosen.
    dim : int, optional
        Numbers of each action, from 1 to d. None keeps all d.
    center : bool or array of shape (d,)
        True subtracts the items' mean from each of them; give the mean of the whole catalogue where `items` is a part
        of it. The scores of a decision set all change by the same number, so that their order stays, and what all
        actions share no longer fills the first directions of the subspace. The query is left as it is, for any change
        to it would change the order.
    seed : int
        Which groups; the same for all rounds of a bandit.

    Returns
    -------
    ndarray of shape (K, dim), or (n, K, dim) for several queries
        The decision set.

    Notes
    -----
    A classifier's bias takes part if it is appended to its weights, and a 1 to the query. Embeddings of a language
    model share a large mean: subtract the mean of the queries from each query too, where the ranking that this gives is
    the one that is wanted.

    Examples
    --------
    >>> import numpy as np
    >>> product([1.0, 2.0, 3.0], [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], center=False)
    array([[1., 0., 3.], [0., 2., 0.]])
    >>> rng = np.random.default_rng(0)
    >>> query, items = rng.standard_normal(2048), rng.standard_normal((1000, 2048))
    >>> actions = product(query, items, dim=100)
    >>> scores = (items - items.mean(axis=0)) @ query
    >>> actions.shape, bool(np.allclose(actions @ np.ones(100), scores))
    ((1000, 100), True)
    """
    return Product(items, dim, center, seed=seed)(query)


def centred(items: Array, center: bool | ArrayLike) -> Array:
    """Return the items without what they share: their mean, or the given one."""
    if isinstance(center, bool | np.bool_):
        return items - items.mean(axis=0) if center else items
    mean = as_action(center, None, what="center")
    if len(mean) != items.shape[1]:
        raise ValueError(f"center has length {len(mean)}; expected {items.shape[1]}, that of the items.")
    return items - mean


def group_of(width: int, dim: int, seed: int) -> NDArray[np.int64]:
    """Return for each of `width` numbers its group, from 0 to dim − 1: random ones whose sizes differ by at most 1.

    Examples
    --------
    >>> [int(count) for count in np.bincount(group_of(10, 4, seed=0))]
    [3, 3, 2, 2]
    >>> group_of(3, 3, seed=0)  # no groups: every number is its own
    array([0, 1, 2])
    """
    if whole(dim, "dim") > width:
        raise ValueError(f"dim is {dim}; expected at most {width}, the length of the items.")
    if dim == width:
        return np.arange(width)
    order = np.random.default_rng(whole(seed, "seed", least=0)).permutation(width)
    groups = np.empty(width, dtype=np.int64)
    groups[order] = np.arange(width) % dim
    return groups


class Product:
    """The same as `product` for a catalogue that stays: what depends on the items alone is done once.

    Parameters
    ----------
    items : array of shape (K, d)
        What can be chosen.
    dim, center, seed
        As for `product`.

    Attributes
    ----------
    classes, inputs, dim : int
        K, d, and the numbers of each action.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> items = rng.standard_normal((1000, 2048))
    >>> actions_for = Product(items, dim=100)
    >>> query = rng.standard_normal(2048)
    >>> bool(np.allclose(actions_for(query), product(query, items, dim=100)))
    True
    """

    def __init__(
        self, items: ArrayLike, dim: int | None = None, center: bool | ArrayLike = True, *, seed: int = 0
    ) -> None:
        rows = as_actions(items, None, what="items")
        width = rows.shape[1]
        self._keep(centred(rows, center), group_of(width, width if dim is None else dim, seed))

    @classmethod
    def grouped(cls, items: NDArray[Any], groups: NDArray[np.int64]) -> Product:
        """Return the map for items as they are, and the group of each of their d numbers."""
        made = cls.__new__(cls)
        made._keep(items, groups)
        return made

    def _keep(self, items: NDArray[Any], groups: NDArray[np.int64]) -> None:
        self.items, self.groups = items, groups
        self.classes, self.inputs = items.shape
        self.dim = int(groups.max()) + 1
        # Number by number, those of a group beside each other: each group is then one product with a small matrix.
        self._order = np.argsort(groups, kind="stable")
        self._ends = np.cumsum(np.bincount(groups))
        self._columns = np.ascontiguousarray(items.T[self._order])

    def __call__(self, query: ArrayLike) -> Array:
        """Return the decision set (K, dim) of a query (d,), or those (n, K, dim) of queries (n, d)."""
        given = np.asarray(query)
        one = given.ndim != 2
        queries = as_actions(as_action(given, None, what="query")[None] if one else given, None, what="query")
        if queries.shape[1] != self.inputs:
            raise ValueError(f"query has length {queries.shape[1]}; expected {self.inputs}, that of the items.")
        found = self.segments(queries)
        return found[0] if one else found

    def segments(self, queries: NDArray[Any], /) -> NDArray[Any]:
        """Return the decision sets (n, K, dim) of queries (n, d)."""
        if self.dim == self.inputs:
            return np.asarray(queries[:, None, :] * self.items)
        ordered = queries[:, self._order]
        found = np.empty((self.dim, len(queries), self.classes), dtype=np.result_type(queries, self.items))
        start = 0
        for group, end in enumerate(self._ends):
            np.matmul(ordered[:, start:end], self._columns[start:end], out=found[group])
            start = end
        return np.ascontiguousarray(found.transpose(1, 2, 0))

    def logits(self, queries: NDArray[Any], thetas: NDArray[Any], /) -> NDArray[Any]:
        """Return the scores (n, K, p) of all actions under models (p, dim)."""
        return np.stack([(queries * theta[self.groups]) @ self.items.T for theta in thetas], axis=2)
