"""Parameters, state, copies and names of the parts of a policy."""

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.belief import Ambient, Both, Projected
from eigenbandits.component import Component
from eigenbandits.rules import InverseGap, Optimism, Thompson
from eigenbandits.subspace import PCA, Known, Whole


def test_a_representation_shows_what_differs_from_the_defaults():
    assert repr(Optimism()) == "Optimism()"
    assert repr(InverseGap()) == "InverseGap()"
    assert repr(InverseGap(0.3)) == "InverseGap(gamma=0.3)"
    assert repr(Thompson(0.5)) == "Thompson(scale=0.5)"
    assert repr(eb.OFUL(noise=0.1)) == "OFUL(noise=0.1)"
    assert repr(eb.LinUCB(multiplier=2.0, seed=3)) == "LinUCB(multiplier=2.0, seed=3)"
    assert repr(eb.PSLB(noise=0.5, rule="exact", rank=3)) == "PSLB(noise=0.5, rule='exact', rank=3)"
    composed = eb.Policy(Whole(), Ambient(0.1), Optimism())
    assert repr(composed) == "Policy(subspace=Whole(), belief=Ambient(noise=0.1), rule=Optimism())"
    # A whole number is not the same default as a number, a switch not the same as either.
    assert repr(InverseGap(1)) == "InverseGap(gamma=1.0)"


def test_parameters_are_given_back_as_they_were_given():
    basis = [[1.0], [0.0]]
    assert Known(basis).params() == {"basis": basis, "projection_error": 0.0}
    assert eb.PSLB(noise=0.5, rule="sampled").params()["rule"] == "sampled"


def test_a_clone_of_a_composition_clones_its_parts():
    belief = Both(Projected(0.1, radius="general"), Ambient(0.1))
    policy = eb.Policy(PCA(2), belief, Optimism(), seed=4)
    policy.choose(np.eye(3))
    clone = policy.clone()
    assert clone.belief is not policy.belief
    assert clone.subspace is not policy.subspace
    assert clone.dim is None
    assert repr(clone) == repr(policy)
    shared = clone.belief
    assert isinstance(shared, Both)
    assert shared.projected.evidence is shared.ambient.evidence
    assert shared.ambient.evidence is not belief.ambient.evidence


def test_classes_are_known_by_module_and_name(monkeypatch):
    monkeypatch.setattr(Component, "_registry", dict(Component._registry))

    class Ambient(Component):
        pass

    assert Component.named("eigenbandits.belief.ambient:Ambient") is eb.belief.Ambient
    assert Component.named(f"{__name__}:{Ambient.__qualname__}") is Ambient
    # A class of the library that has moved since.
    assert Component.named("eigenbandits.old_home:PSLB") is eb.PSLB
    for stranger in ("subprocess:Popen", "elsewhere:PSLB", "eigenbandits.serve.server:run", "Popen", "Ambient"):
        with pytest.raises(KeyError, match=f"unknown class {stranger}; import the module"):
            Component.named(stranger)


def test_state_is_taken_back_whole():
    first, second = Ambient(0.2), Ambient(0.2)
    first.start(3)
    first.learn(np.array([1.0, 2.0, 3.0]), 0.7)
    second.restore(first.state())
    for belief in (first, second):
        belief.learn(np.array([0.0, 1.0, -1.0]), 0.2)
    np.testing.assert_array_equal(first.center, second.center)
    assert first.log_det_ratio == second.log_det_ratio
    with pytest.raises(ValueError, match="Ambient was saved without 'evidence', which this version needs; make a new"):
        second.restore({})
