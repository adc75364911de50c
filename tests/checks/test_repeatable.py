"""What a seed decides."""

from tests.checks.play import assert_same, decision_sets, play

import eigenbandits as eb


def test_another_seed_makes_other_choices_where_chance_decides(case):
    outcomes = [play(case.make(seed=seed), decision_sets(count=40)) for seed in (0, 1)]
    if outcomes[0][-1].propensity is not None:
        assert [d.index for d in outcomes[0]] != [d.index for d in outcomes[1]]
    elif case.kind is not eb.CBRAP and case.options.get("rule") != "sampled":
        assert_same(*outcomes)
