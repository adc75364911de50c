"""Every check that asks for `case` runs once for every policy."""

import pytest
from tests.checks.cases import CASES, Case


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found
