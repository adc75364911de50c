"""What models were like before they changed: against a chain, Bayes's rule, and a router."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.stats import norm

from eigenbandits.router import Router
from eigenbandits.router.basis import decision_set
from eigenbandits.router.former import Former


def test_the_probability_follows_a_chain_of_two_states():
    former = Former(3)
    former.requests = 400
    former.change(1, np.array([0.3, 0.9]))
    former.requests = 700
    rate = 1.5 / 700
    moved = expm(300 * rate * np.array([[-1.0, 1.0], [1.0, -1.0]]))
    np.testing.assert_allclose(former.chances_now(), [0.0, moved[0, 1], 0.0])
    # From a probability in between, as after an answer.
    chance = former.learn(1, 0.8, 0.6, 0.9, 0.2)
    former.requests = 1000
    moved = expm(300 * (1.5 / 1000) * np.array([[-1.0, 1.0], [1.0, -1.0]]))
    np.testing.assert_allclose(former.chances_now()[1], [1.0 - chance, chance] @ moved[:, 1])


@pytest.mark.parametrize("reward", [0.5, 0.62, 0.75, 0.9])
def test_an_answer_changes_the_probability_by_bayes_rule(reward):
    former = Former(1)
    former.requests = 100
    former.change(0, np.array([0.0, 0.9]))
    former.requests = 300
    before = float(former.chances_now()[0])
    likely = before * norm.pdf(reward, 0.9, 0.2), (1.0 - before) * norm.pdf(reward, 0.6, 0.2)
    assert former.learn(0, reward, 0.6, 0.9, 0.2) == pytest.approx(likely[0] / sum(likely))


def test_models_come_and_go():
    former = Former(2)
    former.requests = 50
    former.change(1, np.array([1.0, 2.0, 3.0]))
    former.add()
    former.remove(0)
    assert former.estimates(np.array([1.0, 1.0])).tolist() == [6.0, 0.0]
    assert (former.counts.tolist(), former.added.tolist()) == ([1.0, 0.0], [0.0, 50.0])


def play(router, rng, rounds, best):
    """Play rounds in which one model is worth 0.6 and the other what `best` says; return how often the latter is."""
    found = []
    for _ in range(rounds):
        prompt = rng.standard_normal(6) * [3.0, 2.0, 1.0, 1.0, 1.0, 1.0]
        route = router.route(prompt)
        found.append(route.model == "best")
        reward = best(prompt) if found[-1] else 0.6
        router.feedback(route.id, reward + 0.05 * rng.standard_normal())
    return np.array(found)


def good(prompt):
    return 0.8 + 0.05 * prompt[0]


def test_the_coefficients_are_those_of_the_belief_in_the_space_of_prompts():
    router, rng = Router(["plain", "best"], seed=0), np.random.default_rng(1)
    play(router, rng, 150, good)
    policy = router._policy
    for prompt in rng.standard_normal((5, 6)):
        lifted, _ = policy.policy.lift(decision_set(policy.basis.read_one(prompt), 2), None)
        expected = policy.belief.view(lifted).estimates()
        found = [policy._model(place) @ np.append(prompt, 1.0) for place in range(2)]
        np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("remembered", [True, False])
def test_a_model_that_recovers_is_taken_up_again_because_what_it_was_is_remembered(remembered, monkeypatch):
    if not remembered:
        # A property that cannot be set.
        monkeypatch.setattr(Former, "known", property(lambda self: False, lambda self, value: None), raising=False)
    router, rng = Router(["plain", "best"], seed=0), np.random.default_rng(4)
    play(router, rng, 300, good)
    before = router._policy._model(1)
    away = play(router, rng, 300, lambda prompt: 0.3)
    assert router.changes >= 1
    # It is tried again, but rarely.
    assert away[-200:].mean() < 0.1
    # What is remembered is what the belief said before, but for the few bad answers until the change was found.
    assert np.abs(router._policy.former.models[1] - before).max() < 0.1
    back = play(router, rng, 300, good)
    assert (back[-100:].mean() > 0.8) == remembered
