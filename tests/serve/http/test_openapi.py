"""schemathesis makes up requests from the OpenAPI document; none of them makes the server fail.

EIGENBANDITS_TEST_EXAMPLES=200 pytest tests/serve/http/test_openapi.py
"""

from __future__ import annotations

import os

import httpx
import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import InvalidArgument, Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.serve.bodies import create, decide

from eigenbandits.serve import Settings, running

EXAMPLES = int(os.environ.get("EIGENBANDITS_TEST_EXAMPLES", "8"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(params=["sqlite", "postgres"])
def document(request, tmp_path):
    # What one database takes another may not, such as a character of value zero.
    database = request.getfixturevalue("cluster").new_database("schemathesis") if request.param == "postgres" else ""
    settings = Settings(folder=tmp_path, database=database, port=0)
    with running(settings) as server, httpx.Client(base_url=server.url) as client:
        create(client, "0")
        decide(client, np.ones((2, 4)), "0")
        client.put("/v1/catalogues/0", json={"ids": ["a", "b"], "vectors": [[1.0, 2.0], [3.0, 5.0]]})
        yield schemathesis.openapi.from_url(server.url + "/openapi.json")
        assert client.get("/ready").json() == {"ready": True, "reasons": []}


@pytest.mark.parametrize(
    ("document", "mode"),
    [
        ("sqlite", GenerationMode.POSITIVE),
        ("sqlite", GenerationMode.NEGATIVE),
        ("postgres", GenerationMode.NEGATIVE),
    ],
    indirect=["document"],
)
def test_no_request_makes_the_server_fail(document, mode):
    tried = 0
    for found in document.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(max_examples=EXAMPLES, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
        def ask(case):
            nonlocal tried
            # A key would shut the server to the requests that follow.
            if case.path == "/v1/keys" and case.method == "POST":
                case.body = {"name": "x", "scopes": ["decide"]}
            # What is there already is asked for now and then, not only what is not.
            if "name" in case.path_parameters and len(str(case.path_parameters["name"])) % 2:
                case.path_parameters["name"] = "0"
            if case.method == "DELETE" and case.path_parameters.get("name") == "0":
                return
            tried += 1
            case.call_and_validate(checks=CHECKS)

        try:
            ask()
        except (Unsatisfiable, InvalidArgument):
            # Of a request without parameters and body there is none that is not as said.
            assert mode is GenerationMode.NEGATIVE
    assert tried > 10 * EXAMPLES
