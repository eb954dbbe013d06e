"""A Gaussian posterior whose noise is equally correlated between all latents."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from partita.distributions.columns import columns
from partita.distributions.normal import LOG_2PI, NARROWEST, Block, DiagonalNormal, by_block, widened


@dataclass(frozen=True)
class EquicorrelatedNormal:
    """B densities N(mean, diag(sd) R diag(sd)), R = (1 - rho) I + rho 1 1^T, 0 <= rho < 1 (spec 003, eqs. 11-12).

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
        d = (z - self.mean) * torch.exp(-0.5 * self.log_variance)
        return torch.stack([self._block_log_prob(d, self.log_variance, block) for block in blocks], -1)

    def kl_each(self, other: DiagonalNormal | None = None) -> Tensor:
        """KL of each latent's marginal, (B, K); their sum lacks `conditional_tc`."""
        return self.marginals.kl_each(other)

    def kl_to(self, other: DiagonalNormal | None = None) -> Tensor:
        """KL(self || other), (B,); `other` None is the standard normal. The constant -1/2 log det R is in it."""
        return self.kl_each(other).sum(-1) + self.conditional_tc

    def pairwise(self, z: Tensor, block: Block, *, form: str = "dense") -> Tensor:
        """log q(z_{i,S} | n_j) for every z_i against every density j, (len(z), B), by differences."""
        d = (z.unsqueeze(-2) - self.mean) * torch.exp(-0.5 * self.log_variance)
        return self._block_log_prob(d, self.log_variance, block)

    def ratios(self, z: Tensor, blocks: Sequence[Block]) -> tuple[Tensor, Tensor]:
        """As `DiagonalNormal.ratios`, with the densities of whole blocks: two matrix products, the weighted sum of
        squares and the sum of the standardised differences, whose square the correlation takes off again."""
        size = len(blocks[0])
        if self.rho == 0 or size == 1:
            return self.marginals.ratios(z, blocks)
        log_variance = self.log_variance.clamp(min=NARROWEST)
        centre = self.mean.mean(-2, keepdim=True)
        mean, points = by_block(self.mean - centre, blocks), by_block(z - centre, blocks)
        wide = by_block(log_variance, blocks)
        scale = torch.exp(-0.5 * wide)
        whole = tuple(range(size))
        own = self._block_log_prob((points - mean) * scale, wide, whole)
        ones = torch.ones_like(own).unsqueeze(-1)
        precision = scale.square() / (1 - self.rho)
        offset = self._block_log_prob(torch.zeros_like(mean), wide, whole) - 0.5 * (mean.square() * precision).sum(-1)
        left = torch.cat([-0.5 * points.square(), points, ones, -own.unsqueeze(-1)], -1)
        right = torch.cat([precision, mean * precision, offset.unsqueeze(-1), ones], -1)
        total = torch.cat([points, -ones], -1) @ torch.cat([scale, (mean * scale).sum(-1, keepdim=True)], -1).transpose(
            -1, -2
        )
        return own, widened(left) @ widened(right).transpose(-1, -2) + 0.5 * _shared_precision(
            self.rho, size
        ) * total.square()

    def _block_log_prob(self, d: Tensor, log_variance: Tensor, block: Block) -> Tensor:
        """From standardised differences d of all latents, the log-density of a block."""
        d, size = columns(d, block), len(block)
        squares = d.square().sum(-1) / (1 - self.rho) - _shared_precision(self.rho, size) * d.sum(-1).square()
        constant = _log_determinant(self.rho, size) + size * LOG_2PI
        return -0.5 * (squares + columns(log_variance, block).sum(-1) + constant)


def _log_determinant(rho: float, size: int) -> float:
    return (size - 1) * math.log1p(-rho) + math.log1p((size - 1) * rho)


def _shared_precision(rho: float, size: int) -> float:
    """What R^-1 takes off every entry of I / (1 - rho)."""
    return rho / ((1 - rho) * (1 + (size - 1) * rho))
