"""PSLB round by round against its slow twin: every estimate, bound and radius, and every choice."""

from itertools import islice
from typing import Any

import numpy as np
import pytest
from tests.checks.play import Spy, reward
from tests.plain import PlainPSLB

import eigenbandits as eb
from eigenbandits.environments import LowRank

STRUCTURE = eb.Structure(lambda_plus=1.0, lambda_minus=1.0, sigma2=1e-5, d_x=2.0, d_psi=6.0)
COMMON: dict[str, Any] = {"noise": 0.2, "theta_bound": 1.5, "ridge": 0.7, "delta": 0.05, "rank": 2}
VARIANTS: dict[str, dict[str, Any]] = {
    "sharp": {},
    "general": {"radius": "general"},
    "worst-case": {"radius": "worst-case"},
    "error 0.3": {"projection_error": 0.3},
    "error 0": {"projection_error": 0.0},
    "theorem": {"projection_error": "theorem", "structure": STRUCTURE},
    "theorem anytime": {"projection_error": "theorem", "structure": STRUCTURE, "anytime": True},
    "anytime": {"anytime": True},
}


def decision_sets(kind, count=25, arms=6):
    """Return decision sets: near a plane, near a plane with a large common mean, or with no structure at all."""
    if kind == "no structure":
        rng = np.random.default_rng(8)
        return [rng.standard_normal((arms, 5)) for _ in range(count)]
    instance = LowRank(dim=7, rank=2, arms=arms, perturbation=0.2).instance(3)
    sets = [offered.actions for offered in islice(instance.rounds(), count)]
    return [actions + 2.0 for actions in sets] if kind == "common mean" else sets


def assert_agrees(options, sets, taught=()):
    """Play a policy and its twin on the same sets; return what the twin saw and the policy's last diagnostics.

    Both are `taught` some further pairs of actions and rewards after the first round.
    """
    policy = eb.PSLB(**options, refresh="every-round", seed=0)
    spy = policy.rule = Spy(policy.rule)
    twin = PlainPSLB(**options)
    looks = []
    for actions in sets:
        decision = policy.choose(actions)
        look = twin.look(actions)
        looks.append(look)
        np.testing.assert_allclose(spy.estimates, look.estimates, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(spy.uppers, look.uppers, rtol=1e-7, atol=1e-9)
        assert decision.upper == pytest.approx(look.uppers.max(), rel=1e-7)
        assert look.uppers[decision.index] == pytest.approx(look.uppers.max(), rel=1e-9)
        assert decision.estimate == pytest.approx(look.estimates[decision.index], rel=1e-7, abs=1e-9)
        found = policy.diagnostics()
        assert found.projection_error == pytest.approx(look.error, rel=1e-9)
        assert found.spectrum is not None
        np.testing.assert_allclose(found.spectrum, look.spectrum, rtol=1e-8, atol=1e-12)
        if options["intersect"]:
            assert found.details["radius_ambient"] == pytest.approx(look.omega, rel=1e-9)
        if found.details["radius_projected"] is not None and not options.get("anytime") and not look.acts_on_ambient:
            assert found.details["radius_projected"] == pytest.approx(look.beta, rel=1e-7)
        for action, value in [(decision.action, reward(decision)), *(taught if len(looks) == 1 else [])]:
            policy.learn(decision if action is decision.action else action, value)
            twin.learn(actions, action, value)
    return looks, policy.diagnostics()


@pytest.mark.parametrize("intersect", [True, False], ids=["both", "projected"])
@pytest.mark.parametrize(
    ("center", "world"),
    [
        ("none", "plane"),
        ("none", "no structure"),
        ("mean", "common mean"),
        ("set", "common mean"),
        ("differences", "common mean"),
    ],
)
@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_every_round_agrees_with_the_twin(options, world, center, intersect):
    assert_agrees(COMMON | options | {"center": center, "intersect": intersect}, decision_sets(world))


def test_actions_that_resemble_each_other_are_worth_less_than_their_number():
    """With rows in pairs of equals every set's products add up to twice what independent ones would."""
    sets = [np.repeat(actions[:3], 2, axis=0) for actions in decision_sets("plane", count=52)]
    looks, found = assert_agrees(COMMON | {"center": "none", "intersect": True}, sets)
    assert found.details["likeness_within_sets"] > 1.3
    assert looks[-1].error > 0.0


def test_where_the_two_sets_contradict_each_other_the_ambient_one_decides():
    """A plane that is said to be exact, and rewards that it cannot explain: no model fits both sets.

    v alone earns nothing and v + w, with w outside the plane, earns ten: θ* = 10 w. In the plane both look like v.
    """
    inside, outside = np.linalg.svd(np.concatenate(decision_sets("plane")))[2][[0, 3]]
    taught = [(inside, 0.0)] * 60 + [(inside + outside, 10.0)] * 60
    options = COMMON | {"noise": 0.01, "projection_error": 0.0, "center": "none", "intersect": True}
    looks, found = assert_agrees(options, decision_sets("plane"), taught)
    contradicted = sum(look.acts_on_ambient for look in looks)
    assert contradicted == 24  # all rounds but the first, which came before the lesson
    assert found.details["rounds_contradicted"] == contradicted
    assert any("low-rank assumption fails" in warning for warning in found.warnings)
    assert found.details["rounds_in_warmup"] == 0


def test_while_the_projection_error_is_vacuous_the_ambient_set_decides():
    options = COMMON | {"projection_error": 1.0, "center": "none", "intersect": True}
    looks, found = assert_agrees(options, decision_sets("plane", count=5))
    assert all(look.acts_on_ambient for look in looks)
    assert found.details["rounds_in_warmup"] == 5
    assert any("vacuous" in warning for warning in found.warnings)


def test_lazy_refreshes_agree_with_the_twin_at_the_rounds_where_they_fall():
    """Between refreshes the frame is older than the twin's; where it is new, all must agree again."""
    options = COMMON | {"center": "mean", "intersect": True, "projection_error": 0.2}
    policy = eb.PSLB(**options, seed=0)
    spy = policy.rule = Spy(policy.rule)
    twin = PlainPSLB(**options)
    agreed = 0
    for actions in decision_sets("common mean", count=40):
        decision = policy.choose(actions)
        look = twin.look(actions)
        spectrum = policy.diagnostics().spectrum
        assert spectrum is not None
        if np.allclose(spectrum, look.spectrum, rtol=1e-10):
            np.testing.assert_allclose(spy.uppers, look.uppers, rtol=1e-7, atol=1e-9)
            agreed += 1
        policy.learn(decision, reward(decision))
        twin.learn(actions, decision.action, reward(decision))
    # A tenth more vectors make a refresh due: all of the first ten rounds, fewer and fewer later on.
    assert 10 < agreed < 40
