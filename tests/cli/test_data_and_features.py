"""The commands `data` and `features`: what they print, what they leave, and one sentence when something is wrong."""

import sys

import pytest
from tests.papers.lale2019.datasets.files import write_mnist
from typer.testing import CliRunner

from eigenbandits.cli import app


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.setenv("EIGENBANDITS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("EIGENBANDITS_CACHE", str(tmp_path / "cache"))
    return lambda *words: CliRunner().invoke(app(), list(words))


def test_the_state_of_the_data_is_told(call, tmp_path):
    told = call("data", "status")
    assert told.exit_code == 0
    assert f"Data in {tmp_path / 'data'}:" in told.output
    assert "MNIST: missing; fetch 12 MB with: eigenbandits data fetch mnist" in told.output
    elsewhere = call("data", "status", "--data", str(tmp_path / "other"))
    assert f"Data in {tmp_path / 'other'}:" in elsewhere.output


def test_what_cannot_be_fetched_is_said(call):
    refused = call("data", "fetch", "svhn")
    assert refused.exit_code == 1
    assert refused.output.startswith("Error: there is no dataset 'svhn' to fetch; expected one of mnist, cifar10, prob")


def test_an_empty_cache_is_told(call, tmp_path):
    told = call("features", "list")
    assert told.exit_code == 0
    assert told.output.startswith(f"There are no features in {tmp_path / 'cache' / 'features'}; make some with: ")


def test_from_raw_files_to_a_list_of_features(call, tmp_path):
    pytest.importorskip("torch", reason='torch is not installed; run: pip install "eigenbandits[torch]"')
    missing = call("features", "make", "mnist")
    assert missing.exit_code == 1
    assert missing.output.startswith(f"Error: there is no MNIST in {tmp_path / 'data'}")
    write_mnist(tmp_path / "data" / "mnist", training=20, tests=10)
    words = ("features", "make", "mnist", "--dim", "3", "--dim", "20", "--epochs", "1", "--threads", "1")
    made = call(*words)
    assert made.exit_code == 0, made.output
    assert made.output.count(": made, ") == 4
    assert call(*words).output.count(": exists, ") == 4
    lines = call("features", "list").output.splitlines()
    names = [line.split()[0] for line in lines if line.startswith("mnist")]
    assert names == [f"mnist-cnn-d{dim}-{layer}" for dim in (3, 20) for layer in ("linear", "relu")]
    damaged = tmp_path / "cache" / "features" / "mnist-cnn-d3-relu.npz"
    damaged.write_bytes(b"damaged")
    refused = call("features", "list")
    assert refused.exit_code == 1
    assert f"Error: {damaged} is not a file of features" in refused.output


def test_torch_weights_are_taken_over(call, tmp_path):
    torch = pytest.importorskip("torch", reason='torch is not installed; run: pip install "eigenbandits[torch]"')
    torch.save({"a.weight": torch.ones(2)}, tmp_path / "some.pth")
    told = call("features", "weights", str(tmp_path / "some.pth"), str(tmp_path / "some.npz"))
    assert told.output == f"Wrote 1 arrays to {tmp_path / 'some.npz'}\n"
    refused = call("features", "weights", str(tmp_path / "none.pth"), str(tmp_path / "other.npz"))
    assert (refused.exit_code, refused.output) == (
        1,
        f"Error: there is no file {tmp_path / 'none.pth'}; expected weights that torch.save wrote.\n",
    )


def test_without_torch_one_sentence_says_how_to_get_it(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    refused = call("features", "make", "mnist")
    assert str(refused.exception) == 'Training a network needs torch; run: pip install "eigenbandits[torch]"'
