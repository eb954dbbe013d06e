"""TC and PC as a log density ratio, learned by telling samples of q(z) from permuted ones."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

from partita.distributions import Groups
from partita.distributions._columns import columns
from partita.trace import Trace


@dataclass(frozen=True)
class DensityRatio:
    """tc = E_{q(z)}[log D(z) / (1 - D(z))] (Kim and Mnih 2018; RTC-VAE eq. 6, which lacks the logarithm), or pc where
    D learns from whole groups permuted.

    Exact for the best D. A D that lags behind errs either way, mostly towards 0: this is no bound.
    """

    groups: Groups

    @property
    def quantity(self) -> str:
        return "tc" if all(len(group) == 1 for group in self.groups) else "pc"

    def __call__(self, trace: Trace) -> dict[str, Tensor]:
        return {self.quantity: trace.networks["discriminator"](trace.z).mean()}


@dataclass(frozen=True)
class Discrimination:
    """cross_entropy = -1/2 E[log D(z)] - 1/2 E[log(1 - D(permuted z))], log 2 when D cannot tell them apart.

    One half of the batch is the joint sample; the other half, each group permuted over the rows on its own, the
    sample of prod_g q(z_g). The noise `permutation` has a column a group.
    """

    groups: Groups

    def __call__(self, trace: Trace) -> dict[str, Tensor]:
        half = len(trace.z) // 2
        if half == 0:
            raise ValueError(f"a density ratio needs a batch of at least 2 rows, got {len(trace.z)}")
        second = slice(half, 2 * half)
        permuted = permute_groups(trace.z[second], trace.noise["permutation"][second], self.groups)
        log_ratio = trace.networks["discriminator"](torch.cat([trace.z[:half], permuted]))
        joint, product = log_ratio[:half], log_ratio[half:]
        return {"cross_entropy": 0.5 * (softplus(-joint) + softplus(product)).mean()}


def permute_groups(z: Tensor, noise: Tensor, groups: Groups) -> Tensor:
    """z (M, K) with the rows of every group in an order of its own, the order of its column of noise (M, groups)."""
    home = {k: g for g, group in enumerate(groups) for k in group}
    return z.gather(0, columns(noise.argsort(0), [home[k] for k in range(z.shape[-1])]))
