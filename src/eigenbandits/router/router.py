"""`Router`: chooses a language model for each prompt, under a budget, and learns from feedback."""

import math
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbandits import inputs
from eigenbandits.router import files
from eigenbandits.router.history import History
from eigenbandits.router.model_policy import MEMORY, WIDTH, ModelPolicy, Pick
from eigenbandits.router.models import Model, Price, as_price
from eigenbandits.router.prompts import Encoder, MiniLM

Array = NDArray[np.float64]
RESOURCES = ("dollars", "latency")
# Requests waiting for feedback, and ids of those that have had it; beyond this many the oldest are forgotten.
OPEN, DONE = 100_000, 100_000


class Route(NamedTuple):
    """The model that a request is sent to.

    Attributes
    ----------
    id
        Under which its feedback is given.
    model
        The name of the model.
    estimate
        The quality that is expected, less the charges of the weights.
    cost
        What is expected to be paid of the budgeted resource; 0 without a budget.
    encoding, routing
        Seconds that the encoder and the choice have taken.
    """

    id: str
    model: str
    estimate: float
    cost: float
    encoding: float
    routing: float


class _Open(NamedTuple):
    """A request that is waiting for feedback."""

    model: str
    number: int
    cost: float
    vector: NDArray[np.float32]
    pick: Pick | None
    epoch: int


class UnknownRequestError(ValueError):
    """Feedback with an id under which no request is waiting, or has been answered lately."""


class Router:
    """Chooses a language model for each prompt, keeps to a budget, and learns from feedback; may be used from threads.

    Parameters
    ----------
    models
        The models, or their names.
    encoder
        A function from a prompt to its vector; None for all-MiniLM-L6-v2 (`encoders.MiniLM`). Not needed where
        `route` is given vectors.
    budget
        Dollars that a request may cost on average, or ``{"latency": seconds}`` for a budget of time, or None.
    weights
        What a dollar and a second are worth in units of quality, such as ``{"latency": 0.02}``: subtracted from the
        reward before it is learned.
    rank
        Leading directions of the prompts that the belief works in.
    width
        How optimistic to be; see `EigenUCB`.
    memory
        Half-life in answers, or None; see `EigenUCB`. A model that changes is noticed without one.
    seed
        Seed of the policy.

    Examples
    --------
    >>> router = Router([Model("small", price=0.1), Model("large", price=(2.0, 8.0))], budget=0.001, seed=0)
    >>> route = router.route([0.1, 0.3, -0.2])  # or a prompt, which the encoder turns into a vector
    >>> router.feedback(route.id, reward=0.8, cost=0.0004), router.feedback(route.id, reward=0.8)
    ('learned', 'repeated')
    """

    def __init__(
        self,
        models: Iterable[Model | str],
        *,
        encoder: Encoder | None = None,
        budget: float | Mapping[str, float] | None = None,
        weights: Mapping[str, float] | None = None,
        rank: int = 24,
        width: float = WIDTH,
        memory: float | None = MEMORY,
        seed: int | None = None,
    ) -> None:
        self.models = [model if isinstance(model, Model) else Model(model) for model in models]
        names = [model.name for model in self.models]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"models has the names {names}; expected at least one model, each name once.")
        self.encoder: Encoder = MiniLM() if encoder is None else encoder
        self.budget = dict(budget) if isinstance(budget, Mapping) else {} if budget is None else {"dollars": budget}
        self.weights = _resources(weights or {}, "weights")
        _resources(self.budget, "budget")
        if len(self.budget) > 1:
            raise ValueError("budget names two resources; expected one. Give the other a weight.")
        self.rank, self.width, self.memory, self.seed = rank, width, memory, seed
        self._resource, limit = next(iter(self.budget.items()), ("dollars", None))
        self._policy = ModelPolicy([self._price(model) for model in self.models], limit, rank, width, memory, seed)
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._done: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.RLock()
        self.history = History()
        for name in names:
            self.history.add_model(name)

    @property
    def dim(self) -> int | None:
        """Dimension of the prompts' vectors; None before the first."""
        return self._policy.basis.dim or None

    @property
    def spent(self) -> float:
        """What the budgeted resource has cost so far; requests without feedback count with what is expected."""
        pacer = self._policy.pacer
        return math.nan if pacer is None else pacer.spent

    @property
    def price(self) -> float:
        """What one unit of the budgeted resource buys at the margin, in units of quality; 0 without a budget."""
        pacer = self._policy.pacer
        return 0.0 if pacer is None else pacer.current

    @property
    def changes(self) -> int:
        """How often a model was found to have become better or worse."""
        return self._policy.changes

    def encode(self, prompt: str | ArrayLike) -> Array:
        """Return the vector of a prompt; a vector is checked."""
        vector = self.encoder(prompt) if isinstance(prompt, str) else prompt
        return inputs.as_action(vector, self.dim, what="the prompt's vector")

    def observe(self, prompts: ArrayLike) -> None:
        """Learn where prompts lie from vectors (n, d) without answers, such as yesterday's traffic."""
        vectors = inputs.as_actions(prompts, self.dim, what="prompts")
        with self._lock:
            self._policy.observe(vectors)

    def route(self, prompt: str | ArrayLike, *, exclude: Collection[str] = ()) -> Route:
        """Choose a model for a prompt, or for its vector (d,).

        Parameters
        ----------
        prompt
            The prompt, or its vector.
        exclude
            Names of models that may not be chosen now.
        """
        begin = time.perf_counter()
        vector = self.encode(prompt)
        encoded = time.perf_counter()
        with self._lock:
            allowed = self._allowed(exclude) if exclude else None
            policy = self._policy
            policy.observe(vector[None])
            pick = policy.choose(vector, allowed)
            name, key = self.models[pick.place].name, secrets.token_hex(12)
            routing = time.perf_counter() - encoded
            encoding = encoded - begin if isinstance(prompt, str) else 0.0
            number = self.history.routed(name, encoding, routing)
            # A copy, as the caller may go on to use the array, in the precision that answers are kept in.
            self._open[key] = _Open(name, number, pick.cost, vector.astype(np.float32), pick, policy.epoch)
            if len(self._open) > OPEN:
                self._open.popitem(last=False)
        return Route(key, name, pick.estimate, pick.cost, encoding, routing)

    def feedback(self, id: str, reward: float, cost: float | None = None, latency: float | None = None) -> str:
        """Learn from the answer to a request, now or later, in any order.

        Parameters
        ----------
        id
            The id of its route.
        reward
            How good the answer was, higher for better.
        cost
            Dollars that it has cost, where that is known.
        latency
            Seconds that it has taken, where that is known.

        Returns
        -------
        str
            "learned"; or, where nothing is learned, "repeated" if feedback was given before, and "withdrawn" if the
            model has been withdrawn.
        """
        dollars, seconds = _amount(cost, "cost"), _amount(latency, "latency")
        value = inputs.as_reward(reward)
        for resource, weight in self.weights.items():
            amount = dollars if resource == "dollars" else seconds
            if math.isnan(amount):
                name = "cost" if resource == "dollars" else "latency"
                raise ValueError(f"{name} is missing; expected a number, as weights names {resource}.")
            value -= weight * amount
        with self._lock:
            opened = self._take(id)
            if opened is None:
                return "repeated"
            self.history.answered(opened.number, opened.model, float(reward), dollars, seconds)
            pick = opened.pick if opened.epoch == self._policy.epoch else None
            if pick is not None:
                place = pick.place
            elif any(model.name == opened.model for model in self.models):
                place = self._place(opened.model)
            else:
                return "withdrawn"
            paid = dollars if self._resource == "dollars" else seconds
            self._policy.learn(pick, opened.vector, place, value, paid, opened.cost)
        return "learned"

    def failed(self, id: str) -> None:
        """Record that a request had no answer: nothing is learned about the model, and nothing was spent."""
        with self._lock:
            opened = self._take(id)
            if opened is not None:
                self._policy.cancel(opened.cost)
                self.history.failed(opened.number, opened.model)

    def learn_log(
        self, models: Sequence[str], prompts: ArrayLike, rewards: ArrayLike, costs: ArrayLike | None = None
    ) -> None:
        """Start from logged answers: n names, vectors (n, d), n rewards, and n costs of the budgeted resource.

        Rewards have the charges of the weights subtracted already.
        """
        vectors = inputs.as_actions(prompts, self.dim, what="prompts")
        values = inputs.as_rewards(rewards, len(vectors))
        paid = np.full(len(vectors), math.nan) if costs is None else inputs.as_scores(costs, len(vectors), what="costs")
        if len(models) != len(vectors):
            raise ValueError(f"models has {len(models)} names; expected {len(vectors)}, one for each prompt.")
        with self._lock:
            places = [self._place(name) for name in models]
            self._policy.basis.observe(vectors)
            for row, place in enumerate(places):
                self._policy.answers.add(vectors[row], place, float(values[row]), float(paid[row]))
            self._policy.basis.refresh()
            self._policy.rebuild()

    def add(self, model: Model | str) -> None:
        """Add a model while the router runs."""
        new = model if isinstance(model, Model) else Model(model)
        with self._lock:
            if any(new.name == known.name for known in self.models):
                raise ValueError(f"there is already a model {new.name!r}; use reprice() to change its price.")
            family = None if new.family is None else self._place(new.family)
            factor = 1.0
            if family is not None and self._resource == "dollars":
                ratio = new.mean_price / (self.models[family].mean_price or math.nan)
                factor = 1.0 if math.isnan(ratio) else ratio
            self.models.append(new)
            self._policy.add_model(self._price(new), family, factor)
            self.history.add_model(new.name)

    def reprice(self, name: str, price: Price, factor: float | None = None) -> None:
        """Change the price of a model: what its answers have cost so far is taken times the ratio of the prices.

        Parameters
        ----------
        name
            The model.
        price
            The new price, as for `Model`.
        factor
            What a request now costs relative to before; by default the ratio of the new to the old price, input and
            output weighing the same.
        """
        new = as_price(price)
        if factor is not None:
            inputs.number(factor, "factor", least=0.0)
        with self._lock:
            place = self._place(name)
            old = self.models[place]
            self.models[place] = replace(old, price=new)
            ratio = self.models[place].mean_price / (old.mean_price or math.nan) if factor is None else factor
            self._policy.prices[place] = self._price(self.models[place])
            if self._resource == "dollars" and not math.isnan(ratio):
                self._policy.scale_costs(place, ratio)

    def set_budget(self, budget: float | None) -> None:
        """Change what a request may cost on average, in the resource of the budget so far; None for no limit."""
        if budget is not None:
            inputs.size(budget, "budget")
        with self._lock:
            self.budget = {} if budget is None else {self._resource: budget}
            self._policy.set_budget(budget)

    def withdraw(self, name: str) -> None:
        """Remove a model and what was learned about it; requests that it has answered can no longer be learned."""
        with self._lock:
            place = self._place(name)
            if len(self.models) == 1:
                raise ValueError(f"{name!r} is the only model; add another one first.")
            del self.models[place]
            self._policy.remove_model(place)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the router to a file, atomically; the encoder is not saved."""
        with self._lock:
            arrays = {"open": np.array([opened.vector for opened in self._open.values()])}
            settings = ("budget", "weights", "rank", "width", "memory", "seed")
            header = {
                "settings": {name: getattr(self, name) for name in settings},
                "models": [asdict(model) for model in self.models],
                # Under the name that files of this version have.
                "learner": self._policy.packed(arrays),
                "history": self.history.state(),
                "requests": [[key, opened.model, opened.number, opened.cost] for key, opened in self._open.items()],
                "done": list(self._done),
            }
            files.write(path, header, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str], encoder: Encoder | None = None) -> Self:
        """Read a router that `save` wrote; it continues exactly where that one was.

        Requests waiting for feedback still do, and are learned by their vectors.
        """
        header, arrays = files.read(path)
        try:
            router = cls([Model(**model) for model in header["models"]], encoder=encoder, **header["settings"])
            router._policy.unpack(header["learner"], arrays)
            router.history.restore(header["history"])
            router._open = OrderedDict(
                (key, _Open(model, number, cost, vector, None, -1))
                for (key, model, number, cost), vector in zip(header["requests"], arrays["open"], strict=True)
            )
            router._done = OrderedDict.fromkeys(header["done"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path} cannot be read as a router: {error}.") from error
        return router

    def _take(self, id: str) -> _Open | None:
        """Close an open request and return it; None if it was closed before."""
        if id in self._done:
            return None
        try:
            opened = self._open.pop(id)
        except KeyError:
            raise UnknownRequestError(
                f"no request {id!r} is waiting for feedback; expected the id of a Route."
            ) from None
        self._done[id] = None
        if len(self._done) > DONE:
            self._done.popitem(last=False)
        return opened

    def _allowed(self, exclude: Collection[str]) -> list[int] | None:
        """Return the places of the models that are not excluded; None for all."""
        allowed = [place for place, model in enumerate(self.models) if model.name not in exclude]
        if not allowed:
            raise ValueError("exclude names every model; expected at least one that may be chosen.")
        return None if len(allowed) == len(self.models) else allowed

    def _price(self, model: Model) -> float:
        """Return what a model charges of the budgeted resource relative to others; NaN if that is not known."""
        return model.mean_price if self._resource == "dollars" else math.nan

    def _place(self, name: str) -> int:
        for place, model in enumerate(self.models):
            if model.name == name:
                return place
        raise ValueError(f"there is no model {name!r}; expected one of {[m.name for m in self.models]}.")


def _resources(amounts: Mapping[str, float], what: str) -> dict[str, float]:
    for name, amount in amounts.items():
        inputs.one_of(name, f"a name in {what}", RESOURCES)
        inputs.size(amount, f"{what}[{name!r}]", zero=what == "weights")
    return dict(amounts)


def _amount(value: Any, name: str) -> float:
    return math.nan if value is None else inputs.number(value, name, least=0.0)
