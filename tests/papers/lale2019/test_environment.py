"""Images through a network: rounds, rewards and accuracies against the stored layer, and the lab's use of them."""

import os

import numpy as np
import pytest

import eigenbandits as eb
from eigenbandits.papers.lale2019.environment import Images
from eigenbandits.papers.lale2019.features import find
from eigenbandits.papers.lale2019.features.file import Dense, Features, save_features

IMAGES, CLASSES, DIM = 150, 4, 6


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    layer = Dense(
        rng.standard_normal((8, CLASSES * DIM)).astype(np.float32), np.zeros(CLASSES * DIM, np.float32), CLASSES, False
    )
    hidden, theta = rng.standard_normal((IMAGES, 8)).astype(np.float32), rng.standard_normal(DIM)
    segments = (hidden @ layer.weight).reshape(IMAGES, CLASSES, DIM)
    bound = float(np.linalg.norm(segments, axis=2).max()) * 1.000001
    facts = {"action_bound": bound, "network": "small"}
    save_features(
        tmp_path / "small-net-d6-linear.npz", Features(layer, theta, hidden, (segments @ theta).argmax(axis=1), facts)
    )
    return tmp_path / "small-net-d6-linear.npz"


def take(instance, count):
    return [offered for offered, _ in zip(instance.rounds(), range(count), strict=False)]


def test_every_image_comes_once_before_any_comes_again(path):
    env = Images(path)
    instance = env.instance(3)
    segments = env.segments(np.arange(IMAGES))
    rounds = take(instance, 2 * IMAGES)
    for half in (rounds[:IMAGES], rounds[IMAGES:]):
        seen = np.sort([np.abs(segments - offered.actions).sum(axis=(1, 2)).argmin() for offered in half])
        np.testing.assert_array_equal(seen, np.arange(IMAGES))
    assert any((a.actions != b.actions).any() for a, b in zip(rounds, rounds[IMAGES:], strict=False))


def test_the_row_that_the_network_ranks_first_earns_one(path):
    instance = Images(path).instance(0)
    for offered in take(instance, IMAGES):
        assert offered.values[(offered.actions @ instance.theta).argmax()] == 1.0
        assert offered.values.sum() == 1.0
        assert np.linalg.norm(offered.actions, axis=1).max() <= instance.action_bound
        assert not offered.actions.flags.writeable
    assert instance.theta_bound == pytest.approx(np.sqrt((instance.theta**2).sum()))
    assert (instance.noise, instance.examples, instance.basis.shape) == (0.5, IMAGES, (DIM, 0))


def test_a_seed_is_an_order_and_is_repeatable(path):
    env = Images(path)
    first, again, other = (take(env.instance(seed), 10) for seed in (1, 1, 2))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a.actions, b.actions)
    assert any((a.actions != b.actions).any() for a, b in zip(first, other, strict=True))
    kept = take(Images(path, shuffle=False).instance(5), 3)
    np.testing.assert_allclose([offered.actions for offered in kept], env.segments([0, 1, 2]), atol=1e-6)


def test_what_is_known_of_it(path):
    env = Images(path)
    assert env.name == repr(env) == env.instance(0).name == "Images(small-net-d6-linear)"
    assert (env.classes, env.dim, env.examples) == (CLASSES, DIM, IMAGES)
    assert env.facts["network"] == "small"
    np.testing.assert_array_equal(env.accuracy(np.stack([env.theta, 3.0 * env.theta])), [1.0, 1.0])
    np.testing.assert_array_equal(env.instance(0).accuracy(env.theta, images=10), [1.0])


def test_policies_play_on_it(path):
    env = Images(path)
    assert eb.run(eb.Oracle(theta=env.theta), env, rounds=IMAGES, seed=0).regret[-1] == 0.0
    # Three of four random choices are wrong: 112.5 ± 3·√(150 · 3/16).
    assert 96 <= eb.run(eb.Random(seed=0), env, rounds=IMAGES, seed=0).regret[-1] <= 129


def test_the_lab_knows_it_by_its_content(path, tmp_path):
    pytest.importorskip("pyarrow")
    experiment = eb.Experiment(
        "images",
        {"Oracle": {"kind": "Oracle", "theta": "$theta"}, "PSLB": eb.PSLB(noise=0.5)},
        {"small": {"kind": "Images", "features": path.name}},
        seeds=2,
        rounds=30,
        base=path.parent,
    )
    results = experiment.run(tmp_path / "results", progress="none")
    assert results.final("regret")[0].tolist() == [[0.0, 0.0]]
    assert results.final("accuracy")[0].tolist() == [[1.0, 1.0]]


def test_a_file_that_is_no_features_is_refused_when_it_is_made(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file of features"):
        Images(tmp_path / "none.npz")
    np.savez(tmp_path / "other.npz", weights=np.ones(3))
    with pytest.raises(ValueError, match="is not a file of features"):
        Images(tmp_path / "other.npz")


@pytest.mark.skipif(
    "EIGENBANDITS_CACHE" not in os.environ,
    reason="no features are there; run: eigenbandits features make mnist --dim 100, and set EIGENBANDITS_CACHE",
)
def test_real_features_are_those_of_a_network_that_reads_digits():
    try:
        env = Images(find("mnist", 100))
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert (env.examples, env.classes, env.dim) == (70_000, 10, 100)
    assert env.facts["test_accuracy"] > 0.985
    assert env.accuracy(env.theta).tolist() == [1.0]
    sizes = [np.square(offered.actions).sum(axis=1).mean() for offered in take(env.instance(0), 2000)]
    assert np.mean(sizes) == pytest.approx(1.0, abs=0.05)
