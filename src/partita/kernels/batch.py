"""The aggregated posterior of a minibatch of diagonal Gaussians as an operation of torch: kernels/batch.c on a CPU,
`triton_batch` on a GPU.

It differentiates, runs under `vmap` and inside `torch.compile`.
"""

import ctypes
from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor

from partita.distributions import Posterior
from partita.kernels.build import address, library, whole_numbers
from partita.kernels.dispatch import TORCH, implementation

Block = tuple[int, ...]


def batch_log_sums(q: Posterior, z: Tensor, blocks: Sequence[Block], log_weights: Tensor) -> tuple[Tensor, ...]:
    """logsumexp_j [log w_ij + log q(z_{i,S} | n_j)], (M,) for each block: of diagonal posteriors in one pass of a
    kernel where there is one, else by plain torch. Both take differences: neither cancels, both agree to rounding."""
    if q.marginals is q and implementation("batch", z.device.type, z.dtype) != TORCH:
        return by_kernel(z, q.mean, q.log_variance, log_weights.exp(), blocks).unbind(-2)
    return torch.logsumexp(q.pairwise(z, blocks) + log_weights, -1).unbind(-2)


def by_kernel(z: Tensor, mean: Tensor, log_variance: Tensor, weights: Tensor, blocks: Sequence[Block]) -> Tensor:
    """log sum_j weights_ij prod_{k in S} N(z_ik; mean_jk, exp(log_variance_jk)), (..., blocks, M).

    z, mean and log_variance are (..., M, K), weights (M, M) without a gradient.
    """
    members = [k for block in blocks for k in block]
    return _log_sums(z, mean, log_variance, weights, members, [len(block) for block in blocks])


@torch.library.custom_op("partita::batch_log_sums", mutates_args=(), device_types="cpu")
def _log_sums(
    z: Tensor, mean: Tensor, log_variance: Tensor, weights: Tensor, members: list[int], lengths: list[int]
) -> Tensor:
    z, mean, log_variance, weights = (t.contiguous() for t in (z, mean, log_variance, weights))
    log_q = z.new_empty(*z.shape[:-2], len(lengths), z.shape[-2])
    _call("forward", [z, mean, log_variance, weights], members, lengths, z, [log_q])
    return log_q


@torch.library.custom_op("partita::batch_log_sums_backward", mutates_args=(), device_types="cpu")
def _gradients(
    grad: Tensor,
    log_q: Tensor,
    z: Tensor,
    mean: Tensor,
    log_variance: Tensor,
    weights: Tensor,
    members: list[int],
    lengths: list[int],
) -> tuple[Tensor, Tensor, Tensor]:
    inputs = [t.contiguous() for t in (grad, log_q, z, mean, log_variance, weights)]
    found = [torch.empty_like(t) for t in inputs[2:5]]
    _call("backward", inputs, members, lengths, z, found)
    return found[0], found[1], found[2]


@_log_sums.register_kernel("cuda")
def _(z, mean, log_variance, weights, members, lengths):
    from partita.kernels.triton_batch import log_sums

    inputs = [t.contiguous() for t in (z, mean, log_variance, weights)]
    return log_sums(*inputs, blocks=_blocks(members, lengths))


@_gradients.register_kernel("cuda")
def _(grad, log_q, z, mean, log_variance, weights, members, lengths):
    from partita.kernels.triton_batch import gradients

    inputs = [t.contiguous() for t in (grad, log_q, z, mean, log_variance, weights)]
    return gradients(*inputs, blocks=_blocks(members, lengths))


def _blocks(members: list[int], lengths: list[int]) -> list[list[int]]:
    ends = list(accumulate(lengths))
    return [members[end - length : end] for end, length in zip(ends, lengths)]


def _call(
    name: str, inputs: list[Tensor], members: list[int], lengths: list[int], z: Tensor, outputs: list[Tensor]
) -> None:
    starts = [sum(lengths[:b]) for b in range(len(lengths) + 1)]
    size, latents = z.shape[-2:]
    sizes = [z.numel() // (size * latents), size, latents, len(lengths)]
    arguments = [address(t) for t in inputs] + [_integers(members), _integers(starts)]
    made = library("batch")
    assert made is not None
    if made[name](*arguments, *whole_numbers(*sizes), *map(address, outputs)):
        raise MemoryError("no memory for the aggregated posterior of a batch")


def _integers(values: Sequence[int]) -> ctypes.Array:
    return (ctypes.c_int64 * len(values))(*values)


@_log_sums.register_fake
def _(z, mean, log_variance, weights, members, lengths):
    return z.new_empty(*z.shape[:-2], len(lengths), z.shape[-2])


@_gradients.register_fake
def _(grad, log_q, z, mean, log_variance, weights, members, lengths):
    return torch.empty_like(z), torch.empty_like(mean), torch.empty_like(log_variance)


def _remember(ctx, inputs, output) -> None:
    *tensors, members, lengths = inputs
    ctx.save_for_backward(output, *tensors)
    ctx.blocks = members, lengths


def _differentiate(ctx, grad: Tensor):
    return *_gradients(grad, *ctx.saved_tensors, *ctx.blocks), None, None, None


_log_sums.register_autograd(_differentiate, setup_context=_remember)


@_log_sums.register_vmap
def _(info, in_dims, z, mean, log_variance, weights, members, lengths):
    if in_dims[3] is not None:  # the weights follow from the sizes of batch and data, which models of an ensemble share
        raise ValueError("the models of an ensemble share one matrix of weights")
    lined_up = [
        t.expand(info.batch_size, *t.shape) if d is None else t.movedim(d, 0)
        for t, d in zip((z, mean, log_variance), in_dims)
    ]
    return _log_sums(*lined_up, weights, members, lengths), 0
