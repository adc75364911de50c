"""The change detector against the sums worked out by hand, and how often it raises false alarms."""

import numpy as np

from eigenbandits.router.answers import Answers
from eigenbandits.router.changes import CHANGE, PROVED, ChangeDetector


def test_a_drop_of_two_deviations_is_proved_after_six_answers():
    detector = ChangeDetector()
    for number in range(100):
        assert detector.note(0, (-1.0) ** number, number) is None
    # The variance is 1 and each residual of −2 adds 2δ − δ²/2; what was there before is at most one residual's part.
    found = [detector.note(0, -2.0, 100 + number) for number in range(8)]
    needed = PROVED / (2.0 * CHANGE - 0.5 * CHANGE**2)
    first = next(place for place, one in enumerate(found) if one is not None)
    assert needed - 2 <= first + 1 <= needed + 2
    assert found[first] in (99, 100)


def test_false_alarms_are_rare():
    rng = np.random.default_rng(0)
    alarms = 0
    detector = ChangeDetector()
    for number, residual in enumerate(rng.standard_normal(20_000)):
        if detector.note(0, float(residual), number) is not None:
            alarms += 1
            detector.reset()
    # At least e⁸ = 2,981 apart on average on each of two sides: 13 in expectation at the most.
    assert alarms <= 13


def test_a_model_without_noise_gives_no_alarm():
    detector = ChangeDetector()
    assert all(detector.note(0, 0.0, number) is None for number in range(50))


def test_answers_keep_their_order_their_latest_and_some_of_each_model():
    answers = Answers(capacity=30)
    for number in range(60):
        answers.add(np.full(2, float(number)), 1 if number in (5, 55) else 0, number / 10, float(number))
    assert answers.full
    answers.trim()
    assert answers.vectors[:, 0].tolist() == [5.0, *range(30, 60)]
    assert answers.of(1).tolist() == [0, 26]
    answers.scale_costs(1, 10.0)
    assert [answers.costs[row] for row in (0, 1, 26)] == [50.0, 30.0, 550.0]


def test_right_and_wrong_answers_give_few_false_alarms():
    """Right in 85 of 100: residuals of 0.15 and −0.85, for which a CUSUM made for normal ones alarms too often.

    At least e⁸ = 2,981 answers apart on average on each of two sides: 26 in expectation at the most.
    """
    rng, detector, alarms = np.random.default_rng(2), ChangeDetector(), 0
    for number, right in enumerate(rng.random(40_000) < 0.85):
        if detector.note(0, float(right) - 0.85, number) is not None:
            alarms += 1
            detector.reset()
    assert alarms <= 26
