"""The networks: logit = segment · θ*, slopes in closed form, layers against NumPy, sizes against published ones."""

import numpy as np
import pytest

pytest.importorskip("torch", reason='torch is not installed; run: pip install "eigenbandits[torch]"')

import torch

from eigenbandits.papers.lale2019.networks.cifar_resnet import CifarResNet, ResidualBlock
from eigenbandits.papers.lale2019.networks.cnn import CNN, Segments
from eigenbandits.papers.lale2019.networks.resnet import ResNet
from eigenbandits.papers.lale2019.networks.small_images import mirrored_and_moved
from eigenbandits.papers.lale2019.networks.trainer import Trained


def double(module):
    torch.manual_seed(0)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    return module.double().eval()


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("bottleneck", [None, 3])
def test_the_logit_of_a_class_is_its_segment_times_theta(relu, bottleneck):
    head = double(Segments(7, classes=4, dim=5, relu=relu, bottleneck=bottleneck))
    hidden = torch.randn(6, 7, dtype=torch.float64)
    weight, bias = (p.detach().numpy() for p in head.representation.parameters())
    inner = hidden.numpy() @ head.bottleneck.weight.detach().numpy().T if bottleneck else hidden.numpy()
    logits, segments = head(hidden).detach().numpy(), head.segments(hidden).detach().numpy()
    assert segments.shape == (6, 4, 5)
    for n in range(6):
        outputs = weight @ inner[n] + bias
        outputs = np.maximum(outputs, 0.0) if relu else outputs
        for k in range(4):
            np.testing.assert_allclose(segments[n, k], outputs[5 * k : 5 * k + 5])
            assert logits[n, k] == pytest.approx(outputs[5 * k : 5 * k + 5] @ head.theta.detach().numpy())


@pytest.mark.parametrize("relu", [False, True])
def test_the_slopes_are_those_of_the_cross_entropy(relu):
    """∂L/∂θ = mean Σ_k (p_k − 1{k = y}) segment_k; ∂L/∂b = mean (p_k − 1{k = y}) θ where the output is not cut."""
    head = double(Segments(7, classes=4, dim=5, relu=relu))
    hidden, labels = torch.randn(6, 7, dtype=torch.float64), torch.tensor([0, 1, 2, 3, 3, 0])
    torch.nn.functional.cross_entropy(head(hidden), labels).backward()
    segments, logits = head.segments(hidden).detach().numpy(), head(hidden).detach().numpy()
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    off = (chances - np.eye(4)[labels.numpy()]) / 6
    np.testing.assert_allclose(head.theta.grad.numpy(), np.einsum("nk,nkd->d", off, segments), atol=1e-12)
    open_gates = segments > 0.0 if relu else np.ones_like(segments)
    expected = (off[:, :, None] * head.theta.detach().numpy() * open_gates).sum(axis=0).ravel()
    np.testing.assert_allclose(head.representation.bias.grad.numpy(), expected, atol=1e-12)
    assert all((parameter.grad != 0).any() for parameter in head.parameters())


@pytest.mark.parametrize("relu", [False, True])
def test_the_layer_in_numpy_is_that_of_torch(relu):
    torch.manual_seed(0)
    head = Segments(7, classes=4, dim=5, relu=relu)
    hidden = torch.randn(6, 7)
    trained = Trained(head, head, hidden.numpy())
    found = trained.layer()
    assert (found.inputs, found.classes, found.dim) == (7, 4, 5)
    np.testing.assert_allclose(found.segments(hidden.numpy()), head.segments(hidden).detach().numpy(), atol=1e-6)
    models = torch.randn(3, 5)
    expected = (head.segments(hidden) @ models.T).detach().numpy()
    np.testing.assert_allclose(found.logits(hidden.numpy(), models.numpy()), expected, atol=1e-6)
    np.testing.assert_array_equal(trained.theta(), head.theta.detach().numpy())


def test_the_network_for_mnist_has_five_layers():
    network = torch.nn.Sequential(CNN(), Segments(CNN.outputs, 10, 100, relu=False))
    assert network(torch.zeros(2, 1, 28, 28)).shape == (2, 10)
    layers = [name for name, parameter in network.named_parameters() if not name.endswith("bias")]
    assert len(layers) == 5


def convolved(images, weight, stride):
    """A convolution of 3 × 3 with an edge of zeros, by its definition."""
    count, _, height, width = images.shape
    edged = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    found = np.zeros((count, len(weight), height // stride, width // stride))
    for row in range(height // stride):
        for column in range(width // stride):
            window = edged[:, :, row * stride : row * stride + 3, column * stride : column * stride + 3]
            found[:, :, row, column] = np.einsum("nchw,ochw->no", window, weight)
    return found


def normalised(images, bn):
    mean, variance, weight, bias = (
        tensor.detach().numpy()[:, None, None] for tensor in (bn.running_mean, bn.running_var, bn.weight, bn.bias)
    )
    return (images - mean) / np.sqrt(variance + bn.eps) * weight + bias


@pytest.mark.parametrize(("inputs", "outputs"), [(4, 4), (4, 8)])
def test_a_block_for_small_images_by_its_definition(inputs, outputs):
    block = double(ResidualBlock(inputs, outputs))
    for bn in (block.bn1, block.bn2):
        bn.running_mean.normal_()
        bn.running_var.uniform_(0.5, 2.0)
    images = np.random.default_rng(0).standard_normal((2, inputs, 6, 6))
    stride = 1 if inputs == outputs else 2
    weights = [conv.weight.detach().numpy() for conv in (block.conv1, block.conv2)]
    found = np.maximum(normalised(convolved(images, weights[0], stride), block.bn1), 0.0)
    found = normalised(convolved(found, weights[1], 1), block.bn2)
    shortcut = images
    if stride == 2:
        # Option A: every second pixel, and the new channels are zeros, half of them on either side.
        shortcut = np.zeros_like(found)
        shortcut[:, 2:6] = images[:, :, ::2, ::2]
    np.testing.assert_allclose(
        block(torch.from_numpy(images)).detach().numpy(), np.maximum(found + shortcut, 0.0), atol=1e-10
    )


def test_a_network_for_small_images_is_the_sum_of_its_parts():
    network = double(CifarResNet(2))
    images = torch.randn(2, 3, 32, 32, dtype=torch.float64)
    whole = network(images)
    assert whole.shape == (2, 64)
    for tuned in (1, 2):
        torch.testing.assert_close(network.above(network.below(images, tuned), tuned), whole)


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


def test_sizes_are_the_published_ones():
    """Without last layers: 10 · 64 + 10 for the small ones, (inputs + 1) · 1000 for the large ones."""
    # He et al., table 6: 0.27 and 0.85 million; by hand: 432 + 32 at the stem, 2 · 9c² + 4c for a block of c channels.
    for blocks, millions in ((3, 0.27), (9, 0.85)):
        by_hand = (
            432
            + 32
            + sum(
                9 * before * c + 9 * c * c + 4 * c + (blocks - 1) * (18 * c * c + 4 * c)
                for before, c in ((16, 16), (16, 32), (32, 64))
            )
        )
        assert count(CifarResNet(blocks)) == by_hand
        assert (by_hand + 650) / 1e6 == pytest.approx(millions, abs=0.005)
    assert count(ResNet(18)) == 11_689_512 - 513_000
    assert count(ResNet(50)) == 25_557_032 - 2_049_000
    assert (ResNet(18).outputs, ResNet(50).outputs) == (512, 2048)


def test_names_are_those_of_public_weights():
    large = ResNet(50).state_dict()
    assert large["conv1.weight"].shape == (64, 3, 7, 7)
    assert large["layer1.0.downsample.0.weight"].shape == (256, 64, 1, 1)
    assert large["layer3.5.bn3.running_var"].shape == (1024,)
    small = ResNet(18).state_dict()
    assert "layer1.0.downsample.0.weight" not in small
    assert small["layer4.0.downsample.1.running_mean"].shape == (512,)
    assert small["layer4.1.conv2.weight"].shape == (512, 512, 3, 3)
    assert CifarResNet(9).state_dict()["layer3.8.bn2.running_var"].shape == (64,)


@pytest.mark.parametrize(("stem", "size"), [("cifar", 32), ("imagenet", 64)])
def test_large_networks_give_numbers_whose_slopes_reach_the_first_layer(stem, size):
    torch.manual_seed(0)
    network = ResNet(18, stem)
    head = Segments(network.outputs, 3, 4, relu=True)
    logits = head(network(torch.randn(2, 3, size, size)))
    assert logits.shape == (2, 3)
    torch.nn.functional.cross_entropy(logits, torch.tensor([0, 2])).backward()
    assert (network.conv1.weight.grad != 0).any()


def test_the_stride_of_a_narrow_block_lies_in_its_middle():
    block = ResNet(50).layer2[0]
    assert [conv.stride[0] for conv in (block.conv1, block.conv2, block.conv3)] == [1, 2, 1]
    assert [conv.kernel_size[0] for conv in (block.conv1, block.conv2, block.conv3)] == [1, 3, 1]


def test_images_are_moved_together_and_mirrored_one_by_one():
    rng = np.random.default_rng(0)
    columns = torch.arange(1.0, 33.0).expand(200, 1, 32, 32)
    found = mirrored_and_moved(columns, rng)
    steps = torch.diff(found[:, 0, 16], dim=1)
    mirrored = steps[:, 16] == -1.0
    assert ((steps[:, 16] == 1.0) | mirrored).all()
    # Half of 200, ± 3·√50.
    assert 79 <= int(mirrored.sum()) <= 121
    assert len(torch.unique(found[~mirrored], dim=0)) == 1
