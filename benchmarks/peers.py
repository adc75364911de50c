"""The libraries that people use today, each behind the same two calls, by the fastest way that it offers publicly."""

from __future__ import annotations

import itertools
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Vowpal:
    """`--cb_explore_adf`; features are handed over as Python numbers, and the examples are built once in a round."""

    def __init__(self, exploration: str) -> None:
        pyvw = import_module("vowpalwabbit.pyvw")

        self._vw = pyvw.Workspace(f"--cb_explore_adf --{exploration} --noconstant --quiet --random_seed 1")
        self._example = pyvw.Example
        self._label = pyvw.LabelType.CONTEXTUAL_BANDIT
        self._rng = np.random.default_rng(0)
        self._examples: list[Any] = []
        self._chosen, self._probability = 0, 1.0

    def choose(self, actions: Array) -> int:
        """Draw an action from the distribution that VW returns."""
        self._examples = [self._build(row) for row in actions.tolist()]
        distribution = np.array(self._vw.predict(self._examples))
        draw = np.searchsorted(np.cumsum(distribution), self._rng.random() * distribution.sum(), side="right")
        self._chosen = min(int(draw), len(actions) - 1)
        self._probability = float(distribution[self._chosen])
        return self._chosen

    def _build(self, row: list[float]) -> Any:
        example = self._example(self._vw, None, self._label)
        example.push_features("a", list(zip(itertools.count(), row, strict=False)))
        example.setup_example()
        return example

    def learn(self, action: Array, reward: float) -> None:
        """Label the chosen example, with the reward as a negative cost, and learn from the set."""
        example = self._examples[self._chosen]
        example.unsetup_example()
        example.set_label_string(f"0:{-reward}:{self._probability}")
        example.setup_example()
        self._vw.learn(self._examples)
        self._vw.finish_example(self._examples)


class Coba:
    """Coba's LinUCB, which takes action features as lists."""

    def __init__(self) -> None:
        self._policy = import_module("coba.learners").LinUCBLearner(alpha=1.0, features=["a"], seed=1)
        self._last: tuple[Any, float] = (None, 0.0)

    def choose(self, actions: Array) -> int:
        """Return the index of the action that coba returns."""
        rows = actions.tolist()
        self._last = self._policy.predict(None, rows)
        return int(rows.index(self._last[0]))

    def learn(self, action: Array, reward: float) -> None:
        """Add one reward."""
        self._policy.learn(None, self._last[0], reward, self._last[1])


class BayesianBandits:
    """One shared normal regression; the arms' features of the round come through the arm featurizer."""

    def __init__(self, policy: str, arms: int, noise: float) -> None:
        bb = import_module("bayesianbandits")

        self._actions: Array = np.zeros((arms, 1))
        self._agent = bb.LipschitzContextualAgent(
            arms=[bb.Arm(token, learner=None) for token in range(arms)],
            policy=bb.ThompsonSampling() if policy == "thompson" else bb.UpperConfidenceBound(alpha=0.84),
            arm_featurizer=bb.FunctionArmFeaturizer(lambda context, tokens: self._actions[tokens].T[None]),
            learner=bb.NormalRegressor(alpha=1.0 / noise**2, beta=1.0 / noise**2),
            random_seed=0,
        )
        self._context = np.ones((1, 1))

    def choose(self, actions: Array) -> int:
        """Pull an arm."""
        self._actions = actions
        return int(self._agent.pull(self._context)[0])

    def learn(self, action: Array, reward: float) -> None:
        """Update with the arm pulled last."""
        self._agent.update(self._context, np.array([reward]))


class MabWiser:
    """One arm that stands for all: its upper bounds at the K action vectors, given as K contexts, rank the actions."""

    def __init__(self, dim: int) -> None:
        library = import_module("mabwiser.mab")
        self._mab = library.MAB([0], library.LearningPolicy.LinUCB(alpha=1.0, l2_lambda=1.0))
        # It cannot be asked before it was taught; a zero vector teaches nothing.
        self._mab.fit([0], [0.0], np.zeros((1, dim)))

    def choose(self, actions: Array) -> int:
        """Return the context with the highest bound."""
        found = self._mab.predict_expectations(actions)
        bounds = [entry[0] for entry in found] if isinstance(found, list) else [found[0]]
        return int(np.argmax(bounds))

    def learn(self, action: Array, reward: float) -> None:
        """Teach the one arm."""
        self._mab.partial_fit([0], [reward], action[None])


class ContextualBandits:
    """The regression behind its LinUCB, used as one shared model for all actions."""

    def __init__(self, single: bool, dim: int) -> None:
        regression = import_module("contextualbandits.linreg").LinearRegression
        self._model = regression(lambda_=1.0, fit_intercept=False, method="sm", use_float=single)
        # It cannot be asked before it was taught; a zero vector teaches nothing.
        self._model.fit(np.zeros((1, dim)), np.zeros(1))

    def choose(self, actions: Array) -> int:
        """Return the action with the highest bound."""
        return int(np.argmax(self._model.predict_ucb(actions, 1.0)))

    def learn(self, action: Array, reward: float) -> None:
        """Add one reward."""
        self._model.partial_fit(action[None], np.array([reward]))


class River:
    """River's Bayesian regression as one shared model, asked for each action's mean and variance, given as a dict."""

    def __init__(self, dim: int) -> None:
        self._model = import_module("river.linear_model").BayesianLinearRegression(alpha=1.0, beta=1.0)
        self._names = range(dim)
        self._rows: list[list[float]] = []
        self._chosen = 0

    def choose(self, actions: Array) -> int:
        """Return the action with the highest mean plus one standard deviation of the model."""
        self._rows = actions.tolist()
        bounds = []
        for row in self._rows:
            found = self._model.predict_one(dict(zip(self._names, row, strict=True)), with_dist=True)
            # The predictive variance holds the noise of one reward, 1/beta, too.
            bounds.append(found.mu + max(found.sigma**2 - 1.0, 0.0) ** 0.5)
        self._chosen = int(np.argmax(bounds))
        return self._chosen

    def learn(self, action: Array, reward: float) -> None:
        """Add one reward."""
        self._model.learn_one(dict(zip(self._names, self._rows[self._chosen], strict=True)), reward)
