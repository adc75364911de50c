"""No public policy goes without checks."""

from tests.checks.cases import CASES, NEEDS, Case, discovered

import eigenbandits as eb
from eigenbandits.algorithms.base import Algorithm, Parts


def test_every_public_policy_is_checked():
    public = {name for name in eb.__all__ if isinstance(getattr(eb, name), type)}
    policies = {name for name in public if issubclass(getattr(eb, name), eb.Policy)}
    assert policies == {case.kind.__name__ for case in CASES}
    assert set(NEEDS) <= set(discovered())


def test_case_names_are_unique():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


def test_a_new_policy_is_checked_with_no_further_ado():
    class Newcomer(Algorithm):
        def parts(self) -> Parts:
            return eb.subspace.Whole(), eb.belief.Ambient(0.1), eb.rules.BestEstimate()

    assert isinstance(Case(Newcomer).make(dim=3, seed=5, noise=1.0), Newcomer)
