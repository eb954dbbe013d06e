"""When a sum of densities can be trusted, and how it is done again when it cannot."""

import math
from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from partita.kernels.standardise import Standardised

Block = tuple[int, ...]

# Queries and components of one tile in the careful sum; float64, a few tiles alive at once.
CAREFUL_QUERIES, CAREFUL_COMPONENTS = 64, 4096


def own_exponents(s: Standardised, blocks: Sequence[Block], own: Tensor | None) -> Tensor:
    """log2 density of each query under the component it was drawn from, (n, blocks); zeros where that is not known.

    Since z_i was drawn from component `own_i`, the density of any other component relative to this one has expectation
    1, and exceeds 2^t with probability below 2^-t: shifted by it, the sum needs no running maximum.
    """
    if own is None or not blocks:
        return s.z.new_zeros(s.z.shape[1], len(blocks))
    log_scale = s.log_scale.detach()[:, own]
    each = log_scale - ((s.z.detach() - s.mean.detach()[:, own]) * torch.exp2(log_scale)).square()
    return torch.stack([each.index_select(0, index_of(block, each.device)).sum(0) for block in blocks], -1)


def floors(s: Standardised, blocks: Sequence[Block]) -> list[float]:
    """For each block, the log2 of the smallest sum of products of single-latent densities that is still accurate.

    A factor below the smallest normal number is lost. The others can lift what it would have contributed by at most
    their highest peak each, and there are N components: a sum well above that bound has lost nothing.
    """
    smallest = math.log2(torch.finfo(s.z.dtype).tiny)
    digits = 24 if s.z.dtype == torch.float32 else 40
    peaks = s.log_scale.detach().amax(1).clamp(min=0).tolist()
    base = smallest + math.log2(s.mean.shape[1]) + digits
    return [base + (sum(peaks[k] for k in block) if len(block) > 1 else 0.0) for block in blocks]


def can_multiply(s: Standardised, blocks: Sequence[Block]) -> list[bool]:
    """Whether a block's density may be the product of its latents' densities: there is room above the floor."""
    smallest = math.log2(torch.finfo(s.z.dtype).tiny)
    return [floor < smallest / 3 for floor in floors(s, blocks)]


def mend(s: Standardised, blocks: Sequence[Block], logs: Tensor, lowest: Tensor) -> Tensor:
    """`logs` (n, blocks) with every entry that is below `lowest` or not finite summed again, carefully."""
    doubtful = ~((logs >= lowest) & (logs < math.inf))
    if not bool(doubtful.any()):
        return logs
    logs = logs.clone()
    for b, block in enumerate(blocks):
        rows = doubtful[:, b].nonzero().squeeze(1)
        if len(rows):
            logs[rows, b] = careful_log_sum(s.rows(rows), block)
    return logs


def careful_log_sum(s: Standardised, block: Block) -> Tensor:
    """log2 sum_j 2^u_ij in float64 with a running maximum: right for any query, and slow."""
    s = s.to(torch.float64)
    n, size = s.z.shape[1], s.mean.shape[1]
    found = s.z.new_empty(n)
    for first in range(0, n, CAREFUL_QUERIES):
        rows = slice(first, first + CAREFUL_QUERIES)
        peak = s.z.new_full((len(found[rows]),), -math.inf)
        total = torch.zeros_like(peak)
        for start in range(0, size, CAREFUL_COMPONENTS):
            u = dense_exponents(s.z[:, rows], s, slice(start, start + CAREFUL_COMPONENTS), block)
            higher = torch.maximum(peak, u.amax(-1))
            total = total * torch.exp2(peak - higher) + torch.exp2(u - higher.unsqueeze(-1)).sum(-1)
            peak = higher
        found[rows] = peak + total.log2()
    return found


def dense_exponents(z: Tensor, s: Standardised, components: slice, block: Block) -> Tensor:
    """u_ij of a block by differences, (queries, components)."""
    u = s.log_scale[:, components].index_select(0, index_of(block, z.device)).sum(0)
    for k in block:
        u = u - ((z[k].unsqueeze(-1) - s.mean[k, components]) * torch.exp2(s.log_scale[k, components])).square()
    return u


@cache
@torch.inference_mode(False)
def index_of(positions: tuple[int, ...], device: torch.device) -> Tensor:
    """An index on the device; kept, since copying it there waits for the device, and cannot be captured."""
    return torch.tensor(positions, dtype=torch.int64, device=device)
