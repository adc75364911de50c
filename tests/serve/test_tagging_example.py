"""The worked example, with made-up vectors in the place of a language model's."""

import importlib.util
from collections import Counter

import numpy as np
import pytest
from tests.docs.pages import ROOT

pytest.importorskip("uvicorn", reason='the service is not installed; run: pip install "eigenbandits[serve]"')
FILE = ROOT / "examples" / "tagging" / "tag.py"


@pytest.fixture(scope="module")
def tag():
    import sys

    spec = importlib.util.spec_from_file_location("tagging_example", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture
def data(tag, monkeypatch):
    """The real tags and questions; a question's vector is its tag's and a little noise."""
    rng = np.random.default_rng(0)
    names = [line.split("\t")[0] for line in (FILE.parent / "tags.tsv").read_text().splitlines()]
    owners = [line.split("\t")[0] for line in (FILE.parent / "questions.tsv").read_text().splitlines()]
    tags = rng.standard_normal((len(names), 40))

    def embed(texts):
        assert len(texts) == len(names) + len(owners)
        questions = tags[[names.index(owner) for owner in owners]] + 0.3 * rng.standard_normal((len(owners), 40))
        return np.concatenate([tags, questions]).astype(np.float32)

    monkeypatch.setattr(tag, "embed", embed)
    return tag.read()


def test_the_data_is_even_and_nothing_is_asked_twice(data):
    assert set(Counter(data.right.tolist()).values()) == {20}
    assert len(data.tags) == len(set(data.tags)) == 20
    assert len(data.questions) == len(set(data.questions)) == 400


def test_it_learns_and_counts_each_reward_once(tag, data):
    with tag.connected(None, None) as client:
        client.create_catalogue(tag.CATALOGUE, data.tags, data.tag_vectors)
        # Without the prior, which is right about such vectors from the first question on.
        outcome = tag.play(client, data, {"seed": 0}, rounds=400, late=20, seed=0)
        counts = client.policy("tagging-0")
    # 400 of the traffic and 100 that were kept back, which get no reward.
    assert (counts["decisions"], counts["rewards"], counts["pending"]) == (500, 400, 100)
    # Vectors this clear are easy: chance is 5 %, so half of the last hundred is learning beyond doubt.
    assert np.mean(outcome.served[300:]) > 0.5
    assert np.mean(outcome.served[300:]) > np.mean(outcome.served[:50])
    text = tag.report([outcome], len(data.tags))
    assert f"{np.mean(outcome.served):.1%}" in text
    assert "never asked before" in text


def test_the_curve_is_a_picture(tag, tmp_path):
    outcome = tag.Outcome(served=[True] * 600, cosine=[False] * 600)
    tag.draw([outcome], 20, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
