"""Convolutions that halve and double the side of an image: kernel 4, stride 2, padding 1, with an optional ReLU.

In bfloat16 on a GPU and in float32 on a CPU they run in kernels of our own (`kernels.convolutions`), which train many
models at once; anywhere else they are PyTorch's. The parameters are those of `nn.Conv2d` and `nn.ConvTranspose2d`
either way.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, conv_transpose2d, relu

from partita.kernels import convolutions
from partita.kernels.dispatch import TORCH, implementation

# Of images, which our kernels take whatever their number: colours, and two numbers of a likelihood for each.
MOST_COLOURS = 6


class DownConv(nn.Conv2d):
    def __init__(self, channels_in: int, channels_out: int, *, rectified: bool = True):
        super().__init__(channels_in, channels_out, 4, 2, 1)
        self.rectified = rectified

    def forward(self, input: Tensor) -> Tensor:
        return _convolved(self, input, convolutions.halve, conv2d)


class UpConv(nn.ConvTranspose2d):
    def __init__(self, channels_in: int, channels_out: int, *, rectified: bool = True):
        super().__init__(channels_in, channels_out, 4, 2, 1)
        self.rectified = rectified

    def forward(self, input: Tensor) -> Tensor:
        return _convolved(self, input, convolutions.double, conv_transpose2d)


def _convolved(layer: DownConv | UpConv, image: Tensor, ours: Callable, theirs: Callable) -> Tensor:
    precision = _of_our_kernels(image, layer.weight)
    if precision is not None:
        return _by_taps(ours, image, layer, precision)
    output = theirs(image, layer.weight, layer.bias, 2, 1)
    return relu(output) if layer.rectified else output


def _of_our_kernels(image: Tensor, weight: Tensor) -> torch.dtype | None:
    """What our kernels compute this layer in, if they take it: square images, whole tiles of channels but for those of
    the images themselves. Weights are (small side's channels, big side's channels, 4, 4) in both directions."""
    small, big = weight.shape[:2]
    whole = convolutions.covers(small) and (big <= MOST_COLOURS or convolutions.covers(big))
    if not whole or image.shape[-1] != image.shape[-2]:
        return None
    kind = image.device.type
    precision = torch.bfloat16 if torch.is_autocast_enabled(kind) else image.dtype
    return None if implementation("convolutions", kind, precision) == TORCH else precision


def _by_taps(operation: Callable, image: Tensor, layer: DownConv | UpConv, precision: torch.dtype) -> Tensor:
    weight = layer.weight.to(precision).permute(2, 3, 1, 0).flatten(0, 1)
    assert layer.bias is not None
    last = image.to(precision).permute(0, 2, 3, 1)
    found = operation(last[None], weight[None], layer.bias.to(precision)[None], layer.rectified)
    return found.squeeze(0).permute(0, 3, 1, 2)  # found[0] would have a gradient of zeros and a copy
