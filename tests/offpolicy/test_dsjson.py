"""dsjson: lines as Vowpal Wabbit's documentation and tests have them, both ways, and through Vowpal Wabbit itself."""

import json

import numpy as np
import pytest

from eigenbandits.offpolicy import Log

EVENT = {
    "_label_cost": -1.0,
    "_label_probability": 0.8166667,
    "_label_Action": 2,
    "_labelIndex": 1,
    "o": [{"v": 1.0, "EventId": "13118d9b"}],
    "Timestamp": "2021-02-04T16:31:29.2460000Z",
    "Version": "1",
    "EventId": "13118d9b",
    "a": [2, 1],
    "c": {
        "_synthetic": False,
        "User": {"_age": 0, "country": "US", "visits": 3},
        "member": True,
        "_multi": [
            {"_tag": "cappuccino", "i": {"constant": 1, "id": "cappuccino"}, "j": [{"_title": "x"}, {"roast": 0.5}]},
            {"_tag": "brew", "i": {"constant": 1, "id": "brew"}, "j": [{"roast": 0.25, "cold": True, "hot": False}]},
        ],
    },
    "p": [0.8166667, 0.1833333],
    "VWState": {"m": "N/A"},
}


def lines(tmp_path, *events):
    path = tmp_path / "events.dsjson"
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return path


def test_features_become_columns_in_alphabetical_order(tmp_path):
    log = Log.read(lines(tmp_path, EVENT))
    # i.constant, i.id=brew, i.id=cappuccino, j.cold, j.roast; then User.country=US, User.visits, member.
    assert log.decision_set(0).tolist() == [
        [1.0, 0.0, 1.0, 0.0, 0.5, 1.0, 3.0, 1.0],
        [1.0, 1.0, 0.0, 1.0, 0.25, 1.0, 3.0, 1.0],
    ]
    assert (log.chosen.tolist(), log.earned.tolist(), log.probabilities.tolist()) == ([1], [1.0], [0.8166667])


def test_vectors_may_be_made_by_the_user(tmp_path):
    log = Log.read(lines(tmp_path, EVENT), lambda c: [[len(a["i"]["id"]), c["User"]["visits"]] for a in c["_multi"]])
    assert log.decision_set(0).tolist() == [[10.0, 3.0], [4.0, 3.0]]


def test_what_carries_no_decision_is_passed_over(tmp_path):
    late = {"RewardValue": 1.0, "EventId": "late"}
    skipped = EVENT | {"_skipLearn": True}
    without_index = {name: value for name, value in EVENT.items() if name != "_labelIndex"}
    path = lines(tmp_path, late, EVENT, skipped, without_index)
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert Log.read(path).chosen.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"_label_cost": None}, "line 2 is not an event of a contextual bandit"),
        ({"_labelIndex": 2}, "it chose row 2 of 2"),
        ({"_outcomes": []}, "it chose several actions at once"),
        ({"_label_probability": 0.0}, r"outside \(0, 1\]"),
    ],
)
def test_what_is_no_such_log_is_refused_in_one_sentence(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        Log.read(lines(tmp_path, EVENT, EVENT | change))


def test_files_that_are_not_there_empty_or_something_else(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Log.read(tmp_path / "none.dsjson")
    with pytest.raises(ValueError, match="holds no decision"):
        Log.read(lines(tmp_path))
    (tmp_path / "text.dsjson").write_text("1:1 | a b\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"text\.dsjson, line 1 is not an event"):
        Log.read(tmp_path / "text.dsjson")


def ragged_log():
    rng = np.random.default_rng(0)
    sets = [rng.standard_normal((size, 3)) for size in (1, 4, 2, 3)]
    return Log(sets, [0, 3, 1, 0], [0.0, 1.5, -2.0, 1e-9], [1.0, 0.1, 0.5, 1 / 3])


def assert_same_log(one, other):
    assert len(one) == len(other)
    for event in range(len(one)):
        np.testing.assert_array_equal(one.decision_set(event), other.decision_set(event))
    np.testing.assert_array_equal(one.chosen, other.chosen)
    np.testing.assert_array_equal(one.earned, other.earned)
    np.testing.assert_array_equal(one.probabilities, other.probabilities)


def test_a_log_comes_back_bit_for_bit(tmp_path):
    log = ragged_log()
    log.write(tmp_path / "log.dsjson")
    assert_same_log(Log.read(tmp_path / "log.dsjson"), log)


def test_vowpal_wabbit_reads_what_is_written(tmp_path):
    """Its parser must see the same action, cost, probability and features, in single precision."""
    pytest.importorskip("vowpalwabbit")
    from vowpalwabbit import pyvw

    log = ragged_log()
    log.write(tmp_path / "log.dsjson")
    vw = pyvw.Workspace("--cb_explore_adf --dsjson --quiet")
    written = (tmp_path / "log.dsjson").read_text(encoding="utf-8").splitlines()
    for event, line in enumerate(written):
        # The first of the examples is the shared one, which has no features here but a constant.
        _, *actions = vw.parse(line, pyvw.LabelType.CONTEXTUAL_BANDIT)
        found = [[value for _, value in action.iter_features()][:3] for action in actions]
        np.testing.assert_allclose(found, log.decision_set(event), rtol=1e-6)
        labels = [pyvw.CBLabel.from_example(action).costs for action in actions]
        assert [len(label) for label in labels] == [int(row == log.chosen[event]) for row in range(len(actions))]
        label = labels[log.chosen[event]][0]
        assert (label.action, label.cost, label.probability) == pytest.approx(
            (log.chosen[event] + 1, -log.earned[event], log.probabilities[event]), rel=1e-6, abs=1e-12
        )
