"""The arrays of the Open Bandit Pipeline: a dictionary of logged feedback, with the same actions in every round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenbandits.inputs import Array
from eigenbandits.offpolicy.log import Log

Featurizer = Callable[[Array, Array], ArrayLike]


def from_obp(feedback: Mapping[str, Any], vectors: Featurizer | None = None) -> Log:
    """Return a log from the Open Bandit Pipeline's feedback: context, action, reward, pscore, and action_context.

    Positions are ignored: in a log of several positions every row is an event of its own.

    Parameters
    ----------
    feedback
        As `obtain_batch_bandit_feedback` returns it.
    vectors
        Gives the decision set (K, d) of a round from its context (p,) and the action contexts (K, q). None takes the
        entry "actions" if `to_obp` wrote it, and otherwise the products of every number of the action's context with
        every number of the round's, and the action's own: with no action contexts, or one-hot ones, a model for each
        action.

    Returns
    -------
    Log
        Its decision sets are made on demand.

    Examples
    --------
    >>> feedback = {
    ...     "n_rounds": 2,
    ...     "n_actions": 3,
    ...     "context": np.array([[5.0], [7.0]]),
    ...     "action": np.array([0, 2]),
    ...     "reward": np.array([1.0, 0.0]),
    ...     "pscore": np.array([0.5, 0.25]),
    ... }
    >>> from_obp(feedback).decision_set(1).tolist()
    [[7.0, 0.0, 0.0, 1.0, 0.0, 0.0], [0.0, 7.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 7.0, 0.0, 0.0, 1.0]]
    """
    missing = [name for name in ("n_actions", "action", "reward", "pscore") if feedback.get(name) is None]
    if missing:
        raise ValueError(
            f"the feedback has no entry {missing[0]!r}; expected the dictionary that OBP's "
            "obtain_batch_bandit_feedback() returns, with n_actions, context, action, reward and pscore."
        )
    given = feedback.get("actions")
    sets = given if given is not None and vectors is None else _Sets.of(feedback, vectors)
    return Log(sets, feedback["action"], feedback["reward"], feedback["pscore"])


def to_obp(log: Log) -> dict[str, Any]:
    """Return a log as the Open Bandit Pipeline's feedback; every event must have the same number of actions.

    OBP has one context for a round and one for an action, but no vector for the two together: a round's context is
    its decision set, row by row, and an action's is one-hot. The sets themselves are in the entry "actions", which OBP
    ignores.
    """
    sizes = log.sizes
    if (sizes != sizes[0]).any():
        raise ValueError(
            f"the events offer from {sizes.min()} to {sizes.max()} actions; OBP's arrays have as many in every round. "
            "Write the log as dsjson, Parquet or .npz."
        )
    actions = np.stack([log.decision_set(event) for event in range(len(log))])
    return {
        "n_rounds": len(log),
        "n_actions": int(sizes[0]),
        "context": actions.reshape(len(log), -1),
        "action_context": np.eye(int(sizes[0])),
        "action": log.chosen,
        "position": None,
        "reward": log.earned,
        "pscore": log.probabilities,
        "actions": actions,
    }


class _Sets:
    """Decision sets from contexts, made one at a time: all of them at once may be too many to hold."""

    def __init__(self, context: Array, action_context: Array, vectors: Featurizer) -> None:
        self.context = context
        self.action_context = action_context
        self.vectors = vectors
        self.shape = (len(context), *np.shape(self[0])) if len(context) else (0, len(action_context), 1)

    @classmethod
    def of(cls, feedback: Mapping[str, Any], vectors: Featurizer | None) -> _Sets:
        """Read the contexts of the rounds and of the actions."""
        count, rounds = int(feedback["n_actions"]), len(feedback["action"])
        context = feedback.get("context")
        rows = np.ones((rounds, 1)) if context is None else np.asarray(context, dtype=np.float64)
        own = feedback.get("action_context")
        actions = np.eye(count) if own is None else np.asarray(own, dtype=np.float64)
        if rows.ndim != 2 or len(rows) != rounds or actions.ndim != 2 or len(actions) != count:
            raise ValueError(
                f"context has shape {rows.shape} and action_context {actions.shape}; expected ({rounds}, p) and "
                f"({count}, q), one row for each round and for each action."
            )
        return cls(rows, actions, _products if vectors is None else vectors)

    def __len__(self) -> int:
        return len(self.context)

    def __getitem__(self, event: int) -> Array:
        return np.asarray(self.vectors(self.context[event], self.action_context), dtype=np.float64)


def _products(context: Array, actions: Array) -> Array:
    """Return the products of each action's numbers with the round's, followed by its own numbers."""
    crossed = (context[:, None] * actions[:, None, :]).reshape(len(actions), -1)
    return np.concatenate([crossed, actions], axis=1)
