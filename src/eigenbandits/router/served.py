"""`ServedRouter`: choices made by a policy of the decision service, which keeps and shares what is learned."""

import math
import time
from collections.abc import Collection, Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits import inputs
from eigenbandits.router.basis import Basis, decision_set
from eigenbandits.router.model_policy import WIDTH
from eigenbandits.router.models import Model
from eigenbandits.router.prompts import Encoder, MiniLM
from eigenbandits.router.router import Route
from eigenbandits.serve.client import Client

Array = NDArray[np.float64]
# Half-life of answers: here nothing notices that a model has changed, and what has not been tried for long is worth
# trying again.
MEMORY = 1024.0


class ServedRouter:
    """A router on `eigenbandits serve`: several processes share one policy, and decisions survive restarts.

    Prompts are read in a fixed basis, since the service keeps sums of the rows that it was sent. Models may be added up
    to the number of slots, in any order but never renamed.

    Parameters
    ----------
    client
        A client of the service.
    policy
        The name of the policy, which is created if it does not exist.
    models
        The models, or their names; all processes must name them in the same order.
    basis
        Where prompts lie, from `fitted_basis`; all processes must use the same.
    encoder, weights
        As for `Router`.
    slots
        The most models that there will ever be.
    budget
        What an answer may cost on average, in the unit of the costs that `feedback` is given; None for no budget.
    """

    def __init__(
        self,
        client: Client,
        policy: str,
        models: Iterable[Model | str],
        basis: Basis,
        *,
        encoder: Encoder | None = None,
        weights: Mapping[str, float] | None = None,
        slots: int = 8,
        budget: float | None = None,
    ) -> None:
        self.models = [model if isinstance(model, Model) else Model(model) for model in models]
        self.slots = inputs.whole(slots, "slots", least=max(len(self.models), 1))
        self.client, self.policy, self.basis = client, policy, basis
        self.encoder: Encoder = MiniLM() if encoder is None else encoder
        self.weights = dict(weights or {})
        self.budget = budget
        more = {} if budget is None else {"budget": {"budget": budget}}
        client.create_policy(policy, "EigenUCB", {"width": WIDTH, "memory": MEMORY, "seed": 0}, **more)

    def route(self, prompt: str | ArrayLike, *, exclude: Collection[str] = ()) -> Route:
        """Choose a model for a prompt, or for its vector (d,)."""
        begin = time.perf_counter()
        vector = self.encoder(prompt) if isinstance(prompt, str) else prompt
        row = self.basis.read(inputs.as_action(vector, self.basis.dim, what="the prompt's vector")[None])[0]
        encoded = time.perf_counter()
        allowed = [place for place, model in enumerate(self.models) if model.name not in exclude]
        if not allowed:
            raise ValueError("exclude names every model; expected at least one that may be chosen.")
        made = self.client.decide(self.policy, decision_set(row, self.slots)[allowed])
        name = self.models[allowed[made.index]].name
        done = time.perf_counter()
        return Route(made.decision, name, made.estimate, 0.0, encoded - begin, done - encoded)

    def feedback(self, id: str, reward: float, cost: float | None = None, latency: float | None = None) -> str:
        """Learn from an answer; return "learned", or "repeated" if feedback was given before."""
        value = inputs.as_reward(reward)
        for name, amount in (("dollars", cost), ("latency", latency)):
            if name in self.weights:
                value -= self.weights[name] * (math.nan if amount is None else amount)
        paid = None if self.budget is None else cost
        return str(self.client.reward(self.policy, id, value, cost=paid))

    def add(self, model: Model | str) -> None:
        """Add a model in the next slot."""
        if len(self.models) == self.slots:
            raise ValueError(f"all {self.slots} slots are taken; make a new policy with more of them.")
        self.models.append(model if isinstance(model, Model) else Model(model))


def fitted_basis(prompts: ArrayLike, rank: int = 24) -> Basis:
    """Return the leading directions of prompts (n, d), such as yesterday's traffic."""
    basis = Basis(rank)
    basis.observe(inputs.as_actions(prompts, None, what="prompts"))
    basis.refresh()
    return basis
