"""The interactive explanation: its JavaScript plays as the library does, and it works in a browser."""

import json
import math
import re
import shutil
import subprocess
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from tests.docs import explained
from tests.docs.pages import ROOT
from tests.serve.http.chromium import browser

FOLDER = ROOT / "docs" / "explained"
PAGE = (FOLDER / "index.html").read_text(encoding="utf-8")
# All of the page but what draws it.
SCRIPTS = [FOLDER / name for name in re.findall(r'<script src="(.+?)"', PAGE) if name != "page.js"]
# One position of the knobs for each seed: easy, as the page opens, and hard.
CASES = [
    ({"rank": 1, "perturbation": 1, "arms": 20, "noise": 0.1}, 1000),
    ({"rank": 2, "perturbation": 3, "arms": 10, "noise": 0.5}, 1001),
    ({"rank": 3, "perturbation": 9, "arms": 5, "noise": 1}, 1002),
]
PLAY = """
const { settings, seed } = JSON.parse(require("fs").readFileSync(0));
const { DIM, EigenUCB, PSLB, OFUL, distance, play, problem } = globalThis.eigenbandits;
const world = problem(settings, seed);
const policies = {
  EigenUCB: new EigenUCB(DIM), PSLB: new PSLB(DIM, settings.noise, settings.rank), OFUL: new OFUL(DIM, settings.noise),
};
const found = { theta: world.theta, last: world.rounds[world.rounds.length - 1] };
for (const [name, policy] of Object.entries(policies)) {
  const steps = play(policy, world.rounds);
  const all = (read) => steps.map(read);
  found[name] = { choices: all((step) => step.index), uppers: all((step) => Math.max(...step.uppers)) };
  found[name].regret = steps[steps.length - 1].regret;
  if (name === "PSLB") found.errors = all((step) => step.error);
  if (name === "PSLB") found.truth = all((step) => distance(world.inside, step.directions));
  if (name === "EigenUCB") found.noise = all((step) => step.noise);
  if (name === "EigenUCB") found.weights = all((step) => step.weights);
}
process.stdout.write(JSON.stringify(found));
"""


def node(code, sent=None):
    if shutil.which("node") is None:
        pytest.skip("node is not installed, which runs the JavaScript of the page")
    load = "".join(f"require({json.dumps(str(path))});\n" for path in SCRIPTS)
    command = ["node", "-e", load + code]
    done = subprocess.run(command, input=json.dumps(sent), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("settings", "seed"), CASES, ids=["easy", "middle", "hard"])
def test_javascript_and_python_choose_the_same_for_200_rounds(settings, seed):
    theta, rounds = explained.problem(settings, seed)
    theirs = node(PLAY, {"settings": settings, "seed": seed})
    assert theirs["theta"] == pytest.approx(theta.tolist(), abs=1e-12)
    assert np.array(theirs["last"]["actions"]) == pytest.approx(rounds[-1][0], abs=1e-12)
    for name, policy in explained.policies(settings).items():
        subspace: Any = policy.subspace
        belief: Any = policy.belief
        choices, uppers, lost = [], [], 0.0
        for place, (actions, values, noise) in enumerate(rounds):
            decision = policy.choose(actions)
            choices.append(decision.index)
            uppers.append(decision.upper)
            lost += values.max() - values[decision.index]
            if name == "PSLB":
                assert theirs["errors"][place] == pytest.approx(subspace.frame().error, rel=1e-8)
            if name == "EigenUCB":
                assert theirs["noise"][place] == pytest.approx(belief.noise, rel=1e-7)
                assert theirs["weights"][place] == pytest.approx(belief.weights.tolist(), abs=1e-7)
            policy.learn(decision, float(values[decision.index]) + noise)
        assert len(choices) == 200
        assert theirs[name]["choices"] == choices
        assert theirs[name]["uppers"] == pytest.approx(uppers, rel=1e-6)
        assert theirs[name]["regret"] == pytest.approx(lost, rel=1e-9)
    # What the page shows beside ε.
    assert all(0.0 < truth <= bound for truth, bound in zip(theirs["truth"], theirs["errors"], strict=True))


def test_the_functions_of_statistics():
    found = node(
        "const { logGamma, normalQuantile } = globalThis.eigenbandits;"
        "const read = [[0.5, 2, 7.5, 104].map(logGamma), [0.5, 0.75, 0.975, 0.999].map(normalQuantile)];"
        "process.stdout.write(JSON.stringify(read))"
    )
    assert found[0] == pytest.approx([math.lgamma(x) for x in (0.5, 2.0, 7.5, 104.0)], abs=1e-10)
    assert found[1] == pytest.approx([NormalDist().inv_cdf(p) for p in (0.5, 0.75, 0.975, 0.999)], abs=1e-12)


def test_the_page_moves_in_a_browser_without_a_network(tmp_path):
    with browser(tmp_path) as tab:
        tab.open((FOLDER / "index.html").as_uri())
        read = "[...document.querySelectorAll('#table tr')].map(row => row.innerText.split('\\t'))"
        first = tab.run(read)
        assert [row[0].split()[1] for row in first] == ["EigenUCB", "PSLB", "OFUL"]
        tab.run("for (let i = 0; i < 100; i++) document.getElementById('step').click()")
        later = tab.run(read)
        assert tab.run("document.getElementById('number').textContent") == "160"
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
