"""Dropout whose masks are a function of numbers that the run draws: a step draws nothing itself."""

from collections.abc import Mapping
from math import prod

import torch
from torch import Tensor, nn

WORD = 0xFFFFFFFF
FACTORS = (0x7FEB352D, 0x45D9F3B)  # below 2^31: a product with a word of 32 bits stays within int64


class Dropout(nn.Module):
    """Sets a share p of the numbers, or of whole channels, to zero, and divides what is left by 1 - p.

    Only where it is handed a `key`, in a training step (`keyed`); anywhere else it does nothing. The masks are a hash
    of the key, the layer, which call of it this is, and each number's place. So they cost one drawn number a step, and
    are the same for a model alone and among others.
    """

    key: Tensor

    def __init__(self, p: float, *, channels: bool = False):
        super().__init__()
        self.p, self.channels, self.number, self.calls = p, channels, 0, 0
        self.register_buffer("key", torch.zeros(0), persistent=False)

    def forward(self, h: Tensor) -> Tensor:
        if not self.key.numel() or not self.p:
            return h
        self.calls += 1
        shape = h.shape[:2] + (1,) * (h.dim() - 2) if self.channels else h.shape
        kept = uniform(self.key, shape, 1000 * self.number + self.calls) >= self.p
        return h * kept.to(h.dtype) / max(1 - self.p, 1e-9)


def uniform(key: Tensor, shape: tuple[int, ...], salt: int) -> Tensor:
    """Numbers in [0, 1) of this shape, as if drawn from a generator seeded by `key`, a standard normal number."""
    seed = _mixed((key * 2**24).long() & WORD) ^ _mixed(torch.full_like(key, salt, dtype=torch.long))
    places = torch.arange(prod(shape), device=key.device).view(shape)
    return _mixed(_mixed(places) ^ seed).to(torch.float32) * 2.0**-32


def dropping(modules: Mapping[str, nn.Module]) -> list[str]:
    """The networks that have dropout. Each takes a column of noise."""
    return [name for name, module in modules.items() if _layers(module)]


def keyed(module: nn.Module, key: Tensor) -> dict[str, Tensor]:
    """What to call the module with, beside its parameters, for one pass with dropout."""
    layers = _layers(module)
    for number, layer in enumerate(layers.values()):
        layer.number, layer.calls = number, 0
    return {f"{path}.key": key for path in layers}


def _layers(module: nn.Module) -> dict[str, Dropout]:
    return {path: layer for path, layer in module.named_modules() if isinstance(layer, Dropout)}


def _mixed(values: Tensor) -> Tensor:
    """A word of 32 bits for each, in which every bit depends on every bit."""
    for factor in FACTORS:
        values = ((values ^ (values >> 16)) * factor) & WORD
    return values ^ (values >> 16)
