"""Replay of logged data: what a policy learns from it, and that rejected events leave no trace."""

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.environments import LowRank, Replay
from eigenbandits.offpolicy import Log


def uniform_log(events, seed, environment=None):
    """Log what a uniformly random logger earns on the paper's model."""
    instance = (environment or LowRank(dim=6, rank=2, arms=4, noise=0.1)).instance(seed)
    rng = np.random.default_rng(seed)
    rounds = [offered for offered, _ in zip(instance.rounds(), range(events), strict=False)]
    choices = rng.integers(0, 4, events)
    rewards = [offered.reward(int(row)) for offered, row in zip(rounds, choices, strict=True)]
    return Log(np.array([offered.actions for offered in rounds]), choices, rewards)


class Follow:
    """Choose the rows of a list, one per event, and write down what is learned."""

    def __init__(self, rows):
        self.rows = iter(rows)
        self.learned: list[float] = []

    def choose(self, actions):
        return type("Pick", (), {"index": next(self.rows)})

    def learn(self, decision, reward):
        self.learned.append(reward)


def test_only_events_with_the_same_choice_count():
    log = Log(np.ones((5, 2, 3)), choices=[0, 1, 1, 0, 1], rewards=[1.0, 2.0, 3.0, 4.0, 5.0])
    policy = Follow([0, 0, 1, 1, 1])
    trace = eb.run(policy, Replay(log, shuffle=False), rounds=100)
    assert policy.learned == [1.0, 3.0, 5.0]
    np.testing.assert_array_equal(trace.rewards, [1.0, 3.0, 5.0])
    np.testing.assert_array_equal(trace.choices, [0, 1, 1])
    assert np.isnan(trace.regret).all()
    assert trace.rounds == len(trace.seconds) == 3


def test_a_run_ends_with_the_rounds_asked_for():
    log = Log(np.ones((5, 2, 3)), choices=[0] * 5, rewards=[1.0, 2.0, 3.0, 4.0, 5.0])
    trace = eb.run(Follow([0] * 5), Replay(log, shuffle=False), rounds=2)
    np.testing.assert_array_equal(trace.rewards, [1.0, 2.0])


def test_a_log_in_which_nothing_matches_is_said_to_be_too_short():
    with pytest.raises(ValueError, match="never chose what the log chose"):
        eb.run(Follow([1]), Replay(Log(np.ones((1, 2, 3)), [0], [1.0])), rounds=1)


@pytest.mark.parametrize("kind", [eb.PSLB, eb.OFUL, eb.LinTS])
def test_rejected_events_leave_no_trace(kind):
    """A policy that never saw the rejected events ends as the very same policy."""
    log = uniform_log(300, seed=1)
    replayed, spared = kind(noise=0.1, seed=0), kind(noise=0.1, seed=0)
    trace = eb.run(replayed, Replay(log, shuffle=False), rounds=300)
    event_of = {reward: event for event, reward in enumerate(log.earned.tolist())}
    assert 20 < trace.rounds < 200
    for row, reward in zip(trace.choices, trace.rewards.tolist(), strict=True):
        decision = spared.choose(log.decision_set(event_of[reward]))
        assert decision.index == row
        spared.learn(decision, reward)
    for actions in uniform_log(50, seed=9).sets:
        one, other = replayed.choose(actions), spared.choose(actions)
        assert (one.index, one.round, one.estimate, one.upper) == (
            other.index,
            other.round,
            other.estimate,
            other.upper,
        )


def test_replay_of_a_uniform_log_earns_what_the_policy_earns_live():
    """Li et al., Theorem 1: the law of the accepted rounds is that of live rounds.

    A policy that takes the largest first coordinate earns θ₁ E max x₁ in expectation; its mean reward over replays
    is compared with the mean over fresh rounds. Tolerance: 4 standard errors of the difference.
    """
    environment = LowRank(dim=3, rank=3, arms=4, noise=0.1)
    log = uniform_log(20_000, seed=0, environment=environment)

    class Largest:
        def choose(self, actions):
            return type("Pick", (), {"index": int(actions[:, 0].argmax())})

        def learn(self, decision, reward):
            pass

    replayed = eb.run(Largest(), Replay(log), rounds=20_000).rewards
    live = eb.run(Largest(), environment.instance(0), rounds=20_000).rewards
    assert len(replayed) == pytest.approx(5_000, abs=4 * np.sqrt(20_000 * 0.25 * 0.75))
    error = np.sqrt(replayed.var() / len(replayed) + live.var() / len(live))
    assert abs(replayed.mean() - live.mean()) < 4 * error
    assert abs(live.mean()) > 10 * error  # else the comparison would say nothing


def test_learning_by_replay_gets_better():
    replay = Replay(uniform_log(6_000, seed=2))
    rewards = eb.run(eb.OFUL(noise=0.1), replay, rounds=6_000).rewards
    random = eb.run(eb.Random(seed=0), replay, rounds=6_000).rewards
    assert rewards[-500:].mean() > random.mean() + 4 * random.std() / np.sqrt(500)


def test_a_seed_is_an_order_of_the_events():
    replay = Replay(uniform_log(50, seed=3))
    firsts = {next(replay.instance(seed).rounds()).actions.tobytes() for seed in range(20)}
    assert len(firsts) > 5
    assert len({next(replay.instance(4).rounds()).actions.tobytes() for _ in range(3)}) == 1


class Best:
    """Take the row that is worth most: a fixed policy, whose mean reward is known."""

    def choose(self, actions):
        return type("Pick", (), {"index": int(actions[:, 0].argmax())})

    def learn(self, decision, reward):
        pass


def small_and_large_sets(events, seed, floor=None):
    """Sets of 2 rows whose best is worth 0, and of 20 whose best is worth 1, as likely as each other.

    The logger chooses evenly, or with a floor: the last row, and any row with probability ε.
    """
    rng = np.random.default_rng(seed)
    sets, choices, propensities = [], [], []
    for size in rng.choice([2, 20], events):
        rows = np.zeros((size, 1))
        rows[rng.integers(size)] = 1.0
        by_chance = floor is None or rng.random() < floor
        row = int(rng.integers(size)) if by_chance else size - 1
        sets.append(rows)
        choices.append(row)
        propensities.append(1.0 / size if floor is None else floor / size + (1.0 - floor) * (row == size - 1))
    rewards = [float(len(rows) > 2 and rows[row, 0]) for rows, row in zip(sets, choices, strict=True)]
    return Log(sets, choices, rewards, propensities)


@pytest.mark.parametrize("floor", [None, 0.5])
def test_sets_of_different_sizes_count_as_often_as_they_come(floor):
    """Live, half of the sets are large, and the best row earns ½ on average; small sets match ten times as often.

    Tolerance: four standard errors of a share.
    """
    log = small_and_large_sets(30_000, seed=0, floor=floor)
    replay = Replay(log, least=None if floor is None else floor / 20)
    rewards = eb.run(Best(), replay, rounds=30_000).rewards
    expected = 30_000 * (1 / 20 if floor is None else floor / 20)
    assert len(rewards) == pytest.approx(expected, abs=4 * np.sqrt(expected))
    assert rewards.mean() == pytest.approx(0.5, abs=4 * np.sqrt(0.25 / len(rewards)))


def test_where_all_sets_are_of_one_size_every_event_is_offered():
    log = uniform_log(200, seed=5)
    assert len(list(Replay(log).instance(0).rounds())) == 200


def test_a_log_that_did_not_choose_evenly_needs_its_least_probability():
    log = Log(np.ones((2, 2, 3)), [0, 1], [1.0, 1.0], propensities=[0.9, 0.1])
    with pytest.raises(ValueError, match=r"were not uniform.*least=ε/K"):
        eb.run(eb.Random(seed=0), Replay(log), rounds=1)
    with pytest.raises(ValueError, match=r"least is 0\.2, but the log holds a propensity of 0\.1"):
        Replay(log, least=0.2)
    with pytest.raises(ValueError, match="least is 0; expected a number above 0"):
        Replay(log, least=0.0)
    # With 0.1 the event of probability 0.1 is always offered, the other one in nine times.
    counts = [len(list(Replay(log, least=0.1).instance(seed).rounds())) for seed in range(400)]
    assert np.mean(counts) == pytest.approx(1 + 1 / 9, abs=4 * np.sqrt(1 / 9 * 8 / 9 / 400))


def test_an_oracle_has_no_place_in_a_replay():
    with pytest.raises(ValueError, match="has no known θ"):
        eb.run(eb.Oracle(), Replay(Log(np.ones((1, 2, 3)), [0], [1.0])), rounds=1)
