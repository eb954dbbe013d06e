"""The streaming sums on a CUDA device: which kernel sums which block, how the work is shared out, and the gradients."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from partita.kernels import triton_kernels
from partita.kernels.guard import can_multiply, floors, mend, own_exponents
from partita.kernels.plan import Plan, plan, shares
from partita.kernels.standardise import Standardised

Block = tuple[int, ...]

kernels: Any = triton_kernels  # launched as kernel[grid](...)


class Tile(NamedTuple):
    """What a program takes at once, the warps that share it, and how many tiles of components are fetched ahead."""

    queries: int
    components: int
    warps: int
    stages: int = 1

    @property
    def launch(self) -> dict[str, int]:
        sizes = {"QUERIES": self.queries, "COMPONENTS": self.components}
        return sizes | {"STAGES": self.stages, "num_warps": self.warps}


@dataclass(frozen=True)
class Scaled(Standardised):
    """With `scale`, 2^log_scale, taken once for the sums and their gradients."""

    scale: Tensor

    def centres(self, fused: bool = False) -> tuple[Tensor, Tensor]:
        """What distances are taken by, (K, N) each: the components' means, scaled already if `fused`, and scales."""
        return (self.mean * self.scale if fused else self.mean), self.scale

    def peaks(self, blocks: Sequence[Block]) -> Tensor:
        """log2 density of every component at its centre, (blocks, N)."""
        return torch.stack([_latents(self.log_scale, block).sum(0) for block in blocks])


def _latents(values: Tensor, block: Block) -> Tensor:
    """The rows of these latents, without a copy where they are neighbours."""
    if block == tuple(range(block[0], block[-1] + 1)):
        return values[block[0] : block[-1] + 1]
    return torch.stack([values[k] for k in block])


# Queries of a block of up to this many latents stay in registers.
KEPT = 12
# By the number of latents; a thread holds 16 or 32 pairs: fewer wait for memory, more spill registers.
SMALL_TILES = {1: Tile(64, 32, 2), 2: Tile(16, 32, 1), 3: Tile(32, 32, 4), 4: Tile(32, 32, 4)}
BLOCK_TILE, GRADIENT_TILE, BLOCK_GRADIENT_TILE = Tile(32, 32, 2), Tile(32, 32, 4), Tile(16, 32, 4)
# Components added up in float32 before the tile is summed across.
STRETCH = 32768


def log_sums(s: Standardised, blocks: Sequence[Block], *, own: Tensor | None = None, form: str = "dense") -> Tensor:
    """What `streaming.log_sums` computes, float32, (n, blocks) float64. `form="matrix"` takes distances by one
    multiply-add, `"dense"` by a difference first.
    """
    distinct = tuple(dict.fromkeys(blocks))
    found = _LogSums.apply(s.z, s.mean, s.log_scale, distinct, own, form == "matrix")
    return found[:, [distinct.index(block) for block in blocks]]


class _LogSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, mean, log_scale, blocks, own, fused):
        z, mean, log_scale = z.detach(), mean.detach(), log_scale.detach()
        s = Scaled(z, mean, log_scale, torch.exp2(log_scale))
        chosen = plan(blocks, can_multiply(s, blocks))
        logs = _forward(s, chosen, own, fused)
        found = torch.stack([logs[block] for block in blocks], 1)
        ctx.save_for_backward(z, mean, log_scale, s.scale, found)
        ctx.blocks, ctx.plan = blocks, chosen
        return found

    @staticmethod
    def backward(ctx, gradient):
        *parts, found = ctx.saved_tensors
        s = Scaled(*parts)
        logs = dict(zip(ctx.blocks, found.float().unbind(1)))
        weights = dict(zip(ctx.blocks, gradient.float().unbind(1)))
        z_gradient, mean_gradient, scale_gradient = None, None, None
        if ctx.needs_input_grad[0]:
            z_gradient = torch.zeros_like(s.z)
            for same in ctx.plan.small.values():
                _add_small_gradients(s, same, logs, weights, z_gradient)
            for same in ctx.plan.direct.values():
                _add_query_gradients(s, same, logs, weights, z_gradient)
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            mean_gradient, scale_gradient = torch.zeros_like(s.mean), torch.zeros_like(s.log_scale)
            for length in sorted({len(block) for block in ctx.blocks}):
                same = [block for block in ctx.blocks if len(block) == length]
                _add_component_gradients(s, same, logs, weights, mean_gradient, scale_gradient)
        return z_gradient, mean_gradient, scale_gradient, None, None, None


def _forward(s: Scaled, chosen: Plan, own: Tensor | None, fused: bool) -> dict[Block, Tensor]:
    logs: dict[Block, Tensor] = {}
    for same in chosen.small.values():
        logs |= _small_blocks(s, same, fused)
    small = list(logs)
    lowest = [logs[block].new_tensor(floor) for block, floor in zip(small, floors(s, small))]
    for same in chosen.direct.values():
        shift = own_exponents(s, same, own)
        logs |= _direct_blocks(s, same, shift, fused)
        lowest += (shift.double() + floors(s, [(0,)])[0]).unbind(1)
    found = torch.stack(list(logs.values()), 1)
    trusted = torch.stack([one.expand(len(found)) for one in lowest], 1)
    return dict(zip(logs, mend(s, list(logs), found, trusted).unbind(1)))


def _small_blocks(s: Scaled, blocks: list[Block], fused: bool) -> dict[Block, Tensor]:
    n, size, length = s.z.shape[1], s.mean.shape[1], len(blocks[0])
    tile = SMALL_TILES[length]
    rows = -(-n // tile.queries)
    splits, share = shares(size, rows * len(blocks), tile.components)
    each = s.z.new_empty(splits, len(blocks), length, n)
    whole = s.z.new_empty(splits, len(blocks), n)
    kernels.small_block_sums[(rows, len(blocks), splits)](
        s.z, *s.centres(fused), s.log_scale, _table(tuple(blocks), s.z.device), each, whole, n, size, share, STRETCH,
        H=length, FUSED=fused, **tile.launch,
    )  # fmt: skip
    singles = each.sum(0, dtype=torch.float64).log2().flatten(0, 1).unbind(0)
    logs = dict(zip([(k,) for block in blocks for k in block], singles))
    return logs | dict(zip(blocks, whole.sum(0, dtype=torch.float64).log2().unbind(0))) if length > 1 else logs


def _direct_blocks(s: Scaled, blocks: list[Block], shift: Tensor, fused: bool) -> dict[Block, Tensor]:
    n, size, length = s.z.shape[1], s.mean.shape[1], len(blocks[0])
    tile = BLOCK_TILE
    rows = -(-n // tile.queries)
    splits, share = shares(size, rows * len(blocks), tile.components)
    out, table = s.z.new_empty(splits, len(blocks), n), _table(tuple(blocks), s.z.device)
    kernels.block_sums[(rows, len(blocks), splits)](
        s.z, *s.centres(fused), s.peaks(blocks), table, shift.T.contiguous(), out, n, size, share, STRETCH,
        H=length, KEPT=length <= KEPT, FUSED=fused, **tile.launch,
    )  # fmt: skip
    logs = out.sum(0, dtype=torch.float64).log2() + shift.T
    return dict(zip(blocks, logs.unbind(0)))


def _add_small_gradients(
    s: Scaled, blocks: list[Block], logs: dict[Block, Tensor], weights: dict[Block, Tensor], into: Tensor
) -> None:
    n, size, length, table = s.z.shape[1], s.mean.shape[1], len(blocks[0]), _table(tuple(blocks), s.z.device)
    tile = GRADIENT_TILE
    rows = -(-n // tile.queries)
    splits, share = shares(size, rows * len(blocks), tile.components)
    singles = [(k,) for block in blocks for k in block]
    each, whole = ([torch.stack([of[b] for b in chosen]) for of in (logs, weights)] for chosen in (singles, blocks))
    out = s.z.new_empty(splits, len(singles), n)
    kernels.small_block_gradients[(rows, len(blocks), splits)](
        s.z, *s.centres(), s.log_scale, table, *each, *whole, out, n, size, share,
        H=length, **tile.launch,
    )  # fmt: skip
    into.index_add_(0, table.flatten(), out.sum(0))


def _add_query_gradients(
    s: Scaled, blocks: list[Block], logs: dict[Block, Tensor], weights: dict[Block, Tensor], into: Tensor
) -> None:
    n, size, length, table = s.z.shape[1], s.mean.shape[1], len(blocks[0]), _table(tuple(blocks), s.z.device)
    fits = length <= KEPT
    tile = BLOCK_GRADIENT_TILE if fits else GRADIENT_TILE
    rows, programs = -(-n // tile.queries), len(blocks) * (1 if fits else length)
    splits, share = shares(size, rows * programs, tile.components)
    out = s.z.new_empty(splits, len(blocks) * length, n)
    kernel = kernels.query_gradients if fits else kernels.query_gradients_one_by_one
    kernel[(rows, programs, splits)](
        s.z, *s.centres(), s.peaks(blocks), table,
        *(torch.stack([of[b] for b in blocks]) for of in (logs, weights)), out, n, size, share,
        H=length, **tile.launch,
    )  # fmt: skip
    into.index_add_(0, table.flatten(), out.sum(0))


def _add_component_gradients(
    s: Scaled,
    blocks: list[Block],
    logs: dict[Block, Tensor],
    weights: dict[Block, Tensor],
    into_mean: Tensor,
    into_scale: Tensor,
) -> None:
    n, size, length, table = s.z.shape[1], s.mean.shape[1], len(blocks[0]), _table(tuple(blocks), s.z.device)
    tile = GRADIENT_TILE
    rows, programs = -(-size // tile.components), len(blocks) * length
    splits, share = shares(n, rows * programs, tile.queries)
    out = s.z.new_empty(2, splits, programs, size)
    kernels.component_gradients[(rows, programs, splits)](
        s.z, *s.centres(), s.peaks(blocks), table, *(torch.stack([of[b] for b in blocks]) for of in (logs, weights)),
        out[0], out[1], n, size, share, H=length, **tile.launch,
    )  # fmt: skip
    for into, found in ((into_mean, out[0]), (into_scale, out[1])):
        into.index_add_(0, table.flatten(), found.sum(0))


@cache
@torch.inference_mode(False)
def _table(blocks: tuple[Block, ...], device: torch.device) -> Tensor:
    """The latents of blocks of one size, on the device; kept, since copying them there waits for the device."""
    return torch.tensor(blocks, dtype=torch.int32, device=device)
