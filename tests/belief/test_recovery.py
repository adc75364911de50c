"""Learning that is cut off in the middle leaves a belief that still agrees with its own sums."""

import numpy as np
import pytest
from tests.checks.play import decision_sets, look, play

import eigenbandits as eb
from eigenbandits import linalg
from eigenbandits.belief.evidence import Evidence
from eigenbandits.policy.files import from_bytes, to_bytes

PROBE = next(decision_sets(seed=9))
MAKERS = {
    "certified": lambda: eb.Policy(
        eb.subspace.PCA(2, projection_error=0.1), eb.belief.MixtureSet(noise=0.1, theta_bound=1.0), eb.rules.Optimism()
    ),
    "ambient": lambda: eb.OFUL(noise=0.1),
    "both": lambda: eb.PSLB(noise=0.1, rank=2, projection_error=0.1),
    "projected": lambda: eb.PSLB(noise=0.1, rank=2, intersect=False, projection_error=0.1),
    "general": lambda: eb.PSLB(noise=0.1, rank=2, radius="general", projection_error=0.1),
}
# Where learning is interrupted: before a step or after it has changed what it works on.
PLACES = {
    "ambient_step": linalg.kernels,
    "projected_step": linalg.kernels,
    "inverse": linalg,
    "add": Evidence,
    "add_many": Evidence,
}


class Interrupted(KeyboardInterrupt):
    """What a person does to a program that takes too long."""


@pytest.mark.parametrize("batch", [0, 1, 30], ids=["one", "a batch of one", "a large batch"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", MAKERS)
def test_an_interruption_loses_the_reward_or_keeps_it_whole(kind, place, after, batch, monkeypatch):
    policy = MAKERS[kind]()
    play(policy, decision_sets(count=25))
    twin = from_bytes(to_bytes(policy))
    decision = policy.choose(PROBE)
    twin.choose(PROBE)
    actions = np.concatenate(list(decision_sets(count=6, seed=4)))
    owner, reached = PLACES[place], []
    whole = getattr(owner, place)

    def broken(*args, **kwargs):
        reached.append(place)
        if after:
            whole(*args, **kwargs)
        raise Interrupted

    with monkeypatch.context() as patched:
        patched.setattr(owner, place, broken)
        try:
            if batch:
                policy.learn_many(actions[:batch], np.ones(batch))
            else:
                policy.learn(decision, 1.0)
        except Interrupted:
            pass
    if not reached:
        pytest.skip("this belief does not come by here")
    if place == "inverse":
        # Recovery came by here as well, and was cut off too.
        policy.belief.recover()
    counted = after and place in ("add", "add_many")
    counted = counted and policy.diagnostics().rewards_learned > twin.diagnostics().rewards_learned
    if counted:
        # The sums had taken it in: then everything else has as well.
        twin.learn_many(actions[:batch], np.ones(batch)) if batch else twin.learn(decision, 1.0)
    assert policy.diagnostics().rewards_learned == twin.diagnostics().rewards_learned
    for one, other in zip(look(policy, PROBE), look(twin, PROBE), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)
    for actions in decision_sets(count=5, seed=5):
        first, second = policy.choose(actions), twin.choose(actions)
        assert first.upper == pytest.approx(second.upper, rel=1e-8)
        policy.learn(first, 0.3)
        twin.learn(first, 0.3)
