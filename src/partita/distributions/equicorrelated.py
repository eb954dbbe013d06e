"""A Gaussian posterior whose noise is equally correlated between all latents."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from partita.distributions.normal import LOG_2PI, NARROWEST, Block, DiagonalNormal, added_up


@dataclass(frozen=True)
class EquicorrelatedNormal:
    """B densities N(mean, diag(sd) R diag(sd)), R = (1 - rho) I + rho 1 1^T, 0 <= rho < 1 (docs/glossary.md).

    A block of H latents is again equicorrelated: its R has inverse (I - rho / (1 + (H-1) rho) 1 1^T) / (1 - rho) and
    determinant (1 - rho)^(H-1) (1 + (H-1) rho). Single latents do not know of rho.
    """

    mean: Tensor
    log_variance: Tensor
    rho: float

    @property
    def marginals(self) -> DiagonalNormal:
        """The product of the single latents' densities: the posterior with rho = 0."""
        return DiagonalNormal(self.mean, self.log_variance)

    @property
    def resolved(self) -> "EquicorrelatedNormal":
        """As `DiagonalNormal.resolved`."""
        return EquicorrelatedNormal(self.mean, self.log_variance.clamp(min=NARROWEST), self.rho)

    @property
    def covariance(self) -> Tensor:
        sd = torch.exp(0.5 * self.log_variance)
        same = torch.eye(sd.shape[-1], device=sd.device, dtype=sd.dtype)
        return sd.unsqueeze(-1) * sd.unsqueeze(-2) * (self.rho + (1 - self.rho) * same)

    @property
    def conditional_tc(self) -> Tensor:
        """KL(q(z|n) || prod_k q(z_k|n)) = -1/2 log det R, the same for every data point, (B,)."""
        return torch.full_like(self.mean[..., 0], -0.5 * _log_determinant(self.rho, self.mean.shape[-1]))

    def sample(self, noise: Tensor) -> Tensor:
        """z = mean + sd * R^(1/2) noise, with the symmetric root; rho = 0 leaves the noise as it is."""
        latents = noise.shape[-1]
        own = math.sqrt(1 - self.rho)
        shared = (math.sqrt(1 + (latents - 1) * self.rho) - own) / latents
        return self.marginals.sample(own * noise + shared * noise.sum(-1, keepdim=True))

    def log_prob_each(self, z: Tensor) -> Tensor:
        """log q(z_k | n), one latent at a time; their sum is not log q(z | n)."""
        return self.marginals.log_prob_each(z)

    def log_prob(self, z: Tensor) -> Tensor:
        return self.log_prob_blocks(z, [tuple(range(z.shape[-1]))])[..., 0]

    def log_prob_blocks(self, z: Tensor, blocks: Sequence[Block]) -> Tensor:
        """log q(z_S | n) of every row under its own density, (B, blocks)."""
        distances = ((z - self.mean) * torch.exp(-0.5 * self.log_variance)).unbind(-1)
        widths = self.log_variance.unbind(-1)
        return torch.stack([self._log_density(distances, widths, block) for block in blocks], -1)

    def kl_each(self, other: DiagonalNormal | None = None) -> Tensor:
        """KL of each latent's marginal, (B, K); their sum lacks `conditional_tc`."""
        return self.marginals.kl_each(other)

    def kl_to(self, other: DiagonalNormal | None = None) -> Tensor:
        """KL(self || other), (B,); `other` None is the standard normal. The constant -1/2 log det R is in it."""
        return self.kl_each(other).sum(-1) + self.conditional_tc

    def pairwise(self, z: Tensor, blocks: Sequence[Block]) -> Tensor:
        """log q(z_{i,S} | n_j) for every z_i against every density j, (blocks, len(z), B), by differences."""
        distances = self.marginals.standardised(z).unbind(-3)
        widths = self.log_variance.mT.unsqueeze(-2).unbind(-3)
        return torch.stack([self._log_density(distances, widths, block) for block in blocks], -3)

    def _log_density(self, distances: Sequence[Tensor], widths: Sequence[Tensor], block: Block) -> Tensor:
        """From standardised differences and log-variances, latent by latent, the log-density of a block.

        d^T R^-1 d = sum_k (d_k - m)^2 / (1 - rho) + H m^2 / (1 + (H-1) rho), m the mean of d: what R^-1 takes off the
        plain sum of squares is never computed, since it would cancel.
        """
        d, size = [distances[k] for k in block], len(block)
        mean = added_up(d) / size
        squares = size / (1 + (size - 1) * self.rho) * mean.square()
        if size > 1:
            squares = squares + added_up([(one - mean).square() for one in d]) / (1 - self.rho)
        constant = _log_determinant(self.rho, size) + size * LOG_2PI
        return -0.5 * (squares + added_up([widths[k] for k in block]) + constant)


def _log_determinant(rho: float, size: int) -> float:
    return (size - 1) * math.log1p(-rho) + math.log1p((size - 1) * rho)
