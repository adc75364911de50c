"""Residual networks for large images, with the names of torchvision's weights: ResNet-18 and ResNet-50."""

from typing import Literal

from torch import Tensor, nn

CHANNELS = (64, 128, 256, 512)
_BLOCKS = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3)}


class ResidualBlock(nn.Module):
    """Two convolutions of 3 × 3, or a narrow one between two of 1 × 1, and a shortcut.

    References
    ----------
    He, Zhang, Ren, Sun. Deep Residual Learning for Image Recognition. CVPR 2016. The stride lies in the 3 × 3
    convolution, as in the weights that torchvision gives.
    """

    def __init__(self, inputs: int, channels: int, stride: int, narrow: bool) -> None:
        super().__init__()
        outputs = 4 * channels if narrow else channels
        shapes = (
            ((inputs, channels, 1, 1), (channels, channels, 3, stride), (channels, outputs, 1, 1))
            if narrow
            else ((inputs, channels, 3, stride), (channels, channels, 3, 1))
        )
        self.depth = len(shapes)
        for i, (before, after, size, step) in enumerate(shapes, start=1):
            self.add_module(f"conv{i}", nn.Conv2d(before, after, size, step, padding=size // 2, bias=False))
            self.add_module(f"bn{i}", nn.BatchNorm2d(after))
        self.downsample = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, images: Tensor) -> Tensor:
        """Return the block's outputs."""
        found = images
        for i in range(1, self.depth + 1):
            found = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(found))
            if i < self.depth:
                found = found.relu()
        result: Tensor = (found + self.downsample(images)).relu()
        return result


class ResNet(nn.Module):
    """ResNet-18 or ResNet-50 without its last layer: 512 or 2,048 numbers for an image.

    With the stem "imagenet" images come in by a convolution of 7 × 7 and a pooling that divide the size by four; with
    "cifar", for images of 32 × 32 pixels, by one of 3 × 3 that leaves it. The weights of the one do not fit the other.
    """

    mean, deviation = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

    def __init__(self, depth: int = 50, stem: Literal["imagenet", "cifar"] = "imagenet") -> None:
        super().__init__()
        narrow = depth == 50
        size, stride = (7, 2) if stem == "imagenet" else (3, 1)
        self.conv1 = nn.Conv2d(3, CHANNELS[0], size, stride, padding=size // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(CHANNELS[0])
        self.pool = nn.MaxPool2d(3, 2, padding=1) if stem == "imagenet" else nn.Identity()
        before = CHANNELS[0]
        for number, (channels, blocks) in enumerate(zip(CHANNELS, _BLOCKS[depth], strict=True), start=1):
            stage = []
            for i in range(blocks):
                stage.append(ResidualBlock(before, channels, 2 if i == 0 and number > 1 else 1, narrow))
                before = 4 * channels if narrow else channels
            self.add_module(f"layer{number}", nn.Sequential(*stage))
        self.outputs = before

    def forward(self, images: Tensor) -> Tensor:
        """Return what the last layer reads, (n, outputs)."""
        found = self.pool(self.bn1(self.conv1(images)).relu())
        for number in range(1, len(CHANNELS) + 1):
            found = getattr(self, f"layer{number}")(found)
        result: Tensor = found.mean(dim=(2, 3))
        return result
