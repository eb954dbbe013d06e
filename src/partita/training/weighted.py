"""Rows that count more than others: drawn in proportion to their weights."""

from typing import Any

import torch
from torch import Tensor


def in_proportion(weight: Tensor, count: int, offset: Any = 0.5) -> Tensor:
    """Places (..., count) in which i comes `count` * weight_i / sum(weight) times, rounded down or up: up by chance, in
    proportion to what is left, where `offset` (..., 1) is drawn from [0, 1). In rising order (systematic sampling).

    With equal weights and as many places as rows, each comes once.
    """
    mass = weight.double().cumsum(0)
    at = (torch.arange(count, device=weight.device, dtype=torch.float64) + offset) * (mass[-1] / count)
    # a row of no weight has no mass of its own: `right` steps over it
    return torch.searchsorted(mass, at.contiguous(), right=True).clamp(max=int((weight > 0).nonzero()[-1]))
