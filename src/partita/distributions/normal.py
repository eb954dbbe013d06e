"""Gaussian densities as frozen records of tensors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from partita.distributions._columns import columns

LOG_2PI = math.log(2 * math.pi)
# Log-variances an aggregated posterior is made of. At the lower end sd is 3e-7, and float32 hardly tells draws apart.
NARROWEST, WIDEST = -30.0, 10.0

Block = tuple[int, ...]


@dataclass(frozen=True)
class DiagonalNormal:
    """B densities N(mean, diag exp(log_variance)), one a row; `mean` and `log_variance` are (B, K)."""

    mean: Tensor
    log_variance: Tensor

    @property
    def marginals(self) -> "DiagonalNormal":
        """The product of the single latents' densities: this posterior itself."""
        return self

    @property
    def resolved(self) -> "DiagonalNormal":
        """The same, except that what is narrower than sd 3e-7 counts as that wide: no sum over these overflows."""
        return DiagonalNormal(self.mean, self.log_variance.clamp(min=NARROWEST))

    @property
    def covariance(self) -> Tensor:
        return torch.diag_embed(torch.exp(self.log_variance))

    @property
    def conditional_tc(self) -> Tensor:
        """KL(q(z|n) || prod_k q(z_k|n)) = 0, (B,)."""
        return torch.zeros_like(self.mean[..., 0])

    def sample(self, noise: Tensor) -> Tensor:
        """z = mean + sd * noise: the randomness comes from outside."""
        return self.mean + torch.exp(0.5 * self.log_variance) * noise

    def log_prob_each(self, z: Tensor) -> Tensor:
        """log N(z_k; mean_k, variance_k), coordinate by coordinate."""
        squared = (z - self.mean).square() * torch.exp(-self.log_variance)
        return -0.5 * (squared + self.log_variance + LOG_2PI)

    def log_prob(self, z: Tensor) -> Tensor:
        return self.log_prob_each(z).sum(-1)

    def log_prob_blocks(self, z: Tensor, blocks: Sequence[Block]) -> Tensor:
        """log q(z_S | n) of every row under its own density, (B, blocks)."""
        each = self.log_prob_each(z)
        return torch.stack([columns(each, block).sum(-1) for block in blocks], -1)

    def kl_each(self, other: "DiagonalNormal | None" = None) -> Tensor:
        """KL(self || other) coordinate by coordinate, (B, K); `other` None is the standard normal."""
        if other is None:
            return 0.5 * (self.mean.square() + torch.exp(self.log_variance) - 1 - self.log_variance)
        ratio = torch.exp(self.log_variance - other.log_variance)
        distance = (self.mean - other.mean).square() * torch.exp(-other.log_variance)
        return 0.5 * (distance + ratio - 1 - self.log_variance + other.log_variance)

    def kl_to(self, other: "DiagonalNormal | None" = None) -> Tensor:
        """KL(self || other), (B,); `other` None is the standard normal."""
        return self.kl_each(other).sum(-1)

    def pairwise(self, z: Tensor, blocks: Sequence[Block]) -> Tensor:
        """log q(z_{i,S} | n_j) for every z_i against every density j, (blocks, len(z), B).

        By differences: expanding the square into a matrix product would lose 1e-7 * z^2 / variance nats in float32.
        """
        each = -0.5 * (self.standardised(z).square() + (self.log_variance.mT + LOG_2PI).unsqueeze(-2))
        latents = each.unbind(-3)
        return torch.stack([added_up([latents[k] for k in block]) for block in blocks], -3)

    def standardised(self, z: Tensor) -> Tensor:
        """(z_ik - mean_jk) / sd_jk, (K, len(z), B): latents first, so that sums over them stay whole matrices."""
        mean, scale = self.mean.mT.unsqueeze(-2), torch.exp(-0.5 * self.log_variance).mT.unsqueeze(-2)
        return (z.mT.unsqueeze(-1) - mean) * scale


def added_up(terms: Sequence[Tensor]) -> Tensor:
    return sum(terms[1:], terms[0])


def standard_normal_log_prob_each(z: Tensor) -> Tensor:
    return -0.5 * (z.square() + LOG_2PI)
