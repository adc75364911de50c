"""Every policy, and every variant of it, keeps what `eigenbandits.testing` checks."""

from functools import partial

import pytest
from tests.checks.cases import Case

from eigenbandits.testing import Check, checks


@pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
def test_the_policy_keeps_the_promise(case: Case, check: Check) -> None:
    if reason := case.skips(check.name):
        pytest.skip(reason)
    check(partial(case.make_for, check.name))
