"""A request that does not fit its model is refused in the service's own words, whatever is wrong with it."""

import pytest

from eigenbandits.serve import Settings, running
from eigenbandits.serve.errors import Refusal
from eigenbandits.serve.http import models
from eigenbandits.serve.http.validation import validated
from eigenbandits.serve.server import Server

POLICY = {"name": "news"}


@pytest.mark.parametrize(
    ("model", "body", "sentence"),
    [
        (
            "NewPolicy",
            POLICY | {"sede": 1},
            "sede is not a field of this request; check the spelling or leave it out.",
        ),
        ("NewPolicy", {}, "name is missing; expected a value."),
        ("NewPolicy", {"name": "A b"}, "name is 'A b'; expected 1 to 64 lowercase letters"),
        ("NewPolicy", POLICY | {"time_to_live": -1}, "time_to_live is -1; expected a number above 0."),
        ("NewPolicy", POLICY | {"time_to_live": 1e11}, "expected a number of at most 1e+10."),
        ("NewPolicy", POLICY | {"default_reward": "x"}, "default_reward is 'x'; expected a number."),
        ("NewPolicy", POLICY | {"observe_every": 0}, "observe_every is 0; expected a number of at least 1."),
        ("NewPolicy", POLICY | {"keep_sets": "no"}, "keep_sets is 'no'; expected true or false."),
        ("NewPolicy", POLICY | {"parameters": [1]}, "parameters is a list of length 1; expected an object."),
        ("NewPolicy", [], "The body is a list of length 0; expected an object."),
        ("NewKey", {"name": "web", "scopes": ["all"]}, "scopes.0 is 'all'; expected 'decide', 'reward' or 'admin'."),
        ("NewKey", {"name": "web", "scopes": []}, "scopes is a list of length 0; expected a list of length 1 or more."),
        ("NewKey", {"name": "x" * 101, "scopes": ["all"]}, "...; expected at most 100 characters."),
        ("ItemIds", {"ids": None}, "ids is null; expected a list."),
    ],
)
def test_a_sentence_names_the_field_what_was_sent_and_what_was_expected(model, body, sentence):
    with pytest.raises(Refusal) as caught:
        validated(getattr(models, model).model_validate, body)
    assert sentence in caught.value.message
    assert caught.value.message.count(". ") == 0
    # Nothing of the validator's own wording, which changes with its version.
    assert not any(word in caught.value.message for word in ("Input should", "permitted", "valid "))


def test_a_body_that_is_no_json():
    with pytest.raises(Refusal, match="The body is not JSON: "):
        validated(models.NewPolicy.model_validate_json, b"{")


def test_a_taken_port_is_named_with_what_to_do(tmp_path):
    with running(Settings(folder=tmp_path / "one", port=0)) as first:
        taken = int(first.url.rpartition(":")[2])
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1, port {taken} .*another port with --port"):
            Server(Settings(folder=tmp_path / "two", port=taken)).start()
