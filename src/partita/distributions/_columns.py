"""Columns of a tensor, chosen so that a CUDA graph can record it."""

from collections.abc import Sequence

import torch
from torch import Tensor


def columns(values: Tensor, chosen: Sequence[int]) -> Tensor:
    """values[..., chosen] by slices alone: a list of indices becomes a tensor on the host, where no graph may look."""
    starts = [i for i, k in enumerate(chosen) if i == 0 or k != chosen[i - 1] + 1]
    ends = [*starts[1:], len(chosen)]
    runs = [values[..., chosen[a] : chosen[b - 1] + 1] for a, b in zip(starts, ends)]
    return runs[0] if len(runs) == 1 else torch.cat(runs, -1)
