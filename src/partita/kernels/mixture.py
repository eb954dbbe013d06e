"""The density of a mixture of all N posteriors: the exact aggregated posterior."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from partita.kernels import dispatch, streaming
from partita.kernels.standardise import Standardised, Units, units_of

Block = tuple[int, ...]
LogSums = Callable[..., Tensor]

# Pairs times latents up to which float64 is taken without asking: some 8 minutes on two cores, seconds on a GPU.
AFFORDABLE = {"cpu": 2e11, "cuda": 2e10}
# Error against float64 by differences, in nats, that a form or a precision may have on the probe: half of what is
# promised for all queries.
TOLERANCE = {torch.float32: 5e-6, torch.float64: 1e-9}
PROBE = 64
# Pairs whose sum, on an accelerator, is done before a probe could say how to do it faster.
QUICK_PAIRS = 1 << 24


@dataclass(frozen=True)
class Mixture:
    """N diagonal Gaussians, equally likely, made ready for sums over all of them."""

    mean: Tensor
    log_scale: Tensor
    units: Units

    @staticmethod
    def of(mean: Tensor, log_variance: Tensor) -> "Mixture":
        """From (N, K) parameters; differentiable in them."""
        units = units_of(mean, log_variance)
        return Mixture(*units.components(mean, log_variance), units)

    def log_density(
        self,
        z: Tensor,
        blocks: Sequence[Sequence[int]],
        *,
        own: Tensor | None = None,
        dtype: torch.dtype | None = None,
        form: str | None = None,
    ) -> Tensor:
        """log (1/N) sum_j N(z_{i,S}; mean_j, variance_j) of n queries for each block S of latents, (n, blocks) float64.

        Nothing of size n x N is ever held. `own` (n,) names the component each query was drawn from, which makes large
        blocks fast. `dtype` None takes float64 where that is affordable and float32 beyond, unless float32 is off by
        more than 5e-6 nats on 64 of the queries. `form` is that of `streaming.log_sums`; None takes the matrix product
        where it is as good on those queries. A GPU with Triton runs float32 in fused kernels. Queries that are no draws
        lie deep, and float32 has its digits relative to the log: some 1e-6 nats for each bit. Differentiable.
        """
        chosen = [tuple(sorted(block)) for block in blocks]
        s = Standardised(self.units.queries(z), self.mean, self.log_scale)
        dtype, form, sums = choose(s, chosen, own, dtype, form)
        units = self.units.log_density @ membership(tuple(chosen), len(self.mean), z.device)
        logs = sums(s.to(dtype), chosen, own=own, form=form)
        return (logs + units) * math.log(2) - math.log(self.mean.shape[1])


def log_mixture(z: Tensor, mean: Tensor, log_variance: Tensor, blocks: Sequence[Sequence[int]], **how) -> Tensor:
    """`Mixture.log_density` of queries (n, K) under components (N, K)."""
    return Mixture.of(mean, log_variance).log_density(z, blocks, **how)


def choose(
    s: Standardised, blocks: Sequence[Block], own: Tensor | None, dtype: torch.dtype | None, form: str | None
) -> tuple[torch.dtype, str, LogSums]:
    """Precision, form and implementation for these queries and components, by the error on a probe of the queries."""
    affordable = s.z.shape[1] * s.mean.numel() <= AFFORDABLE.get(s.z.device.type, 0.0)
    kind = dtype or (torch.float64 if affordable else torch.float32)
    sums = implementation(s, kind)
    if dtype is not None and form is not None:
        return dtype, form, sums
    quick = form is None and s.z.device.type != "cpu" and s.z.shape[1] * s.mean.shape[1] <= QUICK_PAIRS
    if kind == torch.float64 and (quick or not streaming.split_blocks(s.to(kind), blocks)[1]):
        return kind, "dense", sums
    count = s.z.shape[1]
    rows = torch.linspace(0, count - 1, min(PROBE, count), device=s.z.device, dtype=torch.float32).long()
    probe, probe_own = s.rows(rows), None if own is None else own[rows]
    with torch.no_grad():
        exact = streaming.log_sums(probe.to(torch.float64), blocks, own=probe_own)
        for way in [form] if form is not None else ["matrix", "dense"]:
            found = sums(probe.to(kind), blocks, own=probe_own, form=way)
            if (found - exact).abs().max().item() * math.log(2) <= TOLERANCE[kind]:
                return kind, way, sums
    kind = dtype or torch.float64
    return kind, "dense", implementation(s, kind)


def implementation(s: Standardised, dtype: torch.dtype) -> LogSums:
    """The Triton kernels for float32 on a CUDA device where Triton is installed, plain torch everywhere else."""
    if dispatch.implementation("mixture", s.z.device.type, dtype) == dispatch.TRITON:
        from partita.kernels import triton_lse

        return triton_lse.log_sums
    return streaming.log_sums


@cache
@torch.inference_mode(False)
def membership(
    blocks: tuple[Block, ...], latents: int, device: torch.device, dtype: torch.dtype = torch.float64
) -> Tensor:
    """1 where a latent is in a block, (K, blocks); kept, since copying it to a device waits, and cannot be captured."""
    rows = [[float(k in block) for block in blocks] for k in range(latents)]
    return torch.tensor(rows, dtype=dtype, device=device)
