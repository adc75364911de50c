"""What only the first vectors can show to be wrong is refused as well."""

import numpy as np

import eigenbandits as eb
from eigenbandits.testing.play import assert_refused, decision_sets, play


def test_a_first_set_that_does_not_fit_the_policy():
    """What only the first vectors can show, a rank above d or a model of another length, leaves no trace either."""
    thin = np.ones((3, 2))
    for policy in (
        eb.PSLB(noise=0.1, rank=3),
        eb.CBRAP(noise=0.1, rank=3),
        eb.Oracle(theta=np.ones(3)),
        eb.ProjectedThompson(noise=0.1, rank=3),
        eb.Policy(eb.subspace.Known(np.eye(3)[:, :2]), eb.belief.Projected(0.1), eb.rules.Optimism()),
    ):
        assert_refused(policy, lambda policy=policy: policy.choose(thin))
        assert_refused(policy, lambda policy=policy: policy.learn(thin[0], 0.5))
        play(policy, decision_sets(dim=3, count=2))
