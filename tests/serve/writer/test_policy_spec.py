"""The spec of a policy comes back from text, and knows a repeated request."""

from __future__ import annotations

from eigenbandits.serve.writer.policy_spec import PolicySpec


def test_a_spec_comes_back_and_knows_its_own():
    asked = PolicySpec("PSLB", {"noise": 0.5}, time_to_live=5.0)
    made = asked.seeded()
    assert made.parameters["seed"] >= 0
    assert PolicySpec.from_text(made.to_text()) == made
    assert asked.same_request(made)
    assert made.same_request(made)
    assert not PolicySpec("PSLB", {"noise": 0.5}).same_request(made)
    assert not PolicySpec("PSLB", {"noise": 0.5, "seed": made.parameters["seed"] + 1}, time_to_live=5.0).same_request(
        made
    )
