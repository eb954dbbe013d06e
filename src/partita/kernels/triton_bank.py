"""Sums over a bank and what their slopes are made of, in Triton; `bank` has the twin in plain torch."""

# A kernel is Triton's language, not Python's: the type checker cannot follow it.
# pyright: reportMissingImports=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from partita.kernels.guard import index_of
from partita.kernels.plan import shares
from partita.kernels.triton_kernels import component, distance_of, peak, queries_of

Block = tuple[int, ...]

# Latents a program has slopes for; a larger block is the work of several.
MOST_SLOPES = 12


class Tile(NamedTuple):
    queries: int
    components: int
    warps: int


# By the most slopes a program has: the more, the fewer pairs a thread can hold.
TILES = {1: Tile(64, 32, 2), 2: Tile(32, 32, 2), 5: Tile(32, 32, 4), MOST_SLOPES: Tile(16, 32, 4)}


def sums_and_pulls(
    z: Tensor, shift: Tensor, mean: Tensor, log_scale: Tensor, blocks: Sequence[Block]
) -> tuple[Tensor, Tensor]:
    """As `bank` says, float64: programs take shares of the components and leave sums, which are then added."""
    models, queries, latents = z.shape
    size, device = mean.shape[-1], z.device
    sums = z.new_empty(models, len(blocks), queries, dtype=torch.float64)
    pulls = z.new_zeros(models, len(blocks) * latents, queries, dtype=torch.float64)
    z, mean, scale = z.mT.contiguous(), mean.contiguous(), torch.exp2(log_scale)
    for length in sorted({len(block) for block in blocks}):
        where = tuple(b for b, block in enumerate(blocks) if len(block) == length)
        same = tuple(blocks[b] for b in where)
        parts = -(-length // MOST_SLOPES)
        sloped = -(-length // parts)
        tile = next(tile for most, tile in TILES.items() if sloped <= most)
        rows, programs = -(-queries // tile.queries), models * len(same) * parts
        splits, share = shares(size, rows * programs, tile.components)
        found = z.new_empty(splits, models, len(same), queries)
        pulled = z.new_empty(splits, models, len(same) * length, queries)
        kernel[(rows, programs, splits)](
            z, mean, scale, _peaks(log_scale, same), _latents_of_all(same, models, latents, device),
            shift.index_select(1, index_of(where, device)), found, pulled, queries, size, share,
            H=length, PARTS=parts, SLOPED=sloped, QUERIES=tile.queries, COMPONENTS=tile.components,
            num_warps=tile.warps,
        )  # fmt: skip
        sums.index_copy_(1, index_of(where, device), found.sum(0, dtype=torch.float64))
        slopes_of = tuple(b * latents + k for b, block in zip(where, same) for k in block)
        pulls.index_copy_(1, index_of(slopes_of, device), pulled.sum(0, dtype=torch.float64))
    return sums, pulls.unflatten(1, (len(blocks), latents))


def _peaks(log_scale: Tensor, blocks: Sequence[Block]) -> Tensor:
    """log2 density of every component at its centre, (E, blocks, B)."""
    if [*blocks] == [(k,) for k in range(log_scale.shape[1])]:
        return log_scale
    return torch.stack([_of(log_scale, block).sum(1) for block in blocks], 1)


def _of(values: Tensor, block: Block) -> Tensor:
    """The rows of a block, without a copy where they are neighbours."""
    if block == tuple(range(block[0], block[-1] + 1)):
        return values[:, block[0] : block[-1] + 1]
    return values.index_select(1, index_of(block, values.device))


@cache
@torch.inference_mode(False)
def _latents_of_all(blocks: tuple[Block, ...], models: int, latents: int, device: torch.device) -> Tensor:
    """The kernel knows one long list of latents: those of the second model follow those of the first."""
    return torch.tensor(
        [[e * latents + k for k in block] for e in range(models) for block in blocks], dtype=torch.int32, device=device
    )


@triton.jit
def kernel(
    z, mean, scale, peaks, latents, shift, sums_out, pulls_out, n, size, share,
    H: tl.constexpr, PARTS: tl.constexpr, SLOPED: tl.constexpr, QUERIES: tl.constexpr, COMPONENTS: tl.constexpr,
):  # fmt: skip
    """For blocks of H latents: the sum of 2^(exponent - shift), and of that times distance times scale of each latent,
    which together give the slope. A block too large for registers is the work of PARTS programs, SLOPED latents each.
    """
    rows = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    inside = rows < n
    block, part, split = tl.program_id(1) // PARTS, tl.program_id(1) % PARTS, tl.program_id(2)
    latents += block * H
    first = tl.minimum(part * SLOPED, H - SLOPED)  # the last part may share latents with the one before
    chosen, values = queries_of(z, latents + first, n, rows, SLOPED)
    moved = tl.load(shift + block.to(tl.int64) * n + rows, mask=inside, other=0.0)
    sums = tl.zeros((QUERIES, COMPONENTS), tl.float32)
    pulls = ()
    for _ in tl.static_range(SLOPED):
        pulls = pulls + (tl.zeros((QUERIES, COMPONENTS), tl.float32),)
    for column in range(split * share, tl.minimum((split + 1) * share, size), COMPONENTS):
        columns = column + tl.arange(0, COMPONENTS)
        squares = tl.zeros((QUERIES, COMPONENTS), tl.float32)
        if PARTS > 1:
            for h in range(H):
                if (h < first) | (h >= first + SLOPED):
                    latent = tl.load(latents + h)
                    value = tl.load(z + latent.to(tl.int64) * n + rows, mask=inside, other=0.0)
                    mean_h, scale_h = component(mean, scale, latent, size, columns)
                    distance = distance_of(value, mean_h, scale_h, False)
                    squares += distance * distance
        moves = ()
        for h in tl.static_range(SLOPED):
            mean_h, scale_h = component(mean, scale, chosen[h], size, columns)
            distance = distance_of(values[h], mean_h, scale_h, False)
            squares += distance * distance
            moves = moves + (distance * scale_h[None, :],)
        density = tl.exp2((peak(peaks, block, size, columns)[None, :] - moved[:, None]) - squares)
        sums += density
        added = ()
        for h in tl.static_range(SLOPED):
            added = added + (pulls[h] + density * moves[h],)
        pulls = added
    written = split * (tl.num_programs(1) // PARTS) + block
    tl.store(sums_out + written.to(tl.int64) * n + rows, tl.sum(sums, 1), mask=inside & (part == 0))
    for h in tl.static_range(SLOPED):
        at = (written.to(tl.int64) * H + first + h) * n + rows
        tl.store(pulls_out + at, tl.sum(pulls[h], 1), mask=inside & (first + h >= part * SLOPED))
