"""From raw files to features: training, the cache, and features that are the network's own, on small datasets."""

import numpy as np
import pytest

pytest.importorskip("torch", reason='torch is not installed; run: pip install "eigenbandits[torch]"')

import torch
from tests.papers.lale2019.datasets.files import write_cifar, write_image, write_mnist

from eigenbandits.features import product
from eigenbandits.lab.errors import DataError
from eigenbandits.papers.lale2019.datasets import mnist
from eigenbandits.papers.lale2019.environment import Images
from eigenbandits.papers.lale2019.features import Features, find
from eigenbandits.papers.lale2019.features.file import Dense, save_arrays
from eigenbandits.papers.lale2019.networks.cifar_resnet import CifarResNet
from eigenbandits.papers.lale2019.networks.cnn import CNN, Segments
from eigenbandits.papers.lale2019.networks.large_images import PooledTrainer, from_folder, training_first
from eigenbandits.papers.lale2019.networks.make import FeatureRequest, make, make_all
from eigenbandits.papers.lale2019.networks.resnet import ResNet
from eigenbandits.papers.lale2019.networks.small_images import Cifar10, Mnist
from eigenbandits.papers.lale2019.networks.summary import summarize
from eigenbandits.papers.lale2019.networks.training import TrainingPlan, scaled, train
from eigenbandits.papers.lale2019.networks.weights import arrays, load_weights, read_weights


def silent(line):
    return None


def small_mnist(folder, epochs=1):
    write_mnist(folder, training=24, tests=8)
    trainer = Mnist(folder)
    trainer.with_epochs(epochs)
    return trainer


@pytest.mark.parametrize("layer", ["linear", "relu"])
def test_features_are_what_the_kept_network_gives_for_the_images(tmp_path, layer):
    trainer = small_mnist(tmp_path)
    path, new = make(trainer, 6, layer, tmp_path, silent)
    assert new
    env = Images(path)
    weights = read_weights(tmp_path / "networks" / f"mnist-cnn-d6-{layer}.npz")
    trunk, head = CNN(), Segments(CNN.outputs, 10, 6, layer == "relu")
    for name, part in (("trunk.", trunk), ("head.", head)):
        load_weights(part, {k.removeprefix(name): v for k, v in weights.items() if k.startswith(name)}, name)
    data = mnist(tmp_path)
    with torch.inference_mode():
        segments = head.segments(trunk(scaled(data.pixels, trunk))).double().numpy()
        logits = head(trunk(scaled(data.pixels, trunk))).numpy()
    size = np.sqrt(np.square(segments).sum(axis=2).mean())
    np.testing.assert_allclose(env.segments(np.arange(32)), segments / size, atol=1e-5)
    np.testing.assert_allclose(env.segments(np.arange(32)) @ env.theta, logits, atol=1e-5)
    assert env.rows.tolist() == logits.argmax(axis=1).tolist()
    right = logits.argmax(axis=1) == data.labels
    assert env.facts["train_accuracy"] == pytest.approx(right[:24].mean())
    assert env.facts["test_accuracy"] == pytest.approx(right[24:].mean())
    assert env.facts["layer"] == layer


def test_what_is_there_is_left_alone_and_what_changed_is_made_anew(tmp_path):
    trainer = small_mnist(tmp_path)
    path, new = make(trainer, 5, "linear", tmp_path, silent)
    first = path.read_bytes()
    stamp = path.stat().st_mtime_ns
    assert (new, make(trainer, 5, "linear", tmp_path, silent)) == (True, (path, False))
    assert make(small_mnist(tmp_path), 5, "linear", tmp_path, silent) == (path, False)
    assert path.stat().st_mtime_ns == stamp
    # Other settings, other images, a file that was cut: made anew; the same again is the same to the last bit.
    assert make(small_mnist(tmp_path, epochs=2), 5, "linear", tmp_path, silent)[1]
    assert path.read_bytes() != first
    assert make(trainer, 5, "linear", tmp_path, silent)[1]
    assert path.read_bytes() == first
    path.write_bytes(first[:-30])
    assert make(trainer, 5, "linear", tmp_path, silent)[1]
    write_mnist(tmp_path, training=25, tests=8)
    changed = Mnist(tmp_path)
    changed.with_epochs(1)
    assert make(changed, 5, "linear", tmp_path, silent)[1]
    assert find("mnist", 5, cache=tmp_path) == path


def test_all_layers_and_dims_are_made_and_said(tmp_path):
    said: list[str] = []
    paths = make_all(small_mnist(tmp_path), [2, 3], None, tmp_path, said.append)
    assert [path.stem for path in paths] == [f"mnist-cnn-d{d}-{layer}" for d in (2, 3) for layer in ("linear", "relu")]
    assert sum(": made, " in line for line in said) == 4
    make_all(small_mnist(tmp_path), [2, 3], ["relu"], tmp_path, said.append)
    assert sum(": exists, " in line for line in said) == 2
    with pytest.raises(DataError, match="layer is 'product'; expected one of linear, relu for mnist"):
        make(small_mnist(tmp_path), 2, "product", tmp_path, silent)


def test_training_finds_what_can_be_told_apart():
    """Four classes on the axes of a plane: a linear layer tells them apart."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 400)
    inputs = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])[labels] + 0.1 * rng.standard_normal((400, 2))
    torch.manual_seed(0)
    head = Segments(2, 4, 3, relu=False)
    told: list[str] = []

    def rows(numbers):
        return torch.from_numpy(inputs[numbers]).float()

    train(head, list(head.parameters()), rows, labels, TrainingPlan(epochs=20, batch=20, rate=0.05), told.append)
    assert (head(rows(np.arange(400))).argmax(dim=1).numpy() == labels).mean() > 0.99
    assert len(told) == 20
    assert told[-1].startswith("epoch 20 of 20: mean loss 0.")


def test_a_loss_that_is_no_number_is_said():
    head = Segments(2, 4, 3, relu=False)
    with pytest.raises(ValueError, match="the loss became nan in epoch 1; train with a smaller rate"):
        train(
            head,
            list(head.parameters()),
            lambda rows: torch.full((len(rows), 2), float("nan")),
            np.zeros(4, dtype=np.int64),
            TrainingPlan(epochs=1),
            silent,
        )


@pytest.mark.parametrize("relu", [False, True])
def test_the_summary_scales_segments_and_looks_along_theta(relu):
    rng = np.random.default_rng(0)
    layer = Dense(rng.standard_normal((6, 12)).astype(np.float32), rng.standard_normal(12).astype(np.float32), 3, relu)
    theta, hidden = rng.standard_normal(4), 5.0 * rng.standard_normal((50, 6)).astype(np.float32)
    segments = (hidden.astype(np.float64) @ layer.weight + layer.bias).reshape(50, 3, 4)
    segments = np.maximum(segments, 0.0) if relu else segments
    labels = rng.integers(0, 3, 50)
    found = summarize(layer, theta, hidden, labels, 30, {"name": "some"})
    assert isinstance(found, Features)
    np.testing.assert_allclose(found.segments(np.arange(50)) @ found.theta, segments @ theta, rtol=1e-4, atol=1e-4)
    norms = np.linalg.norm(found.segments(np.arange(50)), axis=2)
    assert np.mean(norms**2) == pytest.approx(1.0, rel=1e-5)
    assert norms.max() <= found.facts["action_bound"] <= norms.max() * 1.00001
    assert found.rows.tolist() == (segments @ theta).argmax(axis=1).tolist()
    assert found.facts["train_accuracy"] == pytest.approx((found.rows[:30] == labels[:30]).mean())
    assert found.facts["test_accuracy"] == pytest.approx((found.rows[30:] == labels[30:]).mean())
    for name, actions in (("raw", segments), ("centred", segments - segments.mean(axis=1, keepdims=True))):
        top = np.linalg.svd(actions.reshape(-1, 4))[2][0]
        assert found.facts[f"cosine_{name}"] == pytest.approx(abs(top @ theta) / np.linalg.norm(theta), abs=1e-4)


@pytest.fixture
def resnet56(tmp_path):
    torch.manual_seed(0)
    linear = {"linear.weight": np.zeros((10, 64), np.float32), "linear.bias": np.eye(10, dtype=np.float32)[3]}
    save_arrays(tmp_path / "cifar10" / "resnet56.npz", arrays(CifarResNet(9)) | linear)
    return tmp_path


def test_cifar_tunes_the_last_blocks_alone(resnet56):
    made = write_cifar(resnet56, images=2)
    trainer = Cifar10(resnet56)
    trainer.with_epochs(3)
    said: list[str] = []
    paths = make_all(trainer, [4], None, resnet56, said.append)
    before = read_weights(resnet56 / "cifar10" / "resnet56.npz")
    after = read_weights(resnet56 / "networks" / "cifar10-resnet56-d4-linear.npz")
    changed = {name for name, value in before.items() if (value != after.get(f"trunk.{name}", value)).any()}
    assert {name.rsplit(".", 2)[0] for name in changed} == {"layer3.7", "layer3.8"}
    assert not any("running" in name for name in changed)
    # The last layer that came says 3 for every image; the lower blocks are looked through once for both networks.
    share = np.mean(made["test_batch.bin"][0] == 3)
    assert [line for line in said if "before tuning" in line] == [
        f"cifar10-resnet56-d4-linear: resnet56.npz: {share:.2%} test accuracy before tuning"
    ]
    assert Images(paths[1]).segments([0]).min() >= 0.0


def test_weights_are_part_of_what_features_depend_on(resnet56):
    write_cifar(resnet56, images=1)
    first = Cifar10(resnet56).settings()
    weights = read_weights(resnet56 / "cifar10" / "resnet56.npz")
    weights["conv1.weight"][0] += 1.0
    save_arrays(resnet56 / "cifar10" / "resnet56.npz", weights)
    assert Cifar10(resnet56).settings() != first
    del weights["linear.bias"]
    save_arrays(resnet56 / "cifar10" / "resnet56.npz", weights)
    with pytest.raises(DataError, match=r"lacks 'linear\.weight' or 'linear\.bias'"):
        Cifar10(resnet56)


def test_resnet18_trains_from_nothing(tmp_path):
    write_cifar(tmp_path, images=1)
    trainer = FeatureRequest("cifar10", "resnet18", folder=tmp_path, epochs=1).trainer(silent)
    path, _ = make(trainer, 3, "relu", tmp_path, silent)
    assert path.name == "cifar10-resnet18-d3-relu.npz"
    assert Images(path).examples == 6


def pooled(rng, images=20, classes=4, width=9):
    return {
        "features": rng.random((images, width)).astype(np.float16),
        "labels": np.arange(images) % classes,
        "weight": rng.standard_normal((width, classes)),
        "bias": rng.standard_normal(classes),
    }


def test_the_untouched_network_keeps_its_logits(tmp_path):
    given = pooled(np.random.default_rng(0))
    trainer = PooledTrainer("imagenet", given, "some.npz")
    path, _ = make(trainer, 5, "product", tmp_path, silent)
    env = Images(path)
    logits = given["features"].astype(np.float64) @ given["weight"] + given["bias"]
    order, training = training_first(given["labels"])
    found = env.segments(np.arange(20)) @ env.theta
    np.testing.assert_allclose(found, (logits - logits.mean(axis=1, keepdims=True))[order], atol=1e-5)
    assert env.rows.tolist() == logits.argmax(axis=1)[order].tolist()
    assert len(set(env.theta.tolist())) == 1
    # Trained on nothing: all images count as tests.
    assert env.facts["train_accuracy"] is None
    assert env.facts["test_accuracy"] == pytest.approx((logits.argmax(axis=1) == given["labels"]).mean())
    assert training == 16
    query = np.append(given["features"][order[0]].astype(np.float64), 1.0)
    by_function = product(query, np.column_stack([given["weight"].T, given["bias"]]), dim=5)
    np.testing.assert_allclose(env.segments([0])[0] * env.facts["scale"], by_function, atol=1e-5)


def test_a_layer_on_frozen_features_goes_through_the_bottleneck(tmp_path, monkeypatch):
    monkeypatch.setattr(PooledTrainer, "bottleneck", 2)
    trainer = PooledTrainer("imagenet", pooled(np.random.default_rng(0)), "some.npz")
    trainer.with_epochs(2)
    env = Images(make(trainer, 3, "linear", tmp_path, silent)[0])
    assert env.opened.hidden.shape == (20, 2)
    weights = read_weights(tmp_path / "networks" / "imagenet-resnet50-d3-linear.npz")
    expected = trainer.features @ weights["bottleneck.weight"].T
    np.testing.assert_allclose(env.opened.hidden, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("own", [True, False])
def test_the_probabilities_of_the_network_are_learnt_where_the_classes_are_its_own(own):
    given = pooled(np.random.default_rng(0), images=400)
    logits = given["features"].astype(np.float64) @ given["weight"] + given["bias"]
    if not own:
        given |= {"weight": np.hstack([given["weight"]] * 2), "bias": np.tile(given["bias"], 2)}
    trainer = PooledTrainer("some", given, "some.npz")
    trainer.plan = TrainingPlan(epochs=60, batch=20, rate=0.02)
    trained = trainer.train(3, False, silent)
    found = trained.layer().logits(trained.hidden, trained.theta()[None])[:, :, 0].argmax(axis=1)
    order, training = training_first(given["labels"])
    agree = (found == logits.argmax(axis=1)[order]).mean()
    # Labels that have nothing to do with the features say nothing of the network's own choices.
    assert agree > 0.9 if own else agree < 0.7
    assert training == 320


def test_one_of_five_in_each_class_is_held_out():
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(3), [5, 10, 4]))
    order, training = training_first(labels)
    assert sorted(order.tolist()) == list(range(19))
    assert training == 16
    assert np.bincount(labels[order[training:]], minlength=3).tolist() == [1, 2, 0]


def test_a_folder_of_images_is_looked_at_once(tmp_path):
    pytest.importorskip("PIL", reason='Pillow is not installed; run: pip install "eigenbandits[images]"')
    rng = np.random.default_rng(0)
    for name, color in (("ants/1.png", (250, 0, 0)), ("bees/1.png", (0, 0, 250))):
        write_image(tmp_path / "images" / name, color, (230, 240))
    torch.manual_seed(0)
    trunk = ResNet(50)
    weights = arrays(trunk) | {"fc.weight": rng.standard_normal((3, 2048)).astype(np.float32)}
    save_arrays(tmp_path / "resnet50.npz", weights | {"fc.bias": np.zeros(3, np.float32)})
    said: list[str] = []
    wish = FeatureRequest("birds", images=tmp_path / "images", weights=tmp_path / "resnet50.npz", cache=tmp_path)
    trainer = wish.trainer(said.append)
    assert isinstance(trainer, PooledTrainer)
    assert said == ["evaluating 2 images of 2 classes"]
    with torch.inference_mode():
        red = torch.zeros(1, 3, 224, 224)
        red[:, 0] = 250
        expected = trunk.eval()(scaled(red.byte().numpy(), trunk)).numpy()
    np.testing.assert_allclose(trainer.features[:1], expected, rtol=1e-3, atol=1e-4)
    from_folder("birds", tmp_path / "images", tmp_path / "resnet50.npz", tmp_path, said.append)
    assert len(said) == 1
    path, _ = make(trainer, 10, "product", tmp_path, silent)
    assert path.name == "birds-resnet50-d10-product.npz"
    assert Images(path).classes == 3
    # The network's three classes are not the two folders: whether it is right is not known.
    assert Images(path).facts["test_accuracy"] is None
    save_arrays(tmp_path / "resnet50.npz", weights)
    with pytest.raises(DataError, match=r"has no 'fc\.weight' or 'fc\.bias'"):
        wish.trainer(silent)


def test_wishes_that_cannot_be_granted_are_said(tmp_path):
    with pytest.raises(DataError, match="data is 'svhn'; expected mnist, cifar10, imagenet, or --images with a folder"):
        FeatureRequest("svhn").trainer(silent)
    with pytest.raises(DataError, match="a folder of images needs --weights"):
        FeatureRequest("birds", images=tmp_path).trainer(silent)
    with pytest.raises(FileNotFoundError, match=r"resnet50-val-5000.npz; for images of your own"):
        FeatureRequest("imagenet", folder=tmp_path).trainer(silent)
    write_mnist(tmp_path)
    with pytest.raises(DataError, match="network is 'resnet18'; expected 'cnn' for mnist"):
        FeatureRequest("mnist", "resnet18", folder=tmp_path).trainer(silent)
    with pytest.raises(DataError, match=r"some.npz has no array 'features'; expected features, labels"):
        PooledTrainer("imagenet", {"labels": np.zeros(3)}, "some.npz")
