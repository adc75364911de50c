"""scikit-learn's interface for a policy: `partial_fit`, `predict`, `get_params`; scikit-learn is not needed."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from eigenbandits import inputs
from eigenbandits.algorithms import EigenUCB
from eigenbandits.inputs import Array
from eigenbandits.policy import Policy


class PolicyRegressor:
    """A policy as a regressor that learns in pieces and can choose what to try next.

    It fits in pipelines, in `clone` and in model selection as far as those need `fit`, `partial_fit`, `predict`,
    `score` and parameters.

    Parameters
    ----------
    policy
        The policy to copy, which is not modified; by default ``EigenUCB(seed=0)``.

    Attributes
    ----------
    policy_ : Policy
        The policy that has learned.
    n_features_in_ : int
        The length of the vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbandits.adapters.estimator import PolicyRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 5))
    >>> model = PolicyRegressor().partial_fit(X, X[:, 0] + 2.0)
    >>> model.predict([[1.0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]).round(1).tolist()
    [3.0, 2.0]
    >>> model.choose(np.eye(5))
    0
    """

    _estimator_type = "regressor"

    def __init__(self, policy: Policy | None = None) -> None:
        self.policy = policy

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {"policy": self.policy}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; an unknown one is refused."""
        for name, value in params.items():
            if name != "policy":
                raise ValueError(f"{name} is not a parameter; expected policy.")
            self.policy = value
        return self

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget what was learned, and learn from vectors (n, d) and their rewards (n,)."""
        fresh = EigenUCB(seed=0) if self.policy is None else self.policy.clone()
        return self._learn(fresh, X, y)

    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from further vectors and rewards."""
        if not hasattr(self, "policy_"):
            return self.fit(X, y)
        return self._learn(self.policy_, X, y)

    def _learn(self, policy: Policy, X: ArrayLike, y: ArrayLike) -> Self:
        array = inputs.as_actions(X, policy.dim, what="X")
        policy.observe(array)
        policy.learn_many(array, y)
        self.policy_, self.n_features_in_ = policy, array.shape[1]
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Return the estimated reward of each row; nothing is learned or observed.

        The belief is brought up to date first, as it is before a choice.
        """
        policy = self._fitted()
        lifted, _ = policy.lift(inputs.as_actions(X, policy.dim, what="X", dtype=policy.dtype), None)
        policy.belief.follow(policy.subspace.frame())
        return np.array(policy.belief.view(lifted).estimates(), dtype=np.float64)

    def choose(self, X: ArrayLike) -> int:
        """Return the row to try next, which need not be the one with the highest estimate."""
        return self._fitted().choose(X).index

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the coefficient of determination R² of the estimates."""
        rewards = np.asarray(y, dtype=np.float64)
        residual = float(np.square(rewards - self.predict(X)).sum())
        return 1.0 - residual / float(np.square(rewards - rewards.mean()).sum())

    def __sklearn_clone__(self) -> PolicyRegressor:
        """Return a copy that has learned nothing; otherwise scikit-learn would copy the policy's arrays."""
        return PolicyRegressor(None if self.policy is None else self.policy.clone())

    def __sklearn_tags__(self) -> Any:
        """Return the tags of a regressor; only scikit-learn calls this."""
        from sklearn.utils import RegressorTags, Tags, TargetTags

        return Tags("regressor", TargetTags(required=True), regressor_tags=RegressorTags())

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the model has learned anything."""
        return hasattr(self, "policy_")

    def _fitted(self) -> Policy:
        if not hasattr(self, "policy_"):
            raise ValueError("this PolicyRegressor has not learned yet; call fit() or partial_fit() first.")
        return self.policy_
