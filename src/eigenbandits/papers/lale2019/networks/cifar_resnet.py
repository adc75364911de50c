"""He et al.'s residual networks for images of 32 × 32 pixels: three stages of 16, 32 and 64 channels."""

from torch import Tensor, nn
from torch.nn import functional

STAGES = (16, 32, 64)


class ResidualBlock(nn.Module):
    """Two convolutions and a shortcut without parameters: every second pixel, and channels filled up with zeros.

    References
    ----------
    He, Zhang, Ren, Sun. Deep Residual Learning for Image Recognition. CVPR 2016, section 4.2, option A.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.stride = 1 if inputs == outputs else 2
        self.added = (outputs - inputs) // 2
        self.conv1 = nn.Conv2d(inputs, outputs, 3, self.stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)

    def forward(self, images: Tensor) -> Tensor:
        """Return the block's outputs."""
        found = self.bn2(self.conv2(self.bn1(self.conv1(images)).relu()))
        shortcut = images
        if self.stride == 2:
            shortcut = functional.pad(images[:, :, ::2, ::2], (0, 0, 0, 0, self.added, self.added))
        result: Tensor = (found + shortcut).relu()
        return result


class CifarResNet(nn.Module):
    """A residual network of 6n + 2 layers without its last: 64 numbers for an image; n = 9 for ResNet-56.

    `mean` and `deviation` are what the pre-trained networks expect of each channel.
    """

    outputs = STAGES[-1]
    mean, deviation = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

    def __init__(self, blocks: int = 9) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, STAGES[0], 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(STAGES[0])
        before = STAGES[0]
        for number, channels in enumerate(STAGES, start=1):
            stage = [ResidualBlock(before if i == 0 else channels, channels) for i in range(blocks)]
            self.add_module(f"layer{number}", nn.Sequential(*stage))
            before = channels

    def below(self, images: Tensor, tuned: int) -> Tensor:
        """Return what enters the last `tuned` blocks: the part that stays as it is when only those are trained."""
        found = self.bn1(self.conv1(images)).relu()
        last = self.layer3
        result: Tensor = last[: len(last) - tuned](self.layer2(self.layer1(found)))
        return result

    def above(self, found: Tensor, tuned: int) -> Tensor:
        """Return the network's outputs (n, 64) from what `below` gave."""
        result: Tensor = self.layer3[len(self.layer3) - tuned :](found).mean(dim=(2, 3))
        return result

    def forward(self, images: Tensor) -> Tensor:
        """Return what the representation layer reads, (n, 64)."""
        return self.above(self.below(images, 1), 1)
