"""The digits: the shipped networks against images that they never saw, a network by hand, and the training's slopes."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

import eigenbandits as eb
from eigenbandits.environments import Digits
from eigenbandits.environments.digits import network as digits_network
from eigenbandits.environments.digits.network import CLASSES, DIM, TEST_IMAGES, Network, load_images
from eigenbandits.extras import MissingExtraError

FOLDER = Path(str(digits_network.__file__)).parent


@pytest.fixture(scope="module")
def script():
    """The training script, loaded from its file."""
    path = Path(__file__).parents[2] / "scripts" / "train_digits.py"
    spec = importlib.util.spec_from_file_location("train_digits", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("relu", [False, True])
def test_the_shipped_network_reads_images_that_it_never_saw(relu):
    pixels, digits = load_images()
    assert pixels.shape == (1797, 64)
    assert pixels.min() == 0.0
    assert pixels.max() == 1.0
    right = Network.shipped(relu).logits(pixels)[-TEST_IMAGES:].argmax(axis=1) == digits[-TEST_IMAGES:]
    # 98.4 % when it was trained; three standard errors of a share over 500 images are 1.7 %.
    assert right.mean() > 0.967


def test_segments_by_hand():
    eye = np.eye(2)
    weights = {
        "w1": eye,
        "b1": np.array([0.0, -1.0]),
        "w2": 2.0 * eye,
        "b2": np.zeros(2),
        "bottleneck": np.array([[1.0], [1.0]]),
        "w3": np.arange(-10.0, 10.0)[None],
        "b3": np.ones(20),
        "theta": np.array([1.0, 10.0]),
    }
    # (3, 0.5) → ReLU (3, −0.5) = (3, 0) → (6, 0) → 6 → 6·(−10 … 9) + 1, two numbers to a segment.
    outputs = 6.0 * np.arange(-10.0, 10.0) + 1.0
    pixels = np.array([[3.0, 0.5]])
    np.testing.assert_array_equal(Network(weights, False).segments(pixels)[0].ravel(), outputs)
    np.testing.assert_array_equal(Network(weights, True).segments(pixels)[0].ravel(), np.maximum(outputs, 0.0))
    # The first segment is (−59, −53), the last (49, 55).
    logits = Network(weights, False).logits(pixels)[0]
    assert logits[[0, -1]].tolist() == [-59.0 - 530.0, 49.0 + 550.0]
    assert Network(weights, True).logits(pixels)[0][[0, -1]].tolist() == [0.0, 599.0]


@pytest.mark.parametrize("relu", [False, True])
def test_the_environment_is_the_network_played(relu):
    network, (pixels, _) = Network.shipped(relu), load_images()
    instance = Digits(relu=relu).instance(seed=3)
    seen = {}
    sizes = []
    for offered, _ in zip(instance.rounds(), range(1797), strict=False):
        # θ* leads to the network's own choice, which is the only one that earns.
        assert offered.values[int((offered.actions @ instance.theta).argmax())] == 1.0
        assert offered.values.sum() == 1.0
        sizes.append(np.square(offered.actions).sum(axis=1).mean())
        seen[offered.actions.tobytes()] = (offered.actions @ instance.theta).tolist()
    assert len(seen) == 1797
    assert np.mean(sizes) == pytest.approx(1.0)
    # Dividing segments and multiplying θ* leaves the logits of the network as they are.
    np.testing.assert_allclose(np.sort(np.array(list(seen.values())), axis=0), np.sort(network.logits(pixels), axis=0))
    assert instance.noise == 0.5
    assert offered.actions.shape == (CLASSES, DIM)


def test_only_the_relu_leaves_a_large_mean_that_hides_theta():
    """Why m = 1 needs centring there: the first direction of the uncentred actions is that of their mean."""
    cosines = {}
    for relu in (False, True):
        instance = Digits(relu=relu).instance(seed=0)
        stream = instance.rounds()
        actions = np.concatenate([next(stream).actions for _ in range(1797)])
        theta = instance.theta / np.linalg.norm(instance.theta)
        for name, rows in (("raw", actions), ("centred", actions - actions.mean(axis=0))):
            top = np.linalg.svd(rows, full_matrices=False)[2][0]
            cosines[relu, name] = abs(float(top @ theta))
    assert cosines[False, "raw"] > 0.9
    assert cosines[True, "raw"] < 0.8
    assert cosines[True, "centred"] > 0.9


def test_regret_counts_mistakes():
    trace = eb.run(eb.Random(seed=0), Digits(), rounds=400, seed=0)
    assert trace.regret[-1] == (trace.rewards == 0.0).sum()
    # Nine of ten choices are wrong: 360 ± 3 · √(400 · 0.09) = 360 ± 18.
    assert 342 <= trace.regret[-1] <= 378


def test_it_is_known_by_name_in_experiments(tmp_path):
    pytest.importorskip("pyarrow")
    table = {"digits": {"kind": "Digits", "relu": True}}
    experiment = eb.Experiment("digits", {"Random": eb.Random()}, table, seeds=1, rounds=20)
    results = experiment.run(tmp_path, progress="none")
    assert results.final("regret").shape == (1, 1, 1)
    assert Digits(relu=True).name == "Digits(relu=True)"


def test_the_weights_are_small_and_plain():
    files = sorted(FOLDER.glob("*.npz"))
    assert [file.name for file in files] == ["linear.npz", "relu.npz"]
    assert sum(file.stat().st_size for file in files) < 500_000


def test_without_scikit_learn_one_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(
        MissingExtraError, match=r'Loading the handwritten digits needs sklearn; run: pip install "eigenb'
    ):
        load_images()


@pytest.mark.parametrize("relu", [False, True])
def test_the_slopes_of_training_are_those_of_the_loss(script, relu):
    """Central differences of the cross entropy, along a random direction for each array of weights."""
    rng = np.random.default_rng(1)
    weights = script.start(rng, 64)
    pixels, digits = rng.random((8, 64)), rng.integers(0, CLASSES, 8)

    def loss(changed):
        logits = Network(changed, relu).logits(pixels)
        top = logits.max(axis=1)
        return float(np.mean(top + np.log(np.exp(logits - top[:, None]).sum(axis=1)) - logits[np.arange(8), digits]))

    slopes = script.gradients(weights, relu, pixels, digits)
    assert slopes.keys() == weights.keys()
    # Small enough that hardly any ReLU changes sides, large enough that rounding, 1e-16/1e-7, does not show.
    step = 1e-7
    for name, value in weights.items():
        direction = rng.standard_normal(value.shape)
        ends = [loss(weights | {name: value + sign * step * direction}) for sign in (1.0, -1.0)]
        assert (ends[0] - ends[1]) / (2.0 * step) == pytest.approx(
            float((slopes[name] * direction).sum()), rel=1e-3, abs=1e-6
        )
