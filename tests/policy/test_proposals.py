"""`Policy.propose`: what `choose` would do, without a trace."""

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.policy import files

POLICIES = {
    "EigenUCB": eb.EigenUCB(seed=0),
    "EigenTS": eb.EigenTS(seed=0),
    "PSLB": eb.PSLB(noise=0.5, seed=0),
    "OFUL": eb.OFUL(noise=0.5, radius="paper", seed=0),
    "LinTS": eb.LinTS(noise=0.5, seed=0),
    "EpsilonGreedy": eb.EpsilonGreedy(epsilon=0.5, seed=0),
    "SquareCB": eb.SquareCB(seed=0),
    "Guarded": eb.Guarded(eb.EigenUCB(center="none", seed=0), noise=0.5, theta_bound=1.0),
}


@pytest.mark.parametrize("name", POLICIES)
def test_a_proposal_is_the_next_choice_and_leaves_no_trace(name):
    rng = np.random.default_rng(1)
    policy = POLICIES[name].clone()
    for _ in range(30):
        decision = policy.choose(rng.standard_normal((4, 5)))
        policy.learn(decision, float(rng.standard_normal()))
    policy.belief.follow(policy.subspace.frame())
    saved = files.to_bytes(policy)
    # Large ones last: a belief that took note of their norms would choose with another radius from then on.
    sets = [scale * rng.standard_normal((4, 5)) for scale in (1.0, 1.0, 1.0, 50.0)]
    first = [policy.propose(actions, np.random.default_rng(i)) for i, actions in enumerate(sets)]
    for i, actions in reversed(list(enumerate(sets))):
        again = policy.propose(actions, np.random.default_rng(i))
        fresh = files.from_bytes(saved)
        fresh.rng = np.random.default_rng(i)
        chosen = fresh.choose(actions, observe=False)
        for other in (again, chosen):
            assert (other.index, other.estimate, other.upper) == (first[i].index, first[i].estimate, first[i].upper)
            assert other.propensity == first[i].propensity
            assert other.round == 31


def test_what_may_not_be_chosen_is_not_proposed():
    policy = eb.EpsilonGreedy(epsilon=1.0, seed=0)
    policy.observe(np.eye(3))
    found = {policy.propose(np.eye(3), np.random.default_rng(i), allowed=[0, 2]).index for i in range(40)}
    assert found == {0, 2}
