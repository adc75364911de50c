"""The study of the belief's age: it plays what a learner and a decider would, and with no age, the policy itself."""

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.environments import LowRank
from eigenbandits.lab.studies import belief_age


def played(policy, rounds=40, seed=3):
    instance = LowRank(6, 2, 4, noise=0.3).instance(seed)
    stream, choices = instance.rounds(), []
    for _ in range(rounds):
        offered = next(stream)
        decision = policy.choose(offered.actions)
        choices.append((decision.index, decision.estimate))
        policy.learn(decision, float(offered.values[decision.index] + offered.noise))
    return choices


def test_the_newest_belief_is_the_policy_itself():
    assert played(belief_age.DelayedPolicy("EigenUCB", every=0, seed=1)) == played(eb.EigenUCB(seed=1))


def test_between_two_publications_nothing_is_learned():
    instance = LowRank(6, 2, 4, noise=0.3).instance(0)
    offered = next(instance.rounds()).actions
    policy = belief_age.DelayedPolicy("EigenUCB", every=10, seed=1)
    made = []
    for _ in range(21):
        decision = policy.choose(offered)
        made.append(decision.estimate)
        policy.learn(decision, float(len(made)))
    # The first round, then one belief for the rounds up to each publication.
    assert [len(set(made[start:stop])) for start, stop in ((1, 10), (10, 20))] == [1, 1]
    assert made[1] != made[10] != made[20]
    assert policy.learner.diagnostics().as_dict()["rewards_learned"] == 20


def test_the_table_divides_by_the_newest_belief(tmp_path):
    made = belief_age.experiment(rate=10, ages=[0.0, 2.0], seeds=2, rounds=30, first_seed=0, dim=8, arms=3)
    results = made.run(tmp_path)
    assert results.policies == ["EigenUCB, 0 s", "EigenUCB, 2 s", "EigenTS, 0 s", "EigenTS, 2 s"]
    final = results.final("regret")
    lines = belief_age.table(results).splitlines()
    row = next(line for line in lines if line.startswith("EigenTS, 2 s"))
    assert f"({np.mean(final[3, 0]) / np.mean(final[2, 0]):.2f})" in row


def test_a_wrong_age_is_refused():
    with pytest.raises(ValueError, match="every is -1; expected"):
        belief_age.DelayedPolicy(every=-1)
