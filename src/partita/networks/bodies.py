"""The layers between an observation and its code, and back: each body is a pair (encoder layers, decoder layers).

An encoder body maps (B, *shape) to (B, width_out); a decoder body maps (B, width_in) to (B, *shape). With `beside`, the
encoder takes that many numbers more, labels say, beside the features where x has become flat.
"""

from itertools import pairwise
from math import prod

import torch
from torch import Tensor, nn

from partita.networks._convolutions import MOST_COLOURS, DownConv, UpConv
from partita.networks.normalise import BatchNorm

Shape = tuple[int, ...]
BENT_UNITS = 64  # of the network "nearly_linear"
SIDES = (16, 256)  # pixels that the network "conv" takes
FEWEST_PLACES = 16  # of the smallest map of "conv": 4 x 4 of a square image


class EncoderBody(nn.Sequential):
    """The layers of an encoder. What it takes beside x stands beside the features where x has become flat."""

    def forward(self, x: Tensor, beside: Tensor | None = None) -> Tensor:
        for layer in self:
            x = layer(x)
            if beside is not None and isinstance(layer, nn.Flatten):
                x = torch.cat([x, beside], -1)
        return x


def linear(shape: Shape, width_out: int, width_in: int, *, beside: int = 0) -> tuple[nn.Sequential, nn.Sequential]:
    """One affine map each way, the model of the PDisVAE synthetic study."""
    features = prod(shape)
    encoder = EncoderBody(nn.Flatten(), nn.Linear(features + beside, width_out))
    decoder = nn.Sequential(nn.Linear(width_in, features), nn.Unflatten(1, shape))
    return encoder, decoder


def mlp(
    shape: Shape, width_out: int, width_in: int, *, beside: int = 0, hidden: Shape = (256, 256)
) -> tuple[nn.Sequential, nn.Sequential]:
    """Fully connected layers with ReLU; the decoder mirrors the encoder."""
    features = prod(shape)
    encoder = EncoderBody(nn.Flatten(), *_stack((features + beside, *hidden)), nn.Linear(hidden[-1], width_out))
    backwards = hidden[::-1]
    decoder = nn.Sequential(*_stack((width_in, *backwards)), nn.Linear(backwards[-1], features), nn.Unflatten(1, shape))
    return encoder, decoder


class PartlyTanh(nn.Module):
    """tanh of the first `bent` numbers; the others go on as they are."""

    def __init__(self, bent: int):
        super().__init__()
        self.bent = bent

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([torch.tanh(x[..., : self.bent]), x[..., self.bent :]], -1)


def nearly_linear(
    shape: Shape, width_out: int, width_in: int, *, beside: int = 0
) -> tuple[nn.Sequential, nn.Sequential]:
    """One hidden layer of 64 tanh units and as many linear ones as latents: a linear map is in it exactly, and it bends
    no more than it must."""
    features = prod(shape)
    hidden = BENT_UNITS + width_in
    encoder = EncoderBody(
        nn.Flatten(), nn.Linear(features + beside, hidden), PartlyTanh(BENT_UNITS), nn.Linear(hidden, width_out)
    )
    decoder = nn.Sequential(
        nn.Linear(width_in, hidden), PartlyTanh(BENT_UNITS), nn.Linear(hidden, features), nn.Unflatten(1, shape)
    )
    return encoder, decoder


def burgess(shape: Shape, width_out: int, width_in: int, *, beside: int = 0) -> tuple[nn.Sequential, nn.Sequential]:
    """Burgess et al. 2018: 32 channels, kernel 4, stride 2 down to 4 x 4, then 256-256; three convolutions for 32
    pixels, four for 64."""
    channels, depth = _image(shape)
    down = _convolutions((channels, *[32] * depth))
    encoder = EncoderBody(*down, nn.Flatten(), *_stack((512 + beside, 256, 256)), nn.Linear(256, width_out))
    up = _transposed((*[32] * depth, channels))
    decoder = nn.Sequential(*_stack((width_in, 256, 256, 512)), nn.Unflatten(1, (32, 4, 4)), *up)
    return encoder, decoder


class CutTo(nn.Module):
    """The first rows and columns of an image: twice the half of an odd side is one too many."""

    def __init__(self, height: int, width: int):
        super().__init__()
        self.height, self.width = height, width

    def forward(self, x: Tensor) -> Tensor:
        return x[..., : self.height, : self.width]


def conv(shape: Shape, width_out: int, width_in: int, *, beside: int = 0) -> tuple[nn.Sequential, nn.Sequential]:
    """Burgess's network for images of 16 to 256 pixels, square or not, of any number of channels: sides are halved as
    long as at least 16 places are left. An odd side gets a line of zeros, which the decoder cuts off again."""
    sizes = _halved(shape)
    wide = (shape[0], *[32] * (len(sizes) - 1))
    down, up = [], []
    for i, (height, width) in enumerate(sizes[:-1]):
        down += [nn.ZeroPad2d((0, width % 2, 0, height % 2)), DownConv(wide[i], wide[i + 1])]
        up = [UpConv(wide[i + 1], wide[i], rectified=i > 0), CutTo(height, width), *up]
    smallest = (32, *sizes[-1])
    flat = prod(smallest)
    encoder = EncoderBody(*down, nn.Flatten(), *_stack((flat + beside, 256, 256)), nn.Linear(256, width_out))
    decoder = nn.Sequential(*_stack((width_in, 256, 256, flat)), nn.Unflatten(1, smallest), *up)
    return encoder, decoder


def small(shape: Shape, width_out: int, width_in: int, *, beside: int = 0) -> tuple[nn.Sequential, nn.Sequential]:
    """Convolutions like Burgess's with 16 channels and one layer of 128: a third of the arithmetic, for a laptop."""
    channels, depth = _image(shape)
    down = _convolutions((channels, *[16] * depth))
    encoder = EncoderBody(*down, nn.Flatten(), *_stack((256 + beside, 128)), nn.Linear(128, width_out))
    up = _transposed((*[16] * depth, channels))
    decoder = nn.Sequential(*_stack((width_in, 128, 256)), nn.Unflatten(1, (16, 4, 4)), *up)
    return encoder, decoder


def idvae(shape: Shape, width_out: int, width_in: int, *, beside: int = 0) -> tuple[nn.Sequential, nn.Sequential]:
    """The architecture of the IDVAE paper (docs/glossary.md), after Locatello et al. 2019: 32-32-64-64 channels."""
    channels, depth = _image(shape)
    inner = [32, 32, 64, 64][-depth:]
    down = _convolutions((channels, *inner))
    up = _transposed((64, *([64, 32, 32][-(depth - 1) :]), channels))
    encoder = EncoderBody(*down, nn.Flatten(), *_stack((1024 + beside, 256)), nn.Linear(256, width_out))
    decoder = nn.Sequential(*_stack((width_in, 256, 1024)), nn.Unflatten(1, (64, 4, 4)), *up)
    return encoder, decoder


def infogan(shape: Shape, width_out: int, width_in: int, *, beside: int = 0) -> tuple[nn.Sequential, nn.Sequential]:
    """InfoGAN on MNIST (docs/glossary.md): two convolutions, then 1024; batch normalisation, leaky ReLU 0.1.
    What a normalisation would take off again has no bias."""
    channels, side = _quartered(shape)
    flat = 128 * side * side
    encoder = EncoderBody(
        nn.Conv2d(channels, 64, 4, 2, 1), nn.LeakyReLU(0.1),
        nn.Conv2d(64, 128, 4, 2, 1, bias=False), BatchNorm(128), nn.LeakyReLU(0.1), nn.Flatten(),
        nn.Linear(flat + beside, 1024, bias=False), BatchNorm(1024), nn.LeakyReLU(0.1), nn.Linear(1024, width_out),
    )  # fmt: skip
    decoder = nn.Sequential(
        nn.Linear(width_in, 1024, bias=False), BatchNorm(1024), nn.ReLU(),
        nn.Linear(1024, flat, bias=False), BatchNorm(flat), nn.ReLU(), nn.Unflatten(1, (128, side, side)),
        nn.ConvTranspose2d(128, 64, 4, 2, 1, bias=False), BatchNorm(64), nn.ReLU(),
        nn.ConvTranspose2d(64, channels, 4, 2, 1),
    )  # fmt: skip
    return encoder, decoder


BODIES = {
    "linear": linear,
    "nearly_linear": nearly_linear,
    "mlp": mlp,
    "burgess": burgess,
    "conv": conv,
    "small": small,
    "idvae": idvae,
    "infogan": infogan,
}


def _stack(widths: Shape) -> list[nn.Module]:
    return [module for a, b in pairwise(widths) for module in (nn.Linear(a, b), nn.ReLU())]


def _convolutions(channels: Shape) -> list[nn.Module]:
    return _with_places([DownConv(a, b) for a, b in pairwise(channels)])


def _transposed(channels: Shape) -> list[nn.Module]:
    last = len(channels) - 2
    return _with_places([UpConv(a, b, rectified=i < last) for i, (a, b) in enumerate(pairwise(channels))])


def _with_places(layers: list) -> list[nn.Module]:
    """Each followed by a place that does nothing: parameters keep the names they had when a ReLU stood there."""
    return [module for layer in layers for module in (layer, nn.Identity())]


def _image(shape: Shape) -> tuple[int, int]:
    """Channels, and how many halvings lead to 4 x 4."""
    if len(shape) != 3 or shape[1] != shape[2] or shape[1] not in (32, 64) or shape[0] > MOST_COLOURS:
        raise ValueError(
            f"this network takes images of up to {MOST_COLOURS} channels and 32 x 32 or 64 x 64 pixels, got shape "
            f"{shape}; use network='conv' for other sizes, or resize the images"
        )
    return shape[0], {32: 3, 64: 4}[shape[1]]


def _halved(shape: Shape) -> list[tuple[int, int]]:
    """Height and width of the image, of its half, and so on, an odd side rounded up."""
    least, most = SIDES
    if len(shape) != 3 or shape[0] < 1 or not all(least <= side <= most for side in shape[1:]):
        raise ValueError(
            f"network 'conv' takes images (channels, height, width) of {least} to {most} pixels a side, got shape "
            f"{shape}; resize the images or use network='mlp'"
        )
    sizes = [(shape[1], shape[2])]
    while prod(half := (-(-sizes[-1][0] // 2), -(-sizes[-1][1] // 2))) >= FEWEST_PLACES:
        sizes.append(half)
    return sizes


def _quartered(shape: Shape) -> tuple[int, int]:
    """Channels, and a quarter of the side."""
    if len(shape) != 3 or shape[1] != shape[2] or shape[1] % 4:
        raise ValueError(f"network 'infogan' takes square images with sides a multiple of 4, got shape {shape}")
    return shape[0], shape[1] // 4


# ValueError where the network does not take observations of this shape; those that are not here take any.
TAKES = {"burgess": _image, "conv": _halved, "small": _image, "idvae": _image, "infogan": _quartered}


def takes(network: str, shape: Shape) -> bool:
    """Whether the network of this name takes observations of this shape."""
    try:
        TAKES.get(network, prod)(shape)
    except ValueError:
        return False
    return True
