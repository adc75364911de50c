"""scikit-learn's conventions, and the same estimates as ridge regression where that is what the policy is."""

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.adapters.estimator import PolicyRegressor


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    return X, X @ [1.0, -2.0, 0.0, 0.5] + 0.1 * rng.standard_normal(60)


def test_greedy_predicts_as_ridge_regression(data):
    X, y = data
    theta = np.linalg.solve(X.T @ X + np.eye(4), X.T @ y)
    model = PolicyRegressor(eb.Greedy()).fit(X, y)
    assert model.predict(X[:5]) == pytest.approx(X[:5] @ theta)
    assert model.choose(np.eye(4)) == int(np.argmax(theta))
    assert model.score(X, y) == pytest.approx(1.0 - np.sum((y - X @ theta) ** 2) / np.sum((y - y.mean()) ** 2))


def test_pieces_lead_where_the_whole_does(data):
    X, y = data
    whole = PolicyRegressor(eb.Greedy()).fit(X, y)
    given = eb.Greedy()
    pieces = PolicyRegressor(given)
    for part in (slice(0, 10), slice(10, 11), slice(11, 60)):
        pieces.partial_fit(X[part], y[part])
    assert pieces.predict(X) == pytest.approx(whole.predict(X), rel=1e-9)
    assert given.diagnostics().rewards_learned == 0  # the one given stays as it is


def test_predicting_teaches_nothing(data):
    X, y = data
    one, other = PolicyRegressor().fit(X, y), PolicyRegressor().fit(X, y)
    one.predict(3.0 * X)
    assert one.predict(X).tolist() == other.predict(X).tolist()
    assert one.policy_.diagnostics().rewards_learned == 60
    sets = [np.random.default_rng(seed).standard_normal((5, 4)) for seed in range(20)]
    assert [one.choose(actions) for actions in sets] == [other.choose(actions) for actions in sets]


def test_it_is_cloned_and_used_in_a_pipeline(data):
    sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = data
    model = PolicyRegressor(eb.Greedy()).fit(X, y)
    assert not hasattr(sklearn.base.clone(model), "policy_")
    whole = make_pipeline(StandardScaler(), PolicyRegressor()).fit(X, y)
    assert whole.score(X, y) > 0.95


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="has not learned yet"):
        PolicyRegressor().predict([[1.0]])
    with pytest.raises(ValueError, match="ridge is not a parameter; expected policy"):
        PolicyRegressor().set_params(ridge=1.0)
    with pytest.raises(ValueError, match="vectors of length 2; this policy has seen vectors of length 3"):
        PolicyRegressor().fit(np.eye(3), [0.0, 1.0, 2.0]).partial_fit(np.eye(2), [0.0, 1.0])
