"""What a policy keeps of its lead over a scorer when the encoder behind its vectors is replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbandits.algorithms import EigenUCB
from eigenbandits.features import Bilinear
from eigenbandits.inputs import Array, whole
from eigenbandits.lab.experiments import Experiment, Record, Results, entry
from eigenbandits.lab.reporting.tables import aligned, mean_with_error
from eigenbandits.lab.studies.problems.environments import orders
from eigenbandits.lab.studies.scorer import SHOWN, AskedInstance
from eigenbandits.policy import Decision, Policy

Places = NDArray[np.int64]

# Texts with a label each that both encoders embed: what the belief is carried over through.
PAIRS = 10_000
NOISE = 0.2
"""The length of the noise that the second encoder adds, as a share of a vector's own."""
NUMBERS = 256
"""How many of its numbers the third encoder keeps."""
REQUIRED = 0.95
"""The share of the lead that is to be kept."""


def rotated(vectors: Array, rng: np.random.Generator) -> Array:
    """Return vectors turned, each with noise of `NOISE` times its length."""
    dim = vectors.shape[1]
    turn = np.linalg.qr(np.random.default_rng(dim).standard_normal((dim, dim)))[0]
    noise = rng.standard_normal(vectors.shape) / np.sqrt(dim)
    return np.asarray(vectors @ turn + NOISE * np.linalg.norm(vectors, axis=1, keepdims=True) * noise)


def truncated(vectors: Array, rng: np.random.Generator) -> Array:
    """Return the first `NUMBERS` numbers of vectors, made as long as they were."""
    kept = vectors[:, :NUMBERS]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True) / np.linalg.norm(kept, axis=1, keepdims=True)
    return np.asarray(kept * lengths)


ENCODERS: Mapping[str, Callable[[Array, np.random.Generator], Array]] = {"rotated": rotated, "truncated": truncated}
"""The encoders that the first one is replaced by, by name."""


@dataclass(frozen=True, eq=False)
class Embedding:
    """The texts and labels of an instance as one encoder embeds them, and the features that make actions of both."""

    texts: Array
    labels: Array
    features: Bilinear

    @classmethod
    def by(cls, instance: AskedInstance, encoder: str) -> Embedding:
        """Return those of one of `ENCODERS`, with directions of its own."""
        arrays, numbers = instance.environment.arrays, instance.environment.numbers
        rng = np.random.default_rng((instance.seed, 2))
        texts, labels = (ENCODERS[encoder](arrays[name].astype(np.float64), rng) for name in ("Q", "C"))
        return cls(texts, labels, Bilinear(texts[instance.asked[:SHOWN]], labels, numbers))

    def offered(self, text: int) -> tuple[Array, Array]:
        """Return the actions of a text, and their scores."""
        return self.features(self.texts[text]), self.features.scores(self.texts[text])

    def pairs(self, texts: Places, labels: Places) -> tuple[Array, Array]:
        """Return the actions of texts with one label each, and their scores."""
        offered = [self.offered(int(text)) for text in texts]
        return (
            np.array([actions[label] for (actions, _), label in zip(offered, labels, strict=True)]),
            np.array([scores[label] for (_, scores), label in zip(offered, labels, strict=True)]),
        )


class TranslatedPolicy:
    """EigenUCB that starts from a scorer and, after the last round, is carried over to other encoders."""

    def __init__(self, rounds: int, seed: int | None = None) -> None:
        self.rounds = whole(rounds, "rounds")
        self.seed = seed
        self.policy = EigenUCB(seed=seed)
        self.log: list[tuple[int, float]] = []

    def reveal(self, instance: AskedInstance) -> None:
        """Record the texts."""
        self.instance = instance

    def choose(self, actions: Array) -> Decision:
        """Choose by the policy."""
        return self.policy.choose(actions[:, :-1], scores=actions[:, -1])

    def learn(self, decision: Decision, reward: float) -> None:
        """Let the policy learn, and keep what a log would contain."""
        self.policy.learn(decision, reward)
        self.log.append((decision.index, reward))

    def diagnostics(self) -> dict[str, float]:
        """Return the share of right answers to texts never asked: before, and by each encoder after."""
        names = [f"{encoder}:{what}" for encoder in ENCODERS for what in ("scorer", "translated", "again", "loss")]
        if len(self.log) < self.rounds:
            return dict.fromkeys(["scorer", "before", *names], float("nan"))
        instance = self.instance
        texts, labels = (instance.environment.arrays[name].astype(np.float64) for name in ("Q", "C"))
        own = Embedding(texts, labels, instance.features)
        found = {"scorer": self._right(own, None), "before": self._right(own, self.policy)}
        rng = np.random.default_rng((instance.seed, 3))
        asked, label = rng.choice(instance.asked, PAIRS), rng.integers(len(own.labels), size=PAIRS)
        old = own.pairs(asked, label)
        for encoder in ENCODERS:
            other = Embedding.by(instance, encoder)
            new = other.pairs(asked, label)
            policy = self.policy.clone()
            policy.restore(self.policy.state())
            done = policy.translate(old[0], new[0], old_scores=old[1], new_scores=new[1])
            numbers = [self._right(other, None), self._right(other, policy), self._right(other, self._again(other))]
            kinds = ("scorer", "translated", "again", "loss")
            found |= {f"{encoder}:{kind}": one for kind, one in zip(kinds, [*numbers, done.loss], strict=True)}
        return found

    def _again(self, embedded: Embedding) -> Policy:
        """Return a fresh policy that has learned from the log, embedded again."""
        instance, policy = self.instance, EigenUCB(seed=self.seed)
        places = islice(orders(len(instance.asked), np.random.default_rng((instance.seed, 1))), len(self.log))
        texts = instance.asked[list(places)]
        for text in texts[:200]:
            policy.choose(embedded.offered(int(text))[0], scores=embedded.offered(int(text))[1])
        actions, scores = embedded.pairs(texts, np.array([index for index, _ in self.log]))
        policy.learn_many(actions, [reward for _, reward in self.log], scores=scores)
        return policy

    def _right(self, embedded: Embedding, policy: Policy | None) -> float:
        """Return the share of right answers to the texts never asked, by a policy or by the scores."""
        right = 0
        for text in self.instance.unseen.tolist():
            actions, scores = embedded.offered(text)
            index = int(scores.argmax()) if policy is None else policy.choose(actions, False, scores=scores).index
            right += index == int(self.instance.environment.arrays["y"][text])
        return right / len(self.instance.unseen)


def experiment(environments: Mapping[str, Any], rounds: int, seeds: int, first_seed: int = 1000) -> Experiment:
    """Return the experiment whose results `report` reads."""
    return Experiment(
        name="translate",
        policies={"EigenUCB": entry(TranslatedPolicy, rounds=rounds)},
        environments=environments,
        seeds=range(first_seed, first_seed + seeds),
        rounds=rounds,
        record=Record(points=1, accuracy=0),
        description="A policy that is carried over to another encoder.",
    )


LEGEND = """\
scorer, policy: right answers to texts never asked, in percent, with the first encoder; then with the one that replaces
it, by its own scores, by the policy carried over, and by a fresh policy that learned from the log, embedded again.
kept: the lead over the scorer after, as a share of that before. loss: what translate() itself estimated.
rotated: turned, with noise of 20 % of each vector's length; truncated: the first 256 numbers."""
HEADERS = ["problem", "encoder", "scorer", "policy", "new scorer", "translated", "from the log", "lead", "kept", "loss"]


def report(results: Results) -> str:
    """Return the table, and whether enough is kept."""
    cells, missed = [], []
    for place, problem in enumerate(results.environments):
        scorer, policy = (results.final(name)[0, place] for name in ("scorer", "before"))
        for encoder in ENCODERS:
            new, carried, again, loss = (
                results.final(f"{encoder}:{kind}")[0, place] for kind in ("scorer", "translated", "again", "loss")
            )
            before = float(np.mean(policy - scorer))
            # Without a lead there is nothing to keep.
            kept = float(np.mean(carried - new)) / before if before > 0.0 else 1.0
            shown = [f"{100.0 * one.mean():.1f}" for one in (scorer, policy, new, carried, again)]
            lead = mean_with_error(carried - new, scale=100.0)
            cells.append([problem, encoder, *shown, lead, f"{kept:.0%}" if before > 0.0 else "–", f"{loss.mean():.1%}"])
            if kept < REQUIRED:
                missed.append(f"{problem}, {encoder}")
    verdict = (
        f"Below {REQUIRED:.0%}: {'; '.join(missed)}." if missed else f"At least {REQUIRED:.0%} is kept throughout."
    )
    return "\n".join((aligned(HEADERS, cells), "", LEGEND, verdict))
