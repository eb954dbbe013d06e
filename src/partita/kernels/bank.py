"""log sum_j q(z_S | n_j) over the posteriors of a bank, with its slope in z, as an operation of torch.

A penalty against a bank has few queries, many components, and no gradient for the components: sums and slopes are taken
in one pass over them, and the backward pass costs nothing. E models at once: E comes from `vmap`. In Triton for float32
on a CUDA device, in plain torch, a piece of the bank at a time, everywhere else.
"""

import math
from collections.abc import Callable, Sequence
from itertools import accumulate

import torch
from torch import Tensor

from partita.kernels.dispatch import TRITON, implementation
from partita.kernels.mixture import membership
from partita.kernels.models import over_models
from partita.kernels.standardise import LOG2_LENGTH, LOG2E

Block = tuple[int, ...]

# log2 of what a density in units of 2^log_scale is multiplied by, for each latent.
LOG2_DENSITY = -LOG2_LENGTH - 0.5 * math.log2(2 * math.pi)
# Pairs of a query and a component that plain torch holds at once.
PAIRS_AT_ONCE = {"cpu": 1 << 16, "cuda": 1 << 24}


def bank_log_sums(z: Tensor, own: Tensor, bank: Tensor, blocks: Sequence[Block]) -> Tensor:
    """log sum_j prod_{k in S} N(z_ik; mean_jk, exp(log_variance_jk)), (M, blocks), for z (M, K) and bank (2K, B).

    The bank has means, then log-variances, +inf where nothing is known, which adds nothing. `own` (M, K) has the log
    density of every z_ik under the posterior it was drawn from: next to those no other's is large. Gradients go to z.
    """
    members = [k for block in blocks for k in block]
    logs, _ = _sums_and_slopes(z[None], own[None].detach(), bank[None], members, [len(block) for block in blocks])
    return logs[0].mT


@torch.library.custom_op("partita::bank_log_sums", mutates_args=())
def _sums_and_slopes(
    z: Tensor, own: Tensor, bank: Tensor, members: list[int], lengths: list[int]
) -> tuple[Tensor, Tensor]:
    """Logs (E, blocks, M), and their slopes in every latent, (E, blocks, K, M)."""
    blocks, latents = _blocks(members, lengths), z.shape[-1]
    inside = membership(blocks, latents, z.device, z.dtype)
    own = (own @ inside).mT
    # in units of the components' scales, and to base 2
    shift = own / math.log(2) - LOG2_DENSITY * inside.sum(0).unsqueeze(-1)
    mean, log_variance = bank.split(latents, 1)
    # one pass over the bank
    log_scale = torch.add(torch.tensor(LOG2_LENGTH, dtype=z.dtype), log_variance, alpha=-0.5 * LOG2E)
    sums, pulls = _implementation(z)(z, shift, mean, log_scale, blocks)
    logs = sums.log() + own
    slopes = -2 * math.log(2) * pulls / sums.clamp(min=torch.finfo(z.dtype).tiny).unsqueeze(2)
    return logs.to(z.dtype), slopes.to(z.dtype)


def _implementation(z: Tensor) -> Callable[..., tuple[Tensor, Tensor]]:
    if implementation("bank", z.device.type, z.dtype) == TRITON:
        from partita.kernels.triton_bank import sums_and_pulls

        return sums_and_pulls
    return _in_pieces


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


def _blocks(members: list[int], lengths: list[int]) -> tuple[Block, ...]:
    return tuple(tuple(members[end - length : end]) for end, length in zip(accumulate(lengths), lengths))


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
