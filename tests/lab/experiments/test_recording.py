"""What is written down of a run, against runs that are worked out by hand or by brute force."""

from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import subspace_angles

import eigenbandits as eb
from eigenbandits.environments import Classification, Log, LowRank, Replay, Round
from eigenbandits.lab.errors import LabError
from eigenbandits.lab.experiments import recording
from eigenbandits.lab.experiments.recording import Record, Recorder, accuracy, columns, true_projection_error
from eigenbandits.lab.experiments.run import Trace


@pytest.mark.parametrize(
    ("record", "total", "kept"),
    [
        (Record(points=5), 5, [1, 2, 3, 4, 5]),
        (Record(points=200), 3, [1, 2, 3]),
        (Record(points=5), 1000, [200, 400, 600, 800, 1000]),
        (Record(points=3), 10, [4, 7, 10]),
        (Record(points=1), 10, [10]),
        (Record(points=3, spacing="log"), 100, [1, 10, 100]),
        (Record(points=1, spacing="log"), 100, [100]),
    ],
)
def test_rounds_kept(record, total, kept):
    assert record.rounds(total) == kept


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"point": 3}, "record has no setting 'point'; did you mean 'points'?"),
        ({"points": 0}, "record: points is 0"),
        ({"spacing": "odd"}, "record: spacing is 'odd'"),
        ({"diagnostics": 1}, "record: diagnostics is 1"),
        ({"accuracy": -1}, "record: accuracy is -1"),
    ],
)
def test_records_that_cannot_be_are_refused(given, message):
    with pytest.raises(LabError, match=message.replace("?", r"\?")):
        Record.of(given)


def trace(rounds, regret=None, diagnostics=None):
    steps = np.arange(1.0, rounds + 1)
    return Trace(
        regret=steps * 2 if regret is None else regret,
        rewards=steps,
        choices=np.zeros(rounds, dtype=np.int64),
        seconds=steps / 10,
        policy="p",
        environment="e",
        seed=0,
        diagnostics=diagnostics or {},
    )


def test_columns_are_cumulative_at_the_kept_rounds():
    found = columns(trace(6, diagnostics={3: {"rank": 2.0}, 6: {"rank": 4.0, "more": 1.0}}), Record(points=2), 6)
    assert found["round"] == [3, 6]
    assert found["regret"] == [6.0, 12.0]
    assert found["reward"] == [6.0, 21.0]
    np.testing.assert_allclose(found["seconds"], [0.6, 2.1])
    np.testing.assert_allclose(found["seconds_median"], [0.2, 0.5])
    assert found["rank"] == [2.0, 4.0]
    assert found["more"] == [None, 1.0]


def test_a_run_that_ended_early_keeps_its_last_round_and_has_no_regret_if_it_is_unknown():
    found = columns(trace(5, regret=np.full(5, np.nan)), Record(points=3), 12)
    assert found["round"] == [4, 5]
    assert found["regret"] == [None, None]
    assert found["reward"] == [10.0, 15.0]


def test_accuracy_is_the_share_of_sets_in_which_the_model_ranks_a_best_action_first(monkeypatch):
    instance = LowRank(dim=5, rank=2, arms=7).instance(3)
    models = np.array([*np.random.default_rng(0).standard_normal((6, 5)), instance.theta])
    sets = list(islice(instance.rounds(), 40))
    right = [sum(np.argmax(s.actions @ model) == np.argmax(s.values) for s in sets) for model in models]
    assert right[-1] == 40
    assert len(set(right)) > 3
    np.testing.assert_array_equal(accuracy(instance, models, 40), np.array(right) / 40)
    monkeypatch.setattr(recording, "_BLOCK_NUMBERS", 7 * 7 * 3)  # in several blocks
    np.testing.assert_array_equal(accuracy(instance, models, 40), np.array(right) / 40)


def test_every_best_action_counts_and_sets_may_differ_in_size():
    rounds = [Round(np.eye(3)[:k], np.array([0.0, 1.0, 1.0])[:k], 0.0) for k in (3, 2, 3)]
    instance = SimpleNamespace(rounds=lambda: iter(rounds))
    np.testing.assert_array_equal(accuracy(instance, np.array([[0.0, 1.0, 2.0], [3.0, 1.0, 2.0]]), 3), [1.0, 0.0])


def test_examples_are_examined_once_and_logged_data_not_at_all():
    features = np.eye(4)[:, None, :] * np.array([[[1.0]], [[2.0]], [[3.0]], [[4.0]]])
    classes = np.concatenate([features, -features], axis=1)
    instance = Classification(classes, [0, 0, 0, 1]).instance(0)
    np.testing.assert_array_equal(accuracy(instance, np.ones((1, 4)), 1000), [0.75])
    assert accuracy(Replay(Log(classes, [0, 1, 0, 1], [1.0] * 4)).instance(0), np.ones((1, 4)), 10) is None


def test_the_true_projection_error_is_the_sine_of_the_largest_angle():
    environment = LowRank(dim=12, rank=3, arms=20, perturbation=2.0)
    policy = eb.PSLB(noise=0.5, rank=3, seed=0)
    instance = environment.instance(1)
    assert true_projection_error(policy, instance) == {}
    eb.run(policy, instance, 50, 1)
    found = true_projection_error(policy, instance)["projection_error_true"]
    angles = subspace_angles(policy.subspace.current().directions, instance.basis)  # type: ignore[union-attr]
    assert found == pytest.approx(np.sin(angles.max()), rel=1e-9)
    assert 0.0 < found < 1.0
    assert true_projection_error(eb.OFUL(noise=0.5), instance) == {}


def test_watching_changes_nothing_and_tells_numbers_only():
    environment = LowRank(dim=6, rank=2, arms=4)
    looks = [10, 20, 30]
    plain = eb.run(eb.PSLB(noise=0.5, seed=0), environment, 30, 2)
    instance = environment.instance(2)
    recorder = Recorder(eb.PSLB(noise=0.5, seed=0), instance, Record())
    seen = eb.run(recorder, instance, 30, 2, looks)
    recorder.add_accuracy(seen)
    np.testing.assert_array_equal(seen.choices, plain.choices)
    for found in seen.diagnostics.values():
        assert all(type(value) is float for value in found.values())
        assert {"rank", "projection_error", "projection_error_true", "accuracy"} <= set(found)
    silent = Recorder(eb.PSLB(noise=0.5, seed=0), instance, Record(diagnostics=False, accuracy=0))
    assert eb.run(silent, instance, 30, 2, looks).diagnostics == {10: {}, 20: {}, 30: {}}


def test_a_watched_policy_is_replayed_without_trace_too():
    environment = LowRank(dim=6, rank=2, arms=4, noise=0.1)
    rounds = list(islice(environment.instance(0).rounds(), 200))
    choices = np.random.default_rng(0).integers(0, 4, 200)
    rewards = [r.reward(int(c)) for r, c in zip(rounds, choices, strict=True)]
    replay = Replay(Log(np.array([r.actions for r in rounds]), choices, rewards), shuffle=False)
    plain = eb.run(eb.PSLB(noise=0.1, seed=0), replay, 200)
    recorder = eb.run(Recorder(eb.PSLB(noise=0.1, seed=0), replay.instance(0), Record()), replay, 200)
    np.testing.assert_array_equal(recorder.rewards, plain.rewards)


class SelfMarking:
    """An instance that marks many models at once: its mark is the first number of the model."""

    def __init__(self, inner, examples):
        self.inner, self.examples, self.asked = inner, examples, []

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def accuracy(self, models, images=None):
        self.asked.append((models.shape, images))
        return models[:, 0]


@pytest.mark.parametrize(("accuracy", "images"), [(50, None), (20, 20)])
def test_an_instance_that_marks_models_itself_is_asked_once(accuracy, images, monkeypatch):
    instance = SelfMarking(LowRank(dim=6, rank=2, arms=4).instance(0), examples=50)
    recorder = Recorder(eb.OFUL(noise=0.5), instance, Record(points=4, diagnostics=False, accuracy=accuracy))
    models = []
    choose = recorder.choose

    def remembered(actions):
        models.append(choose(actions))
        return models[-1]

    monkeypatch.setattr(recorder, "choose", remembered)
    found = eb.run(recorder, instance, 8, diagnose_at=[2, 4, 6, 8])
    recorder.add_accuracy(found)
    assert instance.asked == [((4, 6), images)]
    assert {t: seen["accuracy"] for t, seen in found.diagnostics.items()} == {
        t: models[t - 1].model[0] for t in (2, 4, 6, 8)
    }
