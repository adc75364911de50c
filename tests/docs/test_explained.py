"""The explanation that moves: its JavaScript plays as the library does, and its recordings are the library's."""

import importlib.util
import json
import math
import shutil
import subprocess

import numpy as np
import pytest
from tests.docs.pages import ROOT
from tests.serve.http.chromium import browser

FOLDER = ROOT / "docs" / "explained"
spec = importlib.util.spec_from_file_location("explained", ROOT / "scripts" / "explained.py")
assert spec is not None
assert spec.loader is not None
explained = importlib.util.module_from_spec(spec)
spec.loader.exec_module(explained)

# One position of the knobs for each seed: easy, as the page opens, and hard.
CASES = [
    ({"rank": 1, "perturbation": 1, "arms": 20, "noise": 0.1}, 1000),
    ({"rank": 2, "perturbation": 3, "arms": 10, "noise": 0.5}, 1001),
    ({"rank": 3, "perturbation": 9, "arms": 5, "noise": 1}, 1002),
]
PLAY = """
const ours = require(process.argv[1]);
const asked = JSON.parse(require("fs").readFileSync(0));
const world = ours.problem(asked.settings, asked.seed);
const play = (name) => ours.play(name, world.rounds, asked.settings, asked.errors);
const told = (steps) => ({
  choices: steps.map((step) => step.index),
  uppers: steps.map((step) => step.uppers[step.index]),
  regret: steps[steps.length - 1].regret,
});
const pslb = play("PSLB");
const last = world.rounds[world.rounds.length - 1];
const found = { theta: world.theta, last, OFUL: told(play("OFUL")), PSLB: told(pslb) };
found.distance = ours.distance(world.inside, pslb[pslb.length - 1].directions);
process.stdout.write(JSON.stringify(found));
"""


def node(code, *arguments, sent=None):
    if shutil.which("node") is None:
        pytest.skip("node is not installed, which runs the JavaScript of the page")
    command = ["node", "-e", code, *map(str, arguments)]
    done = subprocess.run(command, input=json.dumps(sent), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def recorded():
    text = (FOLDER / "recorded.js").read_text(encoding="utf-8")
    return json.loads(text[text.index("{") : text.rindex("};") + 1])


@pytest.mark.parametrize(("settings", "seed"), CASES, ids=["easy", "middle", "hard"])
def test_javascript_and_python_choose_the_same_for_200_rounds(settings, seed):
    theta, rounds = explained.problem(settings, seed)
    made = explained.policies(settings)
    uppers: dict[str, list[float]] = {"OFUL": [], "PSLB": []}
    choices: dict[str, list[int]] = {"OFUL": [], "PSLB": []}
    errors = []
    for name, found in uppers.items():
        for actions, values, noise in rounds:
            decision = made[name].choose(actions)
            found.append(decision.upper)
            choices[name].append(decision.index)
            if name == "PSLB":
                errors.append(made[name].subspace.frame().error)
            made[name].learn(decision, float(values[decision.index]) + noise)
    theirs = node(PLAY, FOLDER / "policies.js", sent={"settings": settings, "seed": seed, "errors": errors})
    assert theirs["theta"] == pytest.approx(theta.tolist(), abs=1e-12)
    assert np.array(theirs["last"]["actions"]) == pytest.approx(rounds[-1][0], abs=1e-12)
    for name, found in uppers.items():
        assert len(found) == 200
        assert theirs[name]["choices"] == choices[name]
        assert theirs[name]["uppers"] == pytest.approx(found, rel=1e-8)
        lost = sum(values.max() - values[index] for (_, values, _), index in zip(rounds, choices[name], strict=True))
        assert theirs[name]["regret"] == pytest.approx(lost, rel=1e-9)
    # What the page shows as the truth beside ε.
    assert 0.0 < theirs["distance"] < 1.0


@pytest.mark.parametrize(("settings", "seed"), CASES, ids=["easy", "middle", "hard"])
def test_the_recordings_are_what_the_library_does(settings, seed, recorded):
    rounds = explained.problem(settings, seed)[1]
    made = explained.policies(settings)
    ours, _ = explained.as_text(explained.play(made["EigenUCB"], rounds)[0], [])
    paper, errors = explained.as_text(*explained.play(made["PSLB"], rounds))
    key = "/".join(str(value) for value in (*settings.values(), seed))
    again = "run python scripts/explained.py, and look at the page"
    assert recorded[key][0] == ours, again
    assert recorded[key][1] == paper, again
    assert recorded[key][2] == errors, again


def test_every_position_of_the_knobs_is_recorded(recorded):
    knobs = node("process.stdout.write(JSON.stringify(require(process.argv[1]).KNOBS))", FOLDER / "policies.js")
    assert knobs == explained.KNOBS
    assert len(recorded) == math.prod(len(values) for values in knobs.values()) * len(explained.SEEDS)
    assert all(list(map(len, one)) == [200, 200, 400] for one in recorded.values())


def test_errors_are_recorded_to_a_part_in_a_thousand():
    errors = [1.0, 0.5, 0.0123, 0.9999]
    _, text = explained.as_text([], errors)
    read = node(
        "process.stdout.write(JSON.stringify(require(process.argv[1]).readErrors(process.argv[2])))",
        FOLDER / "policies.js",
        text,
    )
    assert read == pytest.approx(errors, rel=1e-3)


def test_the_page_moves_in_a_browser_without_a_network(tmp_path):
    with browser(tmp_path) as tab:
        tab.open((FOLDER / "index.html").as_uri())
        read = "[...document.querySelectorAll('#table tr')].map(row => row.innerText.split('\\t'))"
        first = tab.run(read)
        assert [row[0].split()[1] for row in first] == ["EigenUCB", "PSLB", "OFUL"]
        tab.run("for (let i = 0; i < 150; i++) document.getElementById('step').click()")
        later = tab.run(read)
        assert tab.run("document.getElementById('number').textContent") == "151"
        assert all(float(after[-1]) > float(before[-1]) for before, after in zip(first, later, strict=True))
        # Both sets and what they share.
        assert tab.run("document.querySelectorAll('#sets path.curve').length") == 2
        assert tab.run("document.querySelectorAll('#sets path.overlap').length") == 1
        tab.run("const knob = document.getElementById('noise'); knob.value = 0; knob.dispatchEvent(new Event('input'))")
        assert float(tab.run(read)[2][-1]) < float(later[2][-1])
        assert tab.console == []
        assert all(address.startswith(("file:", "data:")) for address in tab.asked)
        for width in (390, 1440):
            tab.look(width)
            assert tab.run("document.documentElement.scrollWidth <= window.innerWidth")
