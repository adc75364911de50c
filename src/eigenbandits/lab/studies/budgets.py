"""Answers of language models under a budget: spending and quality, from the cheapest to the most expensive."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from eigenbandits.algorithms import EigenUCB
from eigenbandits.environments import Round
from eigenbandits.inputs import Array
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments.experiment import Experiment
from eigenbandits.lab.experiments.recording import Record
from eigenbandits.lab.experiments.results import Results
from eigenbandits.lab.reporting.tables import aligned, percent
from eigenbandits.lab.studies.router.data import read, write
from eigenbandits.lab.studies.router.report import paired
from eigenbandits.policy import Decision
from eigenbandits.wrappers.budgeted import Budgeted

LEVELS = 7
PHASES = ("val", "test")
OURS, PEER = "Budgeted", "ParetoBandit"
# With three models, and answers of which a few are bad, the usual width of 1 gave up on the most expensive model
# within 500 prompts in 8 of the seeds from 0 to 59, and this one in 2.
WIDTH = 2.0
LEGEND = """\
Learned on `val` in random order; then measured on `test`, where learning continues. Only the reward and the cost of the
chosen model are seen, after the choice. budget: dollars per answer. spent: mean over seeds of what was spent on `test`
over the budget, with the standard deviation and the largest excess of a run. quality: mean reward on `test`.
ahead: the mean of the paired differences in quality to ParetoBandit with its 95 % interval."""


def prepare(folder: Path, vectors: Path, out: Path) -> Path:
    """Write prompts, rewards and costs as one file of arrays, and return its path.

    Parameters
    ----------
    folder
        Holds val.jsonl and test.jsonl: in each line a `prompt`, and `arms` with the reward and the cost of each model.
    vectors
        An .npz file with the embeddings of the prompts in the order of the lines: `val` and `test`, of shape (n, d).
    out
        The file to write.
    """
    found: dict[str, Array] = {}
    try:
        with np.load(vectors) as embedded:
            for phase in PHASES:
                # Not splitlines(), which also splits at separators that prompts may hold.
                text = (folder / f"{phase}.jsonl").read_text(encoding="utf-8")
                lines = [json.loads(line) for line in text.split("\n") if line]
                models = list(lines[0]["arms"])
                for name in ("reward", "cost"):
                    found[f"{phase}_{name}s"] = np.array(
                        [[line["arms"][model][name] for model in models] for line in lines], dtype=np.float64
                    )
                found[f"{phase}_vectors"] = np.asarray(embedded[phase], dtype=np.float64)
    except (OSError, KeyError, ValueError) as error:
        raise LabError(f"cannot read the answers in {folder} with the vectors in {vectors}: {error}.") from None
    for phase in PHASES:
        count = len(found[f"{phase}_vectors"])
        if count != len(found[f"{phase}_costs"]):
            raise LabError(f"{vectors} has {count} vectors for {phase}; expected one for each line.")
    return write(out, found)


@dataclass(frozen=True)
class PricedAnswers:
    """Prompts, each with one action per model: the prompt's vector and a 1, in the place that belongs to the model.

    Parameters
    ----------
    file : str
        What `prepare` wrote.
    rank : int
        Principal components of the prompts of `val` that their vectors are reduced to; rewards and costs play no part.
    """

    file: str
    rank: int = 25

    @property
    def name(self) -> str:
        """A short name."""
        return f"PricedAnswers(rank={self.rank})"

    def instance(self, seed: int) -> AnswersInstance:
        """Return the prompts in the order that belongs to a seed."""
        return AnswersInstance(read(self.file), self.rank, seed)


class AnswersInstance:
    """One order of the prompts.

    Attributes
    ----------
    budgets : ndarray
        Log-spaced from the cheapest to the most expensive model's mean cost on `test`.
    learned : int
        The number of prompts of `val`.
    context, costs : ndarray
        Of the current round: the prompt's components, scaled to variance 1, and a 1; what each model costs.
    """

    theta = basis = np.zeros(0)
    structure = action_bound = None
    noise = theta_bound = 0.0

    def __init__(self, data: Mapping[str, Array], rank: int, seed: int) -> None:
        self.data, self.seed = data, seed
        known = data["val_vectors"]
        self._mean = known.mean(axis=0)
        _, sizes, directions = np.linalg.svd(known - self._mean, full_matrices=False)
        self._basis = directions[:rank].T
        self._scale = sizes[:rank] / np.sqrt(len(known) - 1)
        self.learned, self.rounds_known = len(known), len(known) + len(data["test_vectors"])
        means = data["test_costs"].mean(axis=0)
        self.budgets = np.geomspace(means.min(), means.max(), LEVELS)
        self.context = self.costs = np.zeros(0)

    def rounds(self) -> Iterator[Round]:
        """Go through `val` and then `test`, each in random order."""
        rng = np.random.default_rng(self.seed)
        for phase in PHASES:
            parts = (self.data[f"{phase}_vectors"] - self._mean) @ self._basis
            rewards, costs = self.data[f"{phase}_rewards"], self.data[f"{phase}_costs"]
            models = np.eye(rewards.shape[1])
            for row in rng.permutation(len(parts)):
                self.context = np.append(parts[row] / self._scale, 1.0)
                self.costs = costs[row]
                yield Round(np.kron(models, np.append(parts[row], 1.0)), rewards[row], 0.0)


class BudgetMonitor:
    """A policy with a budget that pays for its choices, and what it spends and earns on `test`.

    Parameters
    ----------
    level : int
        Which of the instance's budgets.
    width : float
        How optimistic to be; see `WIDTH`.
    seed : int, optional
        Seed of the policy.
    """

    def __init__(self, level: int, width: float = 1.0, seed: int | None = None) -> None:
        self.level, self.width, self.seed = level, width, seed
        self.rounds = 0
        self.paid = self.earned = 0.0

    def reveal(self, instance: AnswersInstance) -> None:
        """Read the budget, and set up the policy."""
        self.instance, self.budget = instance, float(instance.budgets[self.level])
        self.set_up()

    def set_up(self) -> None:
        """Set up the policy."""
        self.policy = Budgeted(EigenUCB(width=self.width, seed=self.seed), self.budget)

    def choose(self, actions: Array) -> Any:
        """Choose a model."""
        return self.policy.choose(actions)

    def teach(self, decision: Any, reward: float, cost: float) -> None:
        """Learn what the answer was worth and what it cost."""
        self.policy.learn(decision, reward, cost=cost)

    def learn(self, decision: Decision, reward: float) -> None:
        """Pay, and learn."""
        cost = float(self.instance.costs[decision.index])
        self.rounds += 1
        if self.rounds > self.instance.learned:
            self.paid += cost
            self.earned += reward
        self.teach(decision, reward, cost)

    def diagnostics(self) -> dict[str, float]:
        """Return the mean quality on `test`, and what was spent there over the budget."""
        count = max(self.rounds - self.instance.learned, 1)
        return {"budget": self.budget, "quality": self.earned / count, "spent": self.paid / count / self.budget}


class ParetoMonitor(BudgetMonitor):
    """ParetoBandit 0.1.1 with its default settings, its budget pacer, and no priors."""

    def set_up(self) -> None:
        """Make the router; its models are in the order of the data."""
        try:
            from pareto_bandit.budget_pacer import BudgetPacer
            from pareto_bandit.feature_service import FeatureService
            from pareto_bandit.router import BanditRouter
        except ImportError as error:
            raise LabError(f"ParetoBandit cannot be imported ({error}); pip install paretobandit==0.1.1.") from None
        logging.getLogger("pareto_bandit").setLevel(logging.ERROR)
        service = FeatureService.for_precomputed(self.instance._basis.shape[1] + 1)
        self.router = BanditRouter.create(
            priors="none",
            feature_service=service,
            budget_pacer=BudgetPacer(self.budget),
            bandit_seed=self.seed,
            cost_penalty=0.0,
        )
        self.models = list(self.router.registry)

    def choose(self, actions: Array) -> Any:
        """Choose a model by the prompt's components."""
        model, self.log = self.router.route(self.instance.context)
        return SimpleNamespace(index=self.models.index(model))

    def teach(self, decision: Any, reward: float, cost: float) -> None:
        """Learn; the cost that was paid replaces the expected one, as in its own experiments."""
        self.log.cost_usd = cost
        self.router.process_feedback(self.log.request_id, reward=reward)


def experiment(file: Path, seeds: int = 20, first_seed: int = 1000, peer: bool = False) -> Experiment:
    """Return the experiment whose results `summarize` reads: every budget on every seed."""
    kinds: dict[str, tuple[type[BudgetMonitor], dict[str, float]]] = {OURS: (BudgetMonitor, {"width": WIDTH})}
    if peer:
        kinds[PEER] = (ParetoMonitor, {})
    environment = PricedAnswers(str(file.absolute()))
    return Experiment(
        name="budgets",
        policies={
            f"{name} {level}": {"kind": f"{kind.__module__}:{kind.__name__}", "level": level, **options}
            for name, (kind, options) in kinds.items()
            for level in range(LEVELS)
        },
        environments={"answers": environment},
        seeds=range(first_seed, first_seed + seeds),
        rounds=environment.instance(0).rounds_known,
        record=Record(points=1, accuracy=0),
        description="What is spent under a budget, and how good the answers are.",
    )


def summarize(results: Results) -> list[dict[str, Any]]:
    """Return one row for each budget: what was spent, the quality, and that of the peer where it ran."""
    budget, quality, spent = (results.final(name)[:, 0] for name in ("budget", "quality", "spent"))
    places = {name: place for place, name in enumerate(results.policies)}
    rows = []
    for level in range(LEVELS):
        ours, peer = places[f"{OURS} {level}"], places.get(f"{PEER} {level}")
        row: dict[str, Any] = {
            "budget": float(budget[ours].mean()),
            "spent": float(spent[ours].mean()),
            "spread": float(spent[ours].std()),
            "excess": float(spent[ours].max() - 1.0),
            "quality": float(quality[ours].mean()),
        }
        if peer is not None:
            ahead, half = paired(quality[ours], quality[peer])
            row |= {
                "peer_spent": float(spent[peer].mean()),
                "peer_quality": float(quality[peer].mean()),
                "ahead": ahead,
                "half": half,
            }
        rows.append(row)
    return rows


def report(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows of `summarize` as text."""
    headers = ["budget", "spent", "of a run", "largest excess", "quality"]
    compared = "ahead" in rows[0]
    if compared:
        headers += [f"{PEER}: spent", "quality", "ahead"]
    cells = []
    for row in rows:
        cell = [
            *(f"{row['budget']:.3g}", percent(row["spent"]), f"± {percent(row['spread'])}", percent(row["excess"])),
            f"{row['quality']:.4f}",
        ]
        if compared:
            ahead = f"{row['ahead']:.4f} ± {row['half']:.4f}"
            cell += [percent(row["peer_spent"]), f"{row['peer_quality']:.4f}", ahead]
        cells.append(cell)
    return "\n".join((aligned(headers, cells), "", LEGEND))
