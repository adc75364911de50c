"""Features: decision sets from queries and items, such as a classifier's or a two-tower model's score as a bandit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits.inputs import Array, as_action, as_actions, whole

__all__ = ["Bilinear", "Product", "product"]


def product(
    query: ArrayLike, items: ArrayLike, dim: int | None = None, center: bool | ArrayLike = True, *, seed: int = 0
) -> Array:
    """Return a decision set in which θ* is the vector of ones: action k is item k times the query, elementwise.

    The sum of an action's numbers is the inner product of its item with the query: the logit of a class, if the items
    are the weights of a classifier's last layer and the query is that layer's input; the score, if both are embeddings.
    With `dim`, the numbers are summed in random groups, which leaves that sum unchanged. So the score of every action
    is exactly linear, and `theta = np.ones(dim)` would rank as the model does.

    Parameters
    ----------
    query : array of shape (d,) or (n, d)
        What is asked for: one vector, or several, with one decision set each.
    items : array of shape (K, d)
        What can be chosen.
    dim : int, optional
        Length of each action, from 1 to d. None keeps all d numbers.
    center : bool or array of shape (d,)
        True subtracts the items' mean from each of them; pass the mean of the whole catalogue if `items` is a part of
        it. All scores of a decision set change by the same amount, so that their order is preserved, and what all
        actions share no longer fills the first directions of the subspace. The query is unchanged, since any change to
        it would change the order.
    seed : int
        Determines the groups; use the same seed for all rounds of a bandit.

    Returns
    -------
    ndarray of shape (K, dim), or (n, K, dim) for several queries
        The decision set.

    Notes
    -----
    To include a classifier's bias, append it to its weights, and a 1 to the query. Embeddings of a language model share
    a large mean: subtract the mean of the queries from each query too, if the resulting ranking is the one you want.

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


def centered(items: Array, center: bool | ArrayLike) -> Array:
    """Return the items without what they share: their mean, or the given one."""
    if isinstance(center, bool | np.bool_):
        return items - items.mean(axis=0) if center else items
    mean = as_action(center, None, what="center")
    if len(mean) != items.shape[1]:
        raise ValueError(f"center has length {len(mean)}; expected {items.shape[1]}, the length of the items.")
    return items - mean


def group_of(width: int, dim: int, seed: int) -> NDArray[np.int64]:
    """Return the group of each of `width` numbers, from 0 to dim − 1: random groups whose sizes differ by at most 1.

    Examples
    --------
    >>> [int(count) for count in np.bincount(group_of(10, 4, seed=0))]
    [3, 3, 2, 2]
    >>> group_of(3, 3, seed=0)  # every number is a group of its own
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
    """The same as `product` for a fixed catalogue: work that depends on the items alone is done once.

    Parameters
    ----------
    items : array of shape (K, d)
        What can be chosen.
    dim, center, seed
        As for `product`.

    Attributes
    ----------
    classes, inputs, dim : int
        K, d, and the length of each action.

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
        self._keep(centered(rows, center), group_of(width, width if dim is None else dim, seed))

    @classmethod
    def grouped(cls, items: NDArray[Any], groups: NDArray[np.int64]) -> Product:
        """Return the map for items used as given, with the group of each of their d numbers."""
        product = cls.__new__(cls)
        product._keep(items, groups)
        return product

    def _keep(self, items: NDArray[Any], groups: NDArray[np.int64]) -> None:
        self.items, self.groups = items, groups
        self.classes, self.inputs = items.shape
        self.dim = int(groups.max()) + 1
        # Transposed, with the numbers of a group next to each other: each group is one product with a small matrix.
        self._order = np.argsort(groups, kind="stable")
        self._ends = np.cumsum(np.bincount(groups))
        self._columns = np.ascontiguousarray(items.T[self._order])

    def __call__(self, query: ArrayLike) -> Array:
        """Return the decision set (K, dim) of a query (d,), or those (n, K, dim) of queries (n, d)."""
        given = np.asarray(query)
        one = given.ndim != 2
        queries = as_actions(as_action(given, None, what="query")[None] if one else given, None, what="query")
        if queries.shape[1] != self.inputs:
            raise ValueError(f"query has length {queries.shape[1]}; expected {self.inputs}, the length of the items.")
        sets = self.segments(queries)
        return sets[0] if one else sets

    def segments(self, queries: NDArray[Any], /) -> NDArray[Any]:
        """Return the decision sets (n, K, dim) of queries (n, d)."""
        if self.dim == self.inputs:
            return np.asarray(queries[:, None, :] * self.items)
        ordered = queries[:, self._order]
        sums = np.empty((self.dim, len(queries), self.classes), dtype=np.result_type(queries, self.items))
        start = 0
        for group, end in enumerate(self._ends):
            np.matmul(ordered[:, start:end], self._columns[start:end], out=sums[group])
            start = end
        return np.ascontiguousarray(sums.transpose(1, 2, 0))

    def logits(self, queries: NDArray[Any], thetas: NDArray[Any], /) -> NDArray[Any]:
        """Return the scores (n, K, p) of all actions under models (p, dim)."""
        return np.stack([(queries * theta[self.groups]) @ self.items.T for theta in thetas], axis=2)


class Bilinear:
    """Decision sets in which θ is a matrix W between queries and items: the value of item x for query q is qᵀWx.

    `product` can weight each number of an embedding. This can also express that one feature of a query favors another
    feature of an item, which is how the meaning of a label differs from the words of its description. Of the d²
    products of a query's and an item's numbers, it takes those that vary most: with λ and μ the variances of queries
    and items along their principal directions, the pairs with the largest λᵢμⱼ, which are the principal directions of
    all q ⊗ x.

    The inner product qᵀx is not among these numbers; `scores` returns it, to be passed as a policy's `scores`, and W is
    then the correction of it (Jun et al. 2019).

    Parameters
    ----------
    queries : array of shape (n, d)
        Typical queries, a hundred or more, without rewards: they determine the mean and the directions.
    items : array of shape (K, p)
        What can be chosen.
    dim : int
        Length of each action. More numbers can express more, but cost more: time grows with the square.

    Attributes
    ----------
    dim : int
        Length of each action: the number requested, or the number of pairs available.

    References
    ----------
    Jun, Willett, Wright, Nowak. Bilinear Bandits with Low-rank Structure. ICML 2019.

    Examples
    --------
    >>> import numpy as np, eigenbandits as eb
    >>> rng = np.random.default_rng(0)
    >>> queries, items = rng.standard_normal((200, 8)), rng.standard_normal((5, 8))
    >>> features = eb.features.Bilinear(queries, items, dim=20)
    >>> features(queries[0]).shape, features.scores(queries[0]).shape
    ((5, 20), (5,))
    >>> policy = eb.EigenUCB(seed=0)
    >>> decision = policy.choose(features(queries[0]), scores=features.scores(queries[0]))
    >>> decision.index == features.scores(queries[0]).argmax()  # the score decides until rewards say otherwise
    np.True_
    """

    def __init__(self, queries: ArrayLike, items: ArrayLike, dim: int = 512) -> None:
        sample, rows = as_actions(queries, None, what="queries"), as_actions(items, None, what="items")
        self._query_mean, query_axes, query_spread = _principal(sample)
        self._item_mean, item_axes, item_spread = _principal(rows)
        pairs = np.multiply.outer(query_spread, item_spread)
        taken = np.argsort(-pairs, axis=None, kind="stable")[: whole(dim, "dim")]
        taken = taken[pairs.ravel()[taken] > 0.0]
        if not len(taken):
            raise ValueError("queries or items are all the same; expected at least two different ones of each.")
        first, second = np.unravel_index(taken, pairs.shape)
        self.dim = len(taken)
        self._query_axes, self._item_axes = query_axes[:, first], item_axes[:, second]
        # One scale for all actions: a root mean square length of 1, according to the sum of the pairs' variances.
        self._scale = 1.0 / np.sqrt(float(pairs.ravel()[taken].sum()))
        self._items = rows
        self._item_part = self._parts(rows, self._item_mean, self._item_axes)

    def __call__(self, query: ArrayLike, items: ArrayLike | None = None) -> Array:
        """Return the decision set (K, dim) of a query (d,), for the original items or for others."""
        vector = as_action(query, len(self._query_mean), what="query")
        part = self._item_part
        if items is not None:
            others = as_actions(items, len(self._item_mean), what="items")
            part = self._parts(others, self._item_mean, self._item_axes)
        return np.asarray(part * ((vector - self._query_mean) @ self._query_axes * self._scale))

    def scores(self, query: ArrayLike, items: ArrayLike | None = None) -> Array:
        """Return the inner products (K,) of a query with the items, if both have the same length."""
        vector = as_action(query, len(self._item_mean), what="query")
        rows = self._items if items is None else as_actions(items, len(self._item_mean), what="items")
        return np.asarray(rows @ vector)

    @staticmethod
    def _parts(rows: Array, mean: Array, axes: Array) -> Array:
        return np.ascontiguousarray((rows - mean) @ axes)


def _principal(rows: Array) -> tuple[Array, Array, Array]:
    """Return the mean of rows, their principal directions as columns, and their variances along these."""
    mean = np.asarray(rows.mean(axis=0))
    _, sizes, axes = np.linalg.svd(rows - mean, full_matrices=False)
    variances = sizes**2 / len(rows)
    # A variance at the level of rounding counts as 0.
    return mean, axes.T, np.where(sizes > 1e-10 * max(float(sizes[0]), np.finfo(float).tiny), variances, 0.0)
