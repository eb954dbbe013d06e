"""The density of a mixture of all N posteriors: the exact aggregated posterior."""

import math
from collections.abc import Callable, Sequence
from importlib.util import find_spec

import torch
from torch import Tensor

from partita.kernels import streaming
from partita.kernels.standardise import Standardised, standardise

Block = tuple[int, ...]
LogSums = Callable[..., Tensor]

# Pairs times latents up to which float64 is taken without asking: some 2 minutes on two cores, seconds on a GPU.
AFFORDABLE = {"cpu": 2e11, "cuda": 2e10}
# Error against float64 by differences, in nats, that a form or a precision may have on the probe.
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-9}
PROBE = 64


def log_mixture(
    z: Tensor,
    mean: Tensor,
    log_variance: Tensor,
    blocks: Sequence[Sequence[int]],
    *,
    own: Tensor | None = None,
    dtype: torch.dtype | None = None,
    form: str | None = None,
) -> Tensor:
    """log (1/N) sum_j N(z_{i,S}; mean_j, exp log_variance_j) of n queries for each block S of latents, (n, blocks).

    `z` is (n, K), `mean` and `log_variance` (N, K); the answer is float64, and nothing of size n x N is ever held.
    `own` (n,) names the component each query was drawn from, which makes large blocks fast. `dtype` None takes float64
    where that is affordable and float32 beyond, unless float32 is off by more than 1e-5 nats on 64 of the queries.
    `form` is that of `streaming.log_sums`; None takes the matrix product where it is as good on those queries. A GPU
    with Triton runs float32 in fused kernels. Differentiable; give `dtype` and `form` in a training step, the choice
    costs a second pass over 64 queries.
    """
    chosen = [tuple(sorted(block)) for block in blocks]
    s = standardise(z, mean, log_variance)
    dtype, form, sums = choose(s, chosen, own, dtype, form)
    units = torch.stack([s.log_unit[list(block)].sum() for block in chosen])
    return (sums(s.to(dtype), chosen, own=own, form=form) + units) * math.log(2) - math.log(len(mean))


def choose(
    s: Standardised, blocks: Sequence[Block], own: Tensor | None, dtype: torch.dtype | None, form: str | None
) -> tuple[torch.dtype, str, LogSums]:
    """Precision, form and implementation for these queries and components, by the error on a probe of the queries."""
    affordable = s.z.shape[1] * s.mean.numel() <= AFFORDABLE.get(s.z.device.type, 0.0)
    kind = dtype or (torch.float64 if affordable else torch.float32)
    sums = implementation(s, kind)
    if dtype is not None and form is not None:
        return dtype, form, sums
    if kind == torch.float64 and not streaming.split_blocks(s.to(kind), blocks)[1]:
        return kind, "dense", sums
    rows = torch.linspace(0, s.z.shape[1] - 1, min(PROBE, s.z.shape[1]), device=s.z.device).long()
    probe, probe_own = s.rows(rows), None if own is None else own[rows]
    with torch.no_grad():
        exact = streaming.log_sums(probe.to(torch.float64), blocks, own=probe_own)
        for way in [form] if form is not None else ["matrix", "dense"]:
            error = sums(probe.to(kind), blocks, own=probe_own, form=way).sub_(exact).abs().max().item() * math.log(2)
            if error <= TOLERANCE[kind]:
                return kind, way, sums
    kind = dtype or torch.float64
    return kind, "dense", implementation(s, kind)


def implementation(s: Standardised, dtype: torch.dtype) -> LogSums:
    """The Triton kernels for float32 on a CUDA device where Triton is installed, plain torch everywhere else."""
    if s.z.device.type == "cuda" and dtype == torch.float32 and find_spec("triton") is not None:
        from partita.kernels import triton_lse

        return triton_lse.log_sums
    return streaming.log_sums
