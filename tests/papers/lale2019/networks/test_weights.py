"""Weights as plain arrays: written, read back, refused where they do not fit, and taken over from torch's files."""

import numpy as np
import pytest

pytest.importorskip("torch", reason='torch is not installed; run: pip install "eigenbandits[torch]"')

import torch

from eigenbandits.lab.errors import DataError
from eigenbandits.papers.lale2019.features.file import save_arrays
from eigenbandits.papers.lale2019.networks.cifar_resnet import CifarResNet
from eigenbandits.papers.lale2019.networks.weights import arrays, convert, fingerprint, load_weights, read_weights


def test_weights_come_back_as_they_were(tmp_path):
    torch.manual_seed(1)
    network, other = CifarResNet(1), CifarResNet(1)
    for name in ("a", "b"):
        save_arrays(tmp_path / "new" / f"{name}.npz", arrays(network))
    load_weights(other, read_weights(tmp_path / "new" / "a.npz"), "a.npz")
    images = torch.randn(2, 3, 32, 32)
    torch.testing.assert_close(other.eval()(images), network.eval()(images))
    assert fingerprint(arrays(other)) == fingerprint(read_weights(tmp_path / "new" / "b.npz"))
    other.conv1.weight.data[0, 0, 0, 0] += 1e-3
    assert fingerprint(arrays(other)) != fingerprint(arrays(network))


def test_weights_that_do_not_fit_are_refused_and_change_nothing():
    network = CifarResNet(1)
    before = fingerprint(arrays(network))
    good = {name: value + 1.0 for name, value in arrays(network).items()}
    bad = {
        "some.npz misses 'bn1.bias'": {name: value for name, value in good.items() if name != "bn1.bias"},
        "some.npz has 'fc.weight'": good | {"fc.weight": np.zeros(3)},
        r"some.npz: conv1.weight has shape \(2,\); expected \(16, 3, 3, 3\)": good | {"conv1.weight": np.zeros(2)},
    }
    for sentence, weights in bad.items():
        with pytest.raises(DataError, match=sentence):
            load_weights(network, weights, "some.npz")
        assert fingerprint(arrays(network)) == before
    load_weights(network, good | {"linear.bias": np.zeros(10)}, "some.npz", ignored=("linear.",))
    np.testing.assert_array_equal(arrays(network)["bn1.bias"], good["bn1.bias"])


def test_files_that_hold_no_weights_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file of weights"):
        read_weights(tmp_path / "none.npz")
    path = tmp_path / "bad.npz"
    for content in (b"", b"no zip", b"PK\x03\x04cut"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"is not an \.npz file of plain arrays"):
            read_weights(path)
    np.savez(path, words=np.array([{"a": 1}], dtype=object))
    with pytest.raises(DataError, match=r"is not an \.npz file of plain arrays"):
        read_weights(path)


def test_torch_files_become_plain_arrays(tmp_path):
    torch.manual_seed(2)
    network = CifarResNet(1)
    plain = network.state_dict()
    torch.save(plain, tmp_path / "plain.pth")
    torch.save(
        {"best": 93.4, "state_dict": {f"module.{name}": value for name, value in plain.items()}}, tmp_path / "many.th"
    )
    for name in ("plain.pth", "many.th"):
        assert convert(tmp_path / name, tmp_path / "out.npz") == len(plain)
        other = CifarResNet(1)
        load_weights(other, read_weights(tmp_path / "out.npz"), "out.npz")
        assert fingerprint(arrays(other)) == fingerprint(arrays(network))


def test_torch_files_that_cannot_be_taken_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        convert(tmp_path / "none.pth", tmp_path / "out.npz")
    (tmp_path / "bad.pth").write_bytes(b"no weights")
    with pytest.raises(DataError, match=r"is not a file of weights that torch\.save wrote"):
        convert(tmp_path / "bad.pth", tmp_path / "out.npz")
    # A whole network would have to run code to be read.
    torch.save(CifarResNet(1), tmp_path / "network.pth")
    with pytest.raises(DataError, match="is not a file of weights"):
        convert(tmp_path / "network.pth", tmp_path / "out.npz")
    torch.save({"epoch": 3}, tmp_path / "empty.pth")
    with pytest.raises(DataError, match="holds no weights"):
        convert(tmp_path / "empty.pth", tmp_path / "out.npz")
    assert not (tmp_path / "out.npz").exists()
