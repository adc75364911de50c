"""The router and ParetoBandit as policies of an experiment, and what is recorded of them."""

import logging
import warnings
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from eigenbandits.algorithms import EigenUCB
from eigenbandits.inputs import Array
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.studies.router.data import MODELS, PRICES
from eigenbandits.lab.studies.router.scenarios import FLASH, GEMINI, NEW_PRICE, Request, RequestsInstance
from eigenbandits.router import Model, Router, fitted_basis, model_policy
from eigenbandits.router.basis import decision_set
from eigenbandits.wrappers.budgeted import Budgeted

# Requests in a block of the learning curve, and in the window that shares are measured in.
BLOCK, WINDOW = 200, 50
# A model is adopted once it has this share of the last `ADOPTION_WINDOW` requests, for this many requests.
ADOPTED, ADOPTION_WINDOW, HELD = 0.1, 100, 50
# ParetoBandit's experiment sends the first requests to a new model, whatever they are.
BURN_IN = 20


class RouterPolicy:
    """The router of this library, on one of the budgets of the instance."""

    burn_in = 0

    def __init__(self, level: int, seed: int | None = None) -> None:
        self.level, self.seed = level, seed
        self.choices: list[int] = []
        self.phases: list[int] = []
        self.rewards: list[float] = []
        self.costs: list[float] = []

    def reveal(self, instance: RequestsInstance) -> None:
        """Read the budget and the models, and set up the router."""
        self.instance, self.budget = instance, float(instance.budgets[self.level])
        self.set_up()

    def set_up(self) -> None:
        """Set up the router."""
        models = [Model(name, PRICES.get(name)) for name in self.instance.models]
        # Read here, and not when the module is loaded: a calibration sets other values.
        self.router = Router(
            models, budget=self.budget or None, width=model_policy.WIDTH, memory=model_policy.MEMORY, seed=self.seed
        )
        self.names = list(self.instance.models)

    def choose(self, actions: Array) -> Any:
        """Choose a model for the current request."""
        request = self.instance.current
        if request.phase != (self.phases[-1] if self.phases else 0):
            self.turn(request.phase)
        return SimpleNamespace(index=self.send(request))

    def send(self, request: Request) -> int:
        """Return the place of the model that a request goes to."""
        self.route = self.router.route(request.vector)
        return self.names.index(self.route.model)

    def turn(self, phase: int) -> None:
        """Record what is announced at the start of a phase: a new model, a new price."""
        if self.instance.focus == FLASH:
            self.names.append(MODELS[FLASH])
            self.router.add(Model(MODELS[FLASH], PRICES[MODELS[FLASH]]))
        elif self.instance.scenario == "price" and phase > 1:
            self.router.reprice(MODELS[GEMINI], NEW_PRICE if phase == 2 else PRICES[MODELS[GEMINI]])

    def learn(self, decision: Any, reward: float) -> None:
        """Learn what the answer was worth and what it cost."""
        request = self.instance.current
        cost = float(request.costs[decision.index])
        self.choices.append(int(decision.index))
        self.phases.append(request.phase)
        self.rewards.append(reward)
        self.costs.append(cost)
        self.teach(request, decision.index, reward, cost)

    def teach(self, request: Request, place: int, reward: float, cost: float) -> None:
        """Hand the feedback to the router."""
        self.router.feedback(self.route.id, reward, cost)

    def diagnostics(self) -> dict[str, float]:
        """Return quality, spend and share of the focused model by phase, adaptation times and the learning curve."""
        choices, phases = np.array(self.choices), np.array(self.phases)
        rewards, costs = np.array(self.rewards), np.array(self.costs)
        focus = choices == self.instance.focus
        found: dict[str, float] = {"budget": self.budget}
        for phase in range(1, 4):
            # A scenario with one phase has the same numbers three times: columns are the same for all.
            inside = phases == min(phase, len(self.instance.phases) - 1)
            found[f"quality_{phase}"] = float(rewards[inside].mean())
            found[f"spent_{phase}"] = float(costs[inside].mean())
            found[f"share_{phase}"] = float(focus[inside].mean())
            found[f"adapted_{phase}"] = self._adapted(phase, focus, phases)
        for block in range(18):
            part = rewards[block * BLOCK : (block + 1) * BLOCK]
            found[f"block_{block:02d}"] = float(part.mean()) if len(part) else 0.0
        return found

    def _adapted(self, phase: int, focus: Array, phases: Array) -> float:
        """Return after how many requests of a phase the focused model's share is where it should be."""
        inside = focus[phases == phase].astype(np.float64)
        if not len(inside):
            return 0.0
        if self.instance.focus == FLASH:
            return _adopted(inside, self.burn_in)
        share = np.cumsum(inside)
        share[WINDOW:] -= share[:-WINDOW].copy()
        share = share[WINDOW - 1 :] / WINDOW
        before = focus[phases == 1].mean()
        reached = {
            ("price", 2): share >= 0.5,
            ("price", 3): share <= before + 0.05,
            ("degraded", 2): share <= 0.25,
            ("degraded", 3): share >= 0.5 * before,
        }.get((self.instance.scenario, phase))
        if reached is None:
            return 0.0
        return float(reached.argmax() + WINDOW) if reached.any() else float(len(inside))


class BudgetedPolicy(RouterPolicy):
    """`Budgeted` alone, which learns the costs too, in the leading directions of the prompts of `val`."""

    def set_up(self) -> None:
        """Set up the policy."""
        self.names = list(self.instance.models)
        self.basis = fitted_basis(self.instance.data["val_vectors"])
        self.policy = Budgeted(EigenUCB(width=model_policy.WIDTH, seed=self.seed), self.budget)

    def send(self, request: Request) -> int:
        """Return the place of the model that a request goes to."""
        row = self.basis.read(request.vector[None])[0]
        self.decision = self.policy.choose(decision_set(row, len(self.names)))
        return self.decision.index

    def teach(self, request: Request, place: int, reward: float, cost: float) -> None:
        """Hand the feedback to the policy."""
        self.policy.learn(self.decision, reward, cost=cost)


class ParetoPolicy(RouterPolicy):
    """ParetoBandit 0.1.1 with the settings of its experiments, its PCA of 25 components and its budget pacer.

    It starts from the priors that it ships, or from nothing, with the settings that it lists for that.
    """

    burn_in = BURN_IN

    def __init__(self, level: int, priors: bool, seed: int | None = None) -> None:
        super().__init__(level, seed)
        self.priors = priors
        self.burning = 0

    def set_up(self) -> None:
        """Set up the router; its models are in the order of the data."""
        self.names = list(self.instance.models)
        self.router: Any = pareto_router(self.budget, self.priors)

    def send(self, request: Request) -> int:
        """Return the place of the model that a request goes to."""
        self.features = pareto_features(request.vector)
        if self.burning:
            return FLASH
        model, self.log = self.router.route(self.features)
        return self.names.index(model)

    def turn(self, phase: int) -> None:
        """Record what is announced at the start of a phase, as in its experiments."""
        if self.instance.focus == FLASH:
            self.names.append(MODELS[FLASH])
            first, second = PRICES[MODELS[FLASH]]
            self.router.register_model(
                MODELS[FLASH], speed="fast", cost_usd=first, blended_cost_per_m=0.5 * (first + second)
            )
            self.burning = BURN_IN
        elif self.instance.scenario == "price" and phase > 1:
            first, second = NEW_PRICE if phase == 2 else PRICES[MODELS[GEMINI]]
            self.router.update_model_pricing(MODELS[GEMINI], input_cost_per_m=first, output_cost_per_m=second)

    def teach(self, request: Request, place: int, reward: float, cost: float) -> None:
        """Learn; the cost that was paid replaces the expected one, as in its own experiments."""
        if self.burning:
            self.burning -= 1
            self.router.update(MODELS[FLASH], self.features, reward, advance_time=True)
            if self.router.budget_pacer is not None:
                self.router.budget_pacer.observe(cost)
            return
        self.log.cost_usd = cost
        self.router.process_feedback(self.log.request_id, reward=reward)


def pareto_router(budget: float, priors: bool, dim: int = 26) -> Any:
    """Return ParetoBandit's router with its three models."""
    try:
        from pareto_bandit import config
        from pareto_bandit.budget_pacer import BudgetPacer
        from pareto_bandit.feature_service import FeatureService
        from pareto_bandit.router import BanditRouter
    except ImportError as error:
        raise LabError(f"ParetoBandit cannot be imported ({error}); pip install paretobandit==0.1.1.") from None
    logging.getLogger("pareto_bandit").setLevel(logging.ERROR)
    settings = config.BEST_K3_HPARAMS if priors else config.BEST_K3_TABULA_RASA_HPARAMS
    start: dict[str, Any] = {"priors": "none"}
    if priors:
        start = {"priors": "warmup", "warmup_path": str(config.DEFAULT_WARMUP_PRIORS_PATH)}
        start["prior_n_effective"] = settings["prior_n_effective"]
    return BanditRouter.create(
        feature_service=FeatureService.for_precomputed(dim),
        alpha=settings["alpha"],
        forgetting_factor=settings["forgetting_factor"],
        cost_penalty=0.0,
        budget_pacer=BudgetPacer(budget) if budget else None,
        **start,
    )


@lru_cache(maxsize=1)
def _pareto_pca() -> tuple[Array, Array]:
    import joblib
    from pareto_bandit import config

    with warnings.catch_warnings():  # a file of an older scikit-learn
        warnings.simplefilter("ignore")
        found = joblib.load(config.DEFAULT_PCA_PATH)
    return found.mean_, found.components_.T / np.sqrt(found.explained_variance_)


def pareto_features(vector: Array) -> Array:
    """Return a prompt as ParetoBandit sees it: the components of its own PCA, whitened, and a 1."""
    mean, components = _pareto_pca()
    return np.append((vector - mean) @ components, 1.0)


def _adopted(chosen: Array, burn_in: int) -> float:
    """Return the request at which a model is adopted, forced requests and the window after them apart; else all."""
    share = np.cumsum(chosen)
    share[ADOPTION_WINDOW:] -= share[:-ADOPTION_WINDOW].copy()
    share /= np.minimum(np.arange(1, len(chosen) + 1), ADOPTION_WINDOW)
    held = 0
    start = burn_in + ADOPTION_WINDOW if burn_in else 0
    for place in range(start, len(share)):
        held = held + 1 if share[place] >= ADOPTED else 0
        if held == HELD:
            return float(place - HELD + 2)
    return float(len(chosen))
