"""Sums over a minibatch and their gradient in Triton, as kernels/batch.c has them for the CPU; `batch` calls both.

A program has some rows of one model and one block of its latents, and walks over the columns: densities come from
differences, in registers, and no (size, size) array exists. Every number is added up in one order.
"""

# A kernel is Triton's language, not Python's: the type checker cannot follow it.
# pyright: reportMissingImports=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false
from collections.abc import Sequence
from functools import cache

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS, MOST_COLUMNS, WARPS = 32, 128, 4
LN_2 = tl.constexpr(0.6931471805599453)
LOG2_E = tl.constexpr(1.4426950408889634)
ROOT_HALF_LOG2_E = tl.constexpr(0.849321800288019)
HALF_LOG_2PI = tl.constexpr(0.9189385332046727)
# Beyond this a ratio to a point's own density is no draw's: kept finite, as in batch.c.
MOST = tl.constexpr(90.0)


def log_sums(z: Tensor, mean: Tensor, log_variance: Tensor, weights: Tensor, blocks: Sequence[Sequence[int]]) -> Tensor:
    """(..., blocks, M), as `batch.batch_log_sums` says."""
    log_q = z.new_empty(*z.shape[:-2], len(blocks), z.shape[-2])
    for same in _by_length(blocks, z):
        forward_kernel[same.grid](z, mean, log_variance, weights, same.members, same.places, log_q, *same.sizes,
                                  H=same.length, ROWS=ROWS, COLUMNS=same.tile, num_warps=WARPS)  # fmt: skip
    return log_q


def gradients(
    grad: Tensor, log_q: Tensor, z: Tensor, mean: Tensor, log_variance: Tensor, weights: Tensor,
    blocks: Sequence[Sequence[int]],
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Of (grad * log_q).sum() by z, mean and log_variance: first the share of every block, then their sum."""
    size, latents = z.shape[-2:]
    shares = z.new_empty(3, z.numel() // (size * latents), sum(map(len, blocks)), size)
    inputs = (grad, log_q, z, mean, log_variance, weights)
    for same in _by_length(blocks, z):
        lists = (same.members, same.places, same.starts)
        settings = {"H": same.length, "ROWS": ROWS, "COLUMNS": same.tile, "num_warps": WARPS}
        by_row_kernel[same.grid](*inputs, *lists, shares[0], *same.sizes, **settings)
        by_column_kernel[same.grid](*inputs, *lists, shares[1], shares[2], *same.sizes, **settings)
    belongs = _belongs(tuple(k for block in blocks for k in block), latents, z.device)
    by_z, by_mean, by_log_variance = (torch.matmul(belongs, share).mT.contiguous().view(z.shape) for share in shares)
    return by_z, by_mean, by_log_variance


class _Same:
    """Blocks of one length, and how their programs are laid out."""

    def __init__(self, blocks: Sequence[Sequence[int]], length: int, z: Tensor):
        size, latents = z.shape[-2:]
        models, where = z.numel() // (size * latents), [b for b, block in enumerate(blocks) if len(block) == length]
        starts = [sum(map(len, blocks[:b])) for b in where]
        self.length, self.tile = length, min(MOST_COLUMNS, max(16, triton.next_power_of_2(size)))
        self.members = _numbers(tuple(k for b in where for k in blocks[b]), z.device)
        self.places, self.starts = _numbers(tuple(where), z.device), _numbers(tuple(starts), z.device)
        self.sizes = (size, latents, len(blocks), sum(map(len, blocks)))
        self.grid = (models * triton.cdiv(size, ROWS), len(where))


def _by_length(blocks: Sequence[Sequence[int]], z: Tensor) -> list[_Same]:
    return [_Same(blocks, length, z) for length in sorted({len(block) for block in blocks})]


@cache
@torch.inference_mode(False)
def _numbers(values: tuple[int, ...], device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=torch.int32, device=device)


@cache
@torch.inference_mode(False)
def _belongs(members: tuple[int, ...], latents: int, device: torch.device) -> Tensor:
    """(latents, members): 1 where this is that latent."""
    here = torch.tensor(members, device=device)
    return (torch.arange(latents, device=device).unsqueeze(1) == here).to(torch.float32)


@triton.jit
def distance(z, mean, log_variance, latent, rows, columns, size, latents):
    """(z - mean) * scale of one latent, (rows, columns), the scale and log2 of the density's peak, (columns,)."""
    value = tl.load(z + rows * latents + latent, mask=rows < size, other=0.0)
    centre = tl.load(mean + columns * latents + latent, mask=columns < size, other=0.0)
    width = tl.load(log_variance + columns * latents + latent, mask=columns < size, other=0.0)
    scale = ROOT_HALF_LOG2_E * tl.exp2(-0.5 * LOG2_E * width)
    return (value[:, None] - centre[None, :]) * scale[None, :], scale, -LOG2_E * (0.5 * width + HALF_LOG_2PI)


@triton.jit
def exponents(z, mean, log_variance, members, rows, columns, size, latents,
              H: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
    """log2 of the block's density, (rows, columns)."""
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for h in range(H):
        apart, _, peak = distance(z, mean, log_variance, tl.load(members + h), rows, columns, size, latents)
        total += peak[None, :] - apart * apart
    return total


@triton.jit
def own_exponents(z, mean, log_variance, members, rows, size, latents, H: tl.constexpr, ROWS: tl.constexpr):
    """log2 of the density that each row was drawn from."""
    total = tl.zeros((ROWS,), tl.float32)
    for h in range(H):
        latent = tl.load(members + h)
        value = tl.load(z + rows * latents + latent, mask=rows < size, other=0.0)
        centre = tl.load(mean + rows * latents + latent, mask=rows < size, other=0.0)
        width = tl.load(log_variance + rows * latents + latent, mask=rows < size, other=0.0)
        apart = (value - centre) * (ROOT_HALF_LOG2_E * tl.exp2(-0.5 * LOG2_E * width))
        total += -LOG2_E * (0.5 * width + HALF_LOG_2PI) - apart * apart
    return total


@triton.jit
def forward_kernel(
    z, mean, log_variance, weights, members, places, log_q, size, latents, blocks, _,
    H: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    tiles = tl.cdiv(size, ROWS)
    model, rows = (tl.program_id(0) // tiles).to(tl.int64), tl.program_id(0) % tiles * ROWS + tl.arange(0, ROWS)
    members += tl.program_id(1) * H
    z += model * size * latents
    mean += model * size * latents
    log_variance += model * size * latents
    own = own_exponents(z, mean, log_variance, members, rows, size, latents, H, ROWS)
    total = tl.zeros((ROWS,), tl.float32)
    for start in range(0, size, COLUMNS):
        columns = start + tl.arange(0, COLUMNS)
        both = (rows < size)[:, None] & (columns < size)[None, :]
        weight = tl.load(weights + rows[:, None] * size + columns[None, :], mask=both, other=0.0)
        ratio = exponents(z, mean, log_variance, members, rows, columns, size, latents, H, ROWS, COLUMNS) - own[:, None]
        ratio = tl.where(ratio > MOST, MOST, ratio)  # NaN stays NaN
        total += tl.sum(tl.where(both, weight * tl.exp2(ratio), 0.0), 1)
    at = log_q + (model * blocks + tl.load(places + tl.program_id(1))) * size + rows
    tl.store(at, LN_2 * (own + tl.log2(total)), mask=rows < size)


@triton.jit
def pulls(grad, log_q, z, mean, log_variance, weights, members, rows, columns, size, latents,
          H: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # fmt: skip
    """Of the gradient at log q(z_i), the share of density j, (rows, columns)."""
    both = (rows < size)[:, None] & (columns < size)[None, :]
    weight = tl.load(weights + rows[:, None] * size + columns[None, :], mask=both, other=0.0)
    whole = tl.load(log_q + rows, mask=rows < size, other=0.0) * LOG2_E
    slope = tl.load(grad + rows, mask=rows < size, other=0.0)
    each = exponents(z, mean, log_variance, members, rows, columns, size, latents, H, ROWS, COLUMNS)
    return tl.where(both, slope[:, None] * weight * tl.exp2(each - whole[:, None]), 0.0)


@triton.jit
def by_row_kernel(
    grad, log_q, z, mean, log_variance, weights, members, places, starts, by_z, size, latents, blocks, count,
    H: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    tiles = tl.cdiv(size, ROWS)
    model, rows = (tl.program_id(0) // tiles).to(tl.int64), tl.program_id(0) % tiles * ROWS + tl.arange(0, ROWS)
    members += tl.program_id(1) * H
    at = (model * blocks + tl.load(places + tl.program_id(1))) * size
    by_z += (model * count + tl.load(starts + tl.program_id(1))) * size
    z += model * size * latents
    mean += model * size * latents
    log_variance += model * size * latents
    for start in range(0, size, COLUMNS):
        columns = start + tl.arange(0, COLUMNS)
        pull = pulls(grad + at, log_q + at, z, mean, log_variance, weights, members, rows, columns, size, latents,
                     H, ROWS, COLUMNS)  # fmt: skip
        for h in range(H):
            apart, scale, _ = distance(z, mean, log_variance, tl.load(members + h), rows, columns, size, latents)
            found = -2.0 * LN_2 * tl.sum(pull * apart * scale[None, :], 1)
            place = by_z + h * size + rows
            if start > 0:
                found += tl.load(place, mask=rows < size, other=0.0)
            tl.store(place, found, mask=rows < size)


@triton.jit
def by_column_kernel(
    grad, log_q, z, mean, log_variance, weights, members, places, starts, by_mean, by_width, size, latents, blocks,
    count, H: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """A program has ROWS columns here, and walks over the rows, COLUMNS at a time."""
    tiles = tl.cdiv(size, ROWS)
    model, columns = (tl.program_id(0) // tiles).to(tl.int64), tl.program_id(0) % tiles * ROWS + tl.arange(0, ROWS)
    members += tl.program_id(1) * H
    at = (model * blocks + tl.load(places + tl.program_id(1))) * size
    by_mean += (model * count + tl.load(starts + tl.program_id(1))) * size
    by_width += (model * count + tl.load(starts + tl.program_id(1))) * size
    z += model * size * latents
    mean += model * size * latents
    log_variance += model * size * latents
    for start in range(0, size, COLUMNS):
        rows = start + tl.arange(0, COLUMNS)
        pull = pulls(grad + at, log_q + at, z, mean, log_variance, weights, members, rows, columns, size, latents,
                     H, COLUMNS, ROWS)  # fmt: skip
        for h in range(H):
            apart, scale, _ = distance(z, mean, log_variance, tl.load(members + h), rows, columns, size, latents)
            moved = 2.0 * LN_2 * tl.sum(pull * apart, 0) * scale
            widened = tl.sum(pull * (LN_2 * apart * apart - 0.5), 0)
            here, there = by_mean + h * size + columns, by_width + h * size + columns
            if start > 0:
                moved += tl.load(here, mask=columns < size, other=0.0)
                widened += tl.load(there, mask=columns < size, other=0.0)
            tl.store(here, moved, mask=columns < size)
            tl.store(there, widened, mask=columns < size)
