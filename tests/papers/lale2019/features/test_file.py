"""Files of features: read back, mapped from disk, refused when damaged; and accuracies against segments written out."""

import json

import numpy as np
import pytest

from eigenbandits.features import Product, group_of
from eigenbandits.papers.lale2019.features import Features, find, open_features
from eigenbandits.papers.lale2019.features.cache import feature_name, features_path, is_made, key_of
from eigenbandits.papers.lale2019.features.file import Dense, read_header, save_features

IMAGES, INPUTS, CLASSES, DIM = 40, 6, 3, 5


def layer_of(kind, rng):
    if kind == "product":
        return Product.grouped(rng.standard_normal((CLASSES, INPUTS)).astype(np.float32), group_of(INPUTS, DIM, seed=0))
    weight = rng.standard_normal((INPUTS, CLASSES * DIM)).astype(np.float32)
    return Dense(weight, rng.standard_normal(CLASSES * DIM).astype(np.float32), CLASSES, kind == "relu")


def segments_by_hand(layer, hidden):
    """Form every number of every segment by its definition, in float64."""
    found = np.zeros((len(hidden), layer.classes, layer.dim))
    for n, h in enumerate(np.asarray(hidden, dtype=np.float64)):
        for k in range(layer.classes):
            if isinstance(layer, Product):
                for j, group in enumerate(layer.groups):
                    found[n, k, group] += h[j] * layer.items[k, j]
                continue
            for i in range(layer.dim):
                place = k * layer.dim + i
                output = sum(h[j] * layer.weight[j, place] for j in range(layer.inputs)) + layer.bias[place]
                found[n, k, i] = max(output, 0.0) if layer.relu else output
    return found


@pytest.fixture(params=["linear", "relu", "product"])
def made(request):
    rng = np.random.default_rng(0)
    layer = layer_of(request.param, rng)
    hidden = rng.standard_normal((IMAGES, INPUTS)).astype(np.float32)
    theta = rng.standard_normal(DIM)
    rows = (segments_by_hand(layer, hidden) @ theta).argmax(axis=1)
    return Features(layer, theta, hidden, rows, {"key": "abc", "action_bound": 9.0, "layer": request.param})


def test_segments_are_what_the_layer_says(made):
    expected = segments_by_hand(made.layer, made.hidden)
    np.testing.assert_allclose(made.segments(np.arange(IMAGES)), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(made.segments([7, 2]), expected[[7, 2]], rtol=1e-5, atol=1e-5)
    assert made.segments([0]).dtype == np.float64


def test_accuracy_is_the_share_of_images_on_which_a_model_agrees_with_the_network(made, monkeypatch):
    monkeypatch.setattr(type(made), "block", 7)  # does not divide the number of images
    rng = np.random.default_rng(1)
    models = np.vstack([made.theta, -made.theta, rng.standard_normal((3, DIM))])
    first = (segments_by_hand(made.layer, made.hidden) @ models.T).argmax(axis=1)
    expected = (first == made.rows[:, None]).mean(axis=0)
    np.testing.assert_allclose(made.accuracy(models), expected)
    np.testing.assert_allclose(made.accuracy(models[2]), expected[2:3])
    some = made.order[:10]
    np.testing.assert_allclose(made.accuracy(models, images=10), (first[some] == made.rows[some, None]).mean(axis=0))
    np.testing.assert_allclose(made.accuracy(models, images=10_000), expected)


def test_blocks_are_of_16_million_bytes_at_most(made):
    assert 15e6 < 4 * made.block * CLASSES * DIM <= 2**24


def test_models_that_do_not_fit_are_refused(made):
    with pytest.raises(ValueError, match=f"thetas has models of length 4; expected {DIM}"):
        made.accuracy(np.ones(4))
    with pytest.raises(ValueError, match="thetas holds nan"):
        made.accuracy(np.full(DIM, np.nan))
    with pytest.raises(ValueError, match="images is 0"):
        made.accuracy(np.ones(DIM), images=0)


def test_what_is_saved_is_read_back_and_mapped(made, tmp_path):
    path = tmp_path / "new" / "features.npz"
    save_features(path, made)
    found = open_features(path)
    assert isinstance(found.hidden, np.memmap)
    np.testing.assert_array_equal(found.hidden, made.hidden)
    np.testing.assert_array_equal(found.rows, made.rows)
    np.testing.assert_array_equal(found.theta, made.theta)
    np.testing.assert_array_equal(found.segments(np.arange(IMAGES)), made.segments(np.arange(IMAGES)))
    assert found.facts == made.facts
    assert read_header(path)["facts"] == made.facts
    with pytest.raises(ValueError, match="read-only"):
        found.hidden[0, 0] = 1.0


def test_a_damaged_file_is_refused_in_a_sentence(made, tmp_path):
    path = tmp_path / "features.npz"
    save_features(path, made)
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], content[:-10], b"", b"no features at all"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"features\.npz is not a file of features, or is truncated or damaged"):
            open_features(path)
    # One bit of θ* flipped: the checksum that every zip file carries tells.
    place = content.index(made.theta.tobytes())
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    with pytest.raises(ValueError, match="truncated or damaged"):
        open_features(path)


@pytest.mark.parametrize("header", [{"format": "other", "version": 1}, {"version": 1}])
def test_other_files_are_refused(tmp_path, header):
    path = tmp_path / "other.npz"
    np.savez(path, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))
    with pytest.raises(ValueError, match="is not a file of features"):
        open_features(path)


def test_a_newer_format_and_a_missing_file_are_said(tmp_path):
    path = tmp_path / "newer.npz"
    header = {"format": "eigenbandits-features", "version": 99}
    np.savez(path, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))
    with pytest.raises(ValueError, match="has format version 99; this eigenbandits reads up to 1"):
        open_features(path)
    with pytest.raises(FileNotFoundError, match=r"make it with: eigenbandits features make"):
        open_features(tmp_path / "none.npz")


def test_arrays_that_do_not_fit_together_are_refused(made):
    with pytest.raises(ValueError, match=r"hidden has shape \(40, 6\), rows \(39,\) and theta \(5,\)"):
        Features(made.layer, made.theta, made.hidden, made.rows[1:], {})
    with pytest.raises(ValueError, match=r"theta \(4,\)"):
        Features(made.layer, made.theta[1:], made.hidden, made.rows, {})


def test_the_cache_is_found_by_name_and_known_by_key(made, tmp_path, monkeypatch):
    monkeypatch.setenv("EIGENBANDITS_CACHE", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="with: eigenbandits features make mnist --dim 5 --layer relu"):
        find("mnist", 5, "relu")
    path = features_path(feature_name("mnist", None, 5, "relu"))
    save_features(path, made)
    assert find("mnist", 5, "relu") == path == tmp_path / "features" / "mnist-cnn-d5-relu.npz"
    assert find("mnist", 5, "relu", network="cnn", cache=tmp_path) == path
    assert is_made(path, "abc")
    assert not is_made(path, "other")
    path.write_bytes(path.read_bytes()[:-20])
    assert not is_made(path, "abc")
    assert not is_made(tmp_path / "none.npz", "abc")


def test_names_and_keys():
    assert feature_name("cifar10", None, 500, "linear") == "cifar10-resnet56-d500-linear"
    assert feature_name("cifar10", "resnet18", 500, "linear") == "cifar10-resnet18-d500-linear"
    assert feature_name("my-birds", None, 100, "product") == "my-birds-resnet50-d100-product"
    assert key_of({"epochs": 1}) != key_of({"epochs": 2})
