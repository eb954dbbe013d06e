"""Convolutions that halve and double the side of an image: kernel 4, stride 2, padding 1, with an optional ReLU.

In bfloat16 on a GPU they run in kernels of our own (`kernels.convolutions`), which train many models at once; anywhere
else they are PyTorch's. The parameters are those of `nn.Conv2d` and `nn.ConvTranspose2d` either way.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, conv_transpose2d, relu

from partita.kernels import convolutions


class Halving(nn.Conv2d):
    def __init__(self, channels_in: int, channels_out: int, *, rectified: bool = True):
        super().__init__(channels_in, channels_out, 4, 2, 1)
        self.rectified = rectified

    def forward(self, input: Tensor) -> Tensor:
        return _convolved(self, input, convolutions.halve, conv2d)


class Doubling(nn.ConvTranspose2d):
    def __init__(self, channels_in: int, channels_out: int, *, rectified: bool = True):
        super().__init__(channels_in, channels_out, 4, 2, 1)
        self.rectified = rectified

    def forward(self, input: Tensor) -> Tensor:
        return _convolved(self, input, convolutions.double, conv_transpose2d)


def _convolved(layer: Halving | Doubling, image: Tensor, ours: Callable, theirs: Callable) -> Tensor:
    if _by_our_kernels(image, layer.weight):
        return _by_taps(ours, image, layer)
    output = theirs(image, layer.weight, layer.bias, 2, 1)
    return relu(output) if layer.rectified else output


def _by_our_kernels(image: Tensor, weight: Tensor) -> bool:
    """Weights are (small side's channels, big side's channels, 4, 4) in both directions."""
    return (
        image.device.type == "cuda"
        and torch.is_autocast_enabled("cuda")
        and convolutions.covers(weight.shape[0])
        and convolutions.found()
    )


def _by_taps(operation: Callable, image: Tensor, layer: Halving | Doubling) -> Tensor:
    weight = layer.weight.to(torch.bfloat16).permute(2, 3, 1, 0).flatten(0, 1)
    assert layer.bias is not None
    last = image.to(torch.bfloat16).permute(0, 2, 3, 1)
    found = operation(last[None], weight[None], layer.bias.to(torch.bfloat16)[None], layer.rectified)
    return found[0].permute(0, 3, 1, 2)
