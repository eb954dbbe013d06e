"""log2 of sums over all components, tile by tile: memory O(queries), whatever the number of components.

Plain torch: the oracle of the Triton kernels and their stand-in on every other device.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import torch
from torch import Tensor

from partita.kernels.guard import can_multiply, dense_exponents, floors, mend, own_exponents
from partita.kernels.standardise import Standardised

Block = tuple[int, ...]

LN2 = math.log(2)

# Queries and components of one tile. On a CPU it stays in a core's cache and below the 32,768 elements from which torch
# would share one operation among threads: each thread takes queries of its own instead. On an accelerator it fills it.
CPU_TILE, ACCELERATOR_TILE = (16, 2040), (512, 65536)


def log_sums(s: Standardised, blocks: Sequence[Block], *, own: Tensor | None = None, form: str = "dense") -> Tensor:
    """log2 sum_j 2^u_ij(S), (n, blocks) float64, u_ij(S) the standardised log2 density of block S under component j.

    Arithmetic in the dtype of `s`, partial sums added in float64. Where all of a block's latents are asked for as well,
    its density is the product of theirs: no exponential of its own. Other blocks take their exponents by one matrix
    product (`form="matrix"`) or by differences (`"dense"`), shifted by the exponent of the component the query was
    drawn from (`own`). A sum that leaves the dtype's range is done again with a running maximum in float64.
    Differentiable in z, mean and log_scale.
    """
    distinct = tuple(dict.fromkeys(blocks))
    found = _LogSums.apply(s.z, s.mean, s.log_scale, distinct, own, form)
    return found[:, [distinct.index(block) for block in blocks]]


class _LogSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, mean, log_scale, blocks, own, form):
        logs = _forward(Standardised(z, mean, log_scale).detach(), blocks, own, form)
        ctx.save_for_backward(z, mean, log_scale, logs)
        ctx.blocks = blocks
        return logs

    @staticmethod
    def backward(ctx, gradient):
        z, mean, log_scale, logs = ctx.saved_tensors
        gradients = _backward(Standardised(z, mean, log_scale), ctx.blocks, logs, gradient)
        return *gradients, None, None, None


def _forward(s: Standardised, blocks: Sequence[Block], own: Tensor | None, form: str) -> Tensor:
    multiplied, direct = split_blocks(s, blocks)
    shift = own_exponents(s, direct, own)
    sums = s.z.new_zeros(len(multiplied) + len(direct), s.z.shape[1], dtype=torch.float64)

    def add_up(rows: slice) -> None:
        for components in _slices(s.mean.shape[1], _tile(s)[1]):
            for b, partial in _products(s, rows, components, multiplied):
                sums[b, rows] += partial
            for b, block in enumerate(direct):
                u = _exponents(s, rows, components, block, form) - shift[rows, b].unsqueeze(-1)
                sums[len(multiplied) + b, rows] += u.exp2_().sum(-1)

    _for_each(_slices(s.z.shape[1], _tile(s)[0]), add_up, torch.get_num_threads() if s.z.device.type == "cpu" else 1)
    offset = torch.cat([sums.new_zeros(s.z.shape[1], len(multiplied)), shift.double()], 1)
    logs = sums.log2_().T + offset
    lowest = offset + offset.new_tensor([*floors(s, multiplied), *floors(s, [(0,)] * len(direct))])
    logs = mend(s, [*multiplied, *direct], logs, lowest)
    return logs[:, [[*multiplied, *direct].index(block) for block in blocks]]


def split_blocks(s: Standardised, blocks: Sequence[Block]) -> tuple[list[Block], list[Block]]:
    """Blocks to be summed as products of single latents, and those that need exponents of their own."""
    distinct = list(dict.fromkeys(blocks))
    room = dict(zip(distinct, can_multiply(s, distinct)))
    multiplied = [b for b in distinct if len(b) == 1 or (room[b] and all((k,) in room for k in b))]
    return multiplied, [b for b in distinct if b not in multiplied]


def _for_each(slices: Sequence[slice], work: Callable[[slice], None], threads: int) -> None:
    if min(threads, len(slices)) == 1:
        for one in slices:
            work(one)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, slices))


def _tile(s: Standardised) -> tuple[int, int]:
    if s.z.device.type == "cpu":
        return CPU_TILE
    components = min(s.mean.shape[1], ACCELERATOR_TILE[1])
    return ACCELERATOR_TILE[0] * (ACCELERATOR_TILE[1] // components), components  # few components: more queries


def _slices(length: int, step: int) -> list[slice]:
    return [slice(first, first + step) for first in range(0, length, step)]


def _products(s: Standardised, rows: slice, components: slice, blocks: Sequence[Block]) -> Iterator[tuple[int, Tensor]]:
    """The tile's part of every block's sum; a block's product is dropped as soon as its last latent is in."""
    running: dict[int, Tensor] = {}
    for k in sorted({k for block in blocks for k in block}):
        density = (s.z[k, rows].unsqueeze(-1) - s.mean[k, components]).mul_(torch.exp2(s.log_scale[k, components]))
        density = torch.sub(s.log_scale[k, components], density.square_(), out=density).exp2_()
        for b, block in enumerate(blocks):
            if k in block:
                running[b] = running[b] * density if b in running else density
                if k == block[-1]:
                    yield b, running.pop(b).sum(-1)


def _exponents(s: Standardised, rows: slice, components: slice, block: Block, form: str) -> Tensor:
    if form == "dense":
        return dense_exponents(s.z[:, rows], s, components, block)
    chosen = list(block)
    z, mean, log_scale = s.z[chosen, rows], s.mean[chosen, components], s.log_scale[chosen, components]
    precision = torch.exp2(2 * log_scale)
    constant = (log_scale - mean.square() * precision).sum(0, keepdim=True)
    left = torch.cat([-z.square(), 2 * z, torch.ones_like(z[:1])])
    return left.T @ torch.cat([precision, mean * precision, constant])


def _backward(
    s: Standardised, blocks: Sequence[Block], logs: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients for z, mean and log_scale: every pair's share of its sum, 2^(u - log sum), taken again tile by tile."""
    z_gradient, mean_gradient, scale_gradient = (torch.zeros_like(t) for t in (s.z, s.mean, s.log_scale))
    logs, gradient = logs.to(s.z.dtype), gradient.to(s.z.dtype)
    queries, components_at_once = _tile(s)
    for rows, components in product(_slices(s.z.shape[1], queries), _slices(s.mean.shape[1], components_at_once)):
        share: dict[int, Tensor] = {}
        for b, block in enumerate(blocks):
            u = dense_exponents(s.z[:, rows], s, components, block)
            part = torch.exp2(u - logs[rows, b].unsqueeze(-1)) * gradient[rows, b].unsqueeze(-1)
            for k in block:
                share[k] = share[k] + part if k in share else part
        for k, part in share.items():
            scale = torch.exp2(s.log_scale[k, components])
            distance = (s.z[k, rows].unsqueeze(-1) - s.mean[k, components]) * scale
            pull = 2 * part * distance
            z_gradient[k, rows] -= (pull * scale).sum(-1)
            mean_gradient[k, components] += (pull * scale).sum(0)
            scale_gradient[k, components] += (part - LN2 * pull * distance).sum(0)
    return z_gradient, mean_gradient, scale_gradient
