"""A round of choosing and learning, and its two halves: `pytest benchmarks/hot`."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.hot.played import Played

ROUNDS = 200


def test_choose(benchmark: Any, played: Played) -> None:
    decision = benchmark.pedantic(
        played.policy.choose, setup=lambda: ((played.next_round().actions,), {}), rounds=ROUNDS, warmup_rounds=5
    )
    assert 0 <= decision.index < len(played.ahead[0].actions)


def test_learn(benchmark: Any, played: Played) -> None:
    def decide() -> tuple[tuple[Any, float], dict[str, Any]]:
        offered = played.next_round()
        decision = played.policy.choose(offered.actions)
        return (decision, offered.reward(decision.index)), {}

    before = played.policy.diagnostics().rewards_learned
    benchmark.pedantic(played.policy.learn, setup=decide, rounds=ROUNDS)
    assert played.policy.diagnostics().rewards_learned == before + ROUNDS


def test_observe(benchmark: Any, played: Played) -> None:
    before = played.policy.diagnostics().vectors_seen
    benchmark.pedantic(
        played.policy.observe, setup=lambda: ((played.next_round().actions,), {}), rounds=ROUNDS, warmup_rounds=0
    )
    arms = len(played.ahead[0].actions)
    assert played.policy.diagnostics().vectors_seen == before + ROUNDS * arms


def test_learn_many(benchmark: Any, played: Played) -> None:
    actions = np.concatenate([offered.actions for offered in played.ahead])[:200]
    rewards = np.concatenate([offered.values for offered in played.ahead])[:200]
    before = played.policy.diagnostics().rewards_learned
    benchmark.pedantic(played.policy.learn_many, args=(actions, rewards), rounds=10)
    assert played.policy.diagnostics().rewards_learned == before + 10 * len(actions)
