"""The cost of an old belief: choices by a belief that is published every few rounds, as deciders make them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenbandits.algorithms import EigenTS, EigenUCB
from eigenbandits.environments import Digits, LowRank
from eigenbandits.inputs import one_of, whole
from eigenbandits.lab.experiments import Experiment, Record, Results, entry
from eigenbandits.lab.reporting.tables import aligned, mean_with_error
from eigenbandits.policy import Decision, Policy, files

RULES: dict[str, type[Policy]] = {"EigenUCB": EigenUCB, "EigenTS": EigenTS}


class DelayedPolicy:
    """A learner that learns from every round, and a decider whose copy of it is as old as the last publication.

    `every` is the number of rounds between two publications; 0 chooses by the newest belief, as the single-process
    service does. The first belief is published after the first round, as in the service.
    """

    def __init__(self, algorithm: str = "EigenUCB", every: int = 0, seed: int | None = None) -> None:
        self.algorithm = one_of(algorithm, "algorithm", tuple(RULES))
        self.every = whole(every, "every", least=0)
        self.seed = seed
        kind: Any = RULES[algorithm]
        self.learner: Policy = kind(seed=seed)
        self.published: Policy | None = None
        self._rng = np.random.default_rng(seed)
        self._waiting: list[tuple[Decision, float]] = []
        self._rounds = 0

    def choose(self, actions: ArrayLike) -> Decision:
        """Choose by the belief that was published last."""
        if self.every and self._rounds and (self._rounds % self.every == 0 or self.published is None):
            self._publish()
        self._rounds += 1
        newest = self.learner.choose(actions)
        return newest if self.published is None else self.published.propose(actions, self._rng)

    def _publish(self) -> None:
        if self._waiting:
            decisions, rewards = zip(*self._waiting, strict=True)
            self.learner.learn_many(decisions, rewards)
            self._waiting.clear()
        self.learner.belief.follow(self.learner.subspace.frame())
        self.published = files.from_bytes(files.to_bytes(self.learner))

    def learn(self, decision: Decision, reward: float) -> None:
        """Learn now, or with the next publication."""
        if self.every:
            self._waiting.append((decision, reward))
        else:
            self.learner.learn(decision, reward)


def experiment(
    rate: int, ages: Sequence[float], seeds: int, rounds: int, first_seed: int, dim: int = 100, arms: int = 10
) -> Experiment:
    """Return the experiment whose results `table` reads.

    `ages` are the seconds between two publications; `rate`, in decisions per second, turns them into rounds.
    """
    policies = {
        f"{name}, {age:g} s": entry(DelayedPolicy, algorithm=name, every=round(rate * age))
        for name in RULES
        for age in dict.fromkeys(ages)
    }
    return Experiment(
        name="belief-age",
        policies=policies,
        environments={"low rank": LowRank(dim, 4, arms, noise=0.5), "digits": Digits()},
        seeds=range(first_seed, first_seed + seeds),
        rounds=rounds,
        record=Record(points=min(rounds, 100), diagnostics=False, accuracy=0),
        description=f"Regret by the age of the belief, at {rate} decisions per second.",
    )


def table(results: Results) -> str:
    """Return regret as text, ± standard errors over seeds, and relative to the newest belief of the same algorithm."""
    final = results.final("regret")
    names = results.policies
    body = []
    for p, name in enumerate(names):
        first = next(i for i, other in enumerate(names) if other.split(",")[0] == name.split(",")[0])
        cells = [name]
        for e in range(len(results.environments)):
            ratio = final[p, e].mean() / final[first, e].mean()
            cells.append(f"{mean_with_error(final[p, e], 0)} ({ratio:.2f})")
        body.append(cells)
    return aligned(["", *results.environments], body)
