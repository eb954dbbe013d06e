"""Mixtures of Gaussians of many sets of rows at once, by EM: the densities of groups that are unbent."""

import functools
import math
import operator

import torch
from torch import Tensor

COMPONENTS = {1: 12, 2: 24}  # of a mixture, at most; of larger groups as of two
# Rows for each number that a mixture has, by the size of its group: with fewer, large groups look less likely than
# their parts; with more, a bend makes Gaussians of what a mixture should fill, rings of two dimensions first of all.
ROWS_A_NUMBER = {1: 4, 2: 4, 3: 6, 4: 12}
EM_STEPS, LEAST_VARIANCE = 20, 2e-3


def components_of(size: int, rows: int) -> int:
    """Of a mixture over a group of this size that so many rows are to be fitted by: as many as they bear."""
    numbers = 1 + size + size * (size + 1) // 2
    borne = rows // (ROWS_A_NUMBER[min(size, 4)] * numbers)
    return max(1, min(COMPONENTS.get(size, COMPONENTS[2]), borne))


def log_parts(z: Tensor, logits: Tensor, centre: Tensor, diagonal: Tensor, lower: Tensor) -> Tensor:
    """Log-densities (starts, rows, components) of weighted Gaussians at z (starts, rows, size): `diagonal` are the
    logarithms of the diagonals of their precisions' factors, `lower` what stands below."""
    steep = diagonal.clamp(max=4.0)
    factor = torch.tril(lower, -1) + torch.diag_embed(torch.exp(steep))
    moved = (factor @ centre[..., None])[..., 0]
    weight = torch.log_softmax(logits, -1) + steep.sum(-1) - 0.5 * centre.shape[-1] * math.log(2 * math.pi)
    # a dimension at a time: sums over a last axis of one to four take longer than all the rest
    parts = [(z @ factor[:, :, k].mT - moved[:, None, :, k]).square() for k in range(centre.shape[-1])]
    return weight[:, None] - 0.5 * functools.reduce(operator.add, parts)


def mixtures_of(z: Tensor, seed: int, components: int) -> list[Tensor]:
    """Logits, centres, log-diagonals and lower factors of mixtures fitted to z (starts, rows, size) by EM."""
    count, rows, size = z.shape
    drawn = torch.randperm(rows, generator=torch.Generator().manual_seed(seed))[:components]
    centre, logits = z[:, drawn], z.new_zeros(count, components)
    diagonal = (-torch.log(z.std(1)) + math.log(components) / size)[:, None].expand_as(centre)
    lower = z.new_zeros(count, components, size, size)
    squares = (z[..., None] * z[..., None, :]).reshape(count, rows, size * size)
    for _ in range(EM_STEPS):
        share = torch.softmax(log_parts(z, logits, centre, diagonal, lower), -1).mT
        mass = share.sum(-1, keepdim=True) + 1e-6
        centre, logits = share @ z / mass, torch.log(mass[..., 0])
        spread = (share @ squares / mass).reshape(count, components, size, size) - centre[..., None] * centre[
            ..., None, :
        ]
        factor = torch.linalg.cholesky(spread + LEAST_VARIANCE * torch.eye(size, dtype=z.dtype))
        precise = torch.linalg.solve_triangular(factor, torch.eye(size, dtype=z.dtype), upper=False)
        diagonal, lower = torch.log(torch.diagonal(precise, dim1=-2, dim2=-1)), torch.tril(precise, -1)
    return [logits, centre, diagonal, lower]
