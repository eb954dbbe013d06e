"""log sum_j q(z_S | n_j) over the posteriors of a bank, with its slope in z, as an operation of torch.

A penalty against a bank has few queries, many components, and no gradient for the components: sums and slopes are taken
in one pass over them, and the backward pass costs nothing. E models at once: E comes from `vmap`. In Triton for float32
on a CUDA device, in plain torch, a piece of the bank at a time, everywhere else.
"""

import math
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor

from partita.kernels.build import found_triton
from partita.kernels.models import over_models
from partita.kernels.plan import shares
from partita.kernels.standardise import LOG2_LENGTH, LOG2E

Block = tuple[int, ...]

# log2 of what a density in units of 2^log_scale is multiplied by, for each latent.
LOG2_DENSITY = -LOG2_LENGTH - 0.5 * math.log2(2 * math.pi)
# Pairs of a query and a component that plain torch holds at once.
PAIRS_AT_ONCE = {"cpu": 1 << 16, "cuda": 1 << 24}
# Latents a program has slopes for; a larger block is the work of several.
MOST_SLOPES = 12


class Tile(NamedTuple):
    queries: int
    components: int
    warps: int


# By the most slopes a program has: the more, the fewer pairs a thread can hold.
TILES = {1: Tile(64, 32, 2), 2: Tile(32, 32, 2), 5: Tile(32, 32, 4), MOST_SLOPES: Tile(16, 32, 4)}


def bank_log_sums(z: Tensor, own: Tensor, bank: Tensor, blocks: Sequence[Block]) -> Tensor:
    """log sum_j prod_{k in S} N(z_ik; mean_jk, exp(log_variance_jk)), (M, blocks), for z (M, K) and bank (2K, B).

    The bank has means, then log-variances, +inf where nothing is known, which adds nothing. `own` (M, blocks) has the
    log densities of z_i under the posterior it was drawn from: next to them no other's is large. No gradient goes to
    either.
    """
    members = [k for block in blocks for k in block]
    logs, _ = _sums_and_slopes(z[None], own[None].detach(), bank[None], members, [len(block) for block in blocks])
    return logs[0].mT


@torch.library.custom_op("partita::bank_log_sums", mutates_args=())
def _sums_and_slopes(
    z: Tensor, own: Tensor, bank: Tensor, members: list[int], lengths: list[int]
) -> tuple[Tensor, Tensor]:
    """Logs (E, blocks, M), and their slopes in every latent, (E, blocks, K, M)."""
    blocks = _blocks(members, lengths)
    # in units of the components' scales, and to base 2
    units = LOG2_DENSITY * _whole(tuple(lengths), z.device).to(z.dtype).unsqueeze(-1)
    shift = own.mT / math.log(2) - units
    mean, log_variance = bank.split(z.shape[-1], 1)
    # one pass over the bank
    log_scale = torch.add(torch.tensor(LOG2_LENGTH, dtype=z.dtype), log_variance, alpha=-0.5 * LOG2E)
    on_gpu = z.is_cuda and z.dtype == torch.float32 and found_triton()
    sums, pulls = (_in_triton if on_gpu else _in_pieces)(z, shift, mean, log_scale, blocks)
    logs = sums.log() + own.mT
    slopes = -2 * math.log(2) * pulls / sums.clamp(min=torch.finfo(z.dtype).tiny).unsqueeze(2)
    return logs.to(z.dtype), slopes.to(z.dtype)


def _in_pieces(
    z: Tensor, shift: Tensor, mean: Tensor, log_scale: Tensor, blocks: Sequence[Block]
) -> tuple[Tensor, Tensor]:
    """Sums of 2^(exponent - shift), (E, blocks, M), and of that times distance times scale, (E, blocks, K, M)."""
    models, queries, latents = z.shape
    sums = z.new_zeros(models, len(blocks), queries)
    pulls = z.new_zeros(models, len(blocks), latents, queries)
    piece = max(1, PAIRS_AT_ONCE.get(z.device.type, 1 << 20) // (models * queries))
    used = sorted({k for block in blocks for k in block})
    for means, logs in zip(mean.split(piece, -1), log_scale.split(piece, -1)):
        scales = torch.exp2(logs)
        exponents, moves = {}, {}
        for k in used:
            scale = scales[:, k].unsqueeze(1)
            distance = (z[..., k].unsqueeze(-1) - means[:, k].unsqueeze(1)).mul_(scale)
            exponents[k], moves[k] = logs[:, k].unsqueeze(1) - distance.square(), distance.mul_(scale)
        for b, block in enumerate(blocks):
            part = torch.exp2(sum((exponents[k] for k in block), -shift[:, b].unsqueeze(-1)))
            sums[:, b] += part.sum(-1)
            for k in block:
                pulls[:, b, k] += torch.linalg.vecdot(part, moves[k])
    return sums, pulls


def _in_triton(
    z: Tensor, shift: Tensor, mean: Tensor, log_scale: Tensor, blocks: Sequence[Block]
) -> tuple[Tensor, Tensor]:
    """The same, in float64: programs take shares of the components, and leave sums for each."""
    from partita.kernels import triton_kernels

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
        triton_kernels.sums_and_pulls[(rows, programs, splits)](  # type: ignore[index]
            z, mean, scale, _peaks(log_scale, same), _latents_of_all(same, models, latents, device),
            shift.index_select(1, _whole(where, device)), found, pulled, queries, size, share,
            H=length, PARTS=parts, SLOPED=sloped, QUERIES=tile.queries, COMPONENTS=tile.components,
            num_warps=tile.warps,
        )  # fmt: skip
        sums.index_copy_(1, _whole(where, device), found.sum(0, dtype=torch.float64))
        slopes_of = tuple(b * latents + k for b, block in zip(where, same) for k in block)
        pulls.index_copy_(1, _whole(slopes_of, device), pulled.sum(0, dtype=torch.float64))
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
    return values.index_select(1, _whole(block, values.device))


@cache
def _latents_of_all(blocks: tuple[Block, ...], models: int, latents: int, device: torch.device) -> Tensor:
    """The kernel knows one long list of latents: those of the second model follow those of the first."""
    return torch.tensor(
        [[e * latents + k for k in block] for e in range(models) for block in blocks], dtype=torch.int32, device=device
    )


@cache
def _whole(values: tuple[int, ...], device: torch.device) -> Tensor:
    """Whole numbers on the device; kept, since copying them there waits for the device and cannot be captured."""
    return torch.tensor(values, dtype=torch.int64, device=device)


def _blocks(members: list[int], lengths: list[int]) -> list[Block]:
    ends = list(accumulate(lengths))
    return [tuple(members[end - length : end]) for end, length in zip(ends, lengths)]


@_sums_and_slopes.register_fake
def _(z, own, bank, members, lengths):
    models, queries, latents = z.shape
    return z.new_empty(models, len(lengths), queries), z.new_empty(models, len(lengths), latents, queries)


def _remember(ctx, inputs, output) -> None:
    ctx.save_for_backward(output[1])


def _differentiate(ctx, gradient: Tensor, _):
    (slopes,) = ctx.saved_tensors
    return (gradient.unsqueeze(2) * slopes).sum(1).mT, None, None, None, None


_sums_and_slopes.register_autograd(_differentiate, setup_context=_remember)
_sums_and_slopes.register_vmap(over_models(_sums_and_slopes))
