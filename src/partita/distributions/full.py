"""A Gaussian posterior with a covariance of its own for every data point."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from partita.distributions._columns import columns
from partita.distributions.normal import LOG_2PI, NARROWEST, Block, DiagonalNormal


@dataclass(frozen=True)
class FullNormal:
    """B densities N(mean, L L^T) with L = diag(exp(log_scale / 2)) (I + lower), `lower` strictly lower triangular.

    mean and log_scale are (B, K), lower (B, K, K); log det L L^T is the sum of log_scale. The marginal of a block has
    the block's rows and columns of L L^T.
    """

    mean: Tensor
    log_scale: Tensor
    lower: Tensor

    @property
    def factor(self) -> Tensor:
        """L, the Cholesky factor of the covariance, (B, K, K)."""
        return torch.exp(0.5 * self.log_scale).unsqueeze(-1) * (self.lower + _identity(self.lower))

    @property
    def resolved(self) -> "FullNormal":
        """As `DiagonalNormal.resolved`, of each latent given those before it."""
        return FullNormal(self.mean, self.log_scale.clamp(min=NARROWEST), self.lower)

    @property
    def covariance(self) -> Tensor:
        return self.factor @ self.factor.transpose(-1, -2)

    @property
    def log_variance(self) -> Tensor:
        """Of the single latents, (B, K)."""
        return self.log_scale + torch.log1p(self.lower.square().sum(-1))

    @property
    def marginals(self) -> DiagonalNormal:
        """The product of the single latents' densities."""
        return DiagonalNormal(self.mean, self.log_variance)

    @property
    def conditional_tc(self) -> Tensor:
        """KL(q(z|n) || prod_k q(z_k|n)), (B,): half the log of the product of variances over the determinant."""
        return 0.5 * (self.log_variance - self.log_scale).sum(-1)

    def sample(self, noise: Tensor) -> Tensor:
        """z = mean + L noise."""
        mixed = noise + (self.lower @ noise.unsqueeze(-1)).squeeze(-1)
        return self.mean + torch.exp(0.5 * self.log_scale) * mixed

    def log_prob_each(self, z: Tensor) -> Tensor:
        """log q(z_k | n), one latent at a time; their sum is not log q(z | n)."""
        return self.marginals.log_prob_each(z)

    def log_prob(self, z: Tensor) -> Tensor:
        return self.log_prob_blocks(z, [tuple(range(z.shape[-1]))])[..., 0]

    def log_prob_blocks(self, z: Tensor, blocks: Sequence[Block]) -> Tensor:
        """log q(z_S | n) of every row under its own density, (B, blocks)."""
        return torch.stack([self._own(z, [block])[0] for block in blocks], -1)

    def kl_each(self, other: DiagonalNormal | None = None) -> Tensor:
        """KL of each latent's marginal, (B, K); their sum lacks `conditional_tc`."""
        return self.marginals.kl_each(other)

    def kl_to(self, other: DiagonalNormal | None = None) -> Tensor:
        """KL(self || other), (B,); `other` None is the standard normal."""
        return self.kl_each(other).sum(-1) + self.conditional_tc

    def pairwise(self, z: Tensor, blocks: Sequence[Block]) -> Tensor:
        """log q(z_{i,S} | n_j) for every z_i against every density j, (blocks, len(z), B), by differences."""
        found: dict[Block, Tensor] = {}
        for length in sorted({len(block) for block in blocks}):
            alike = [block for block in blocks if len(block) == length]
            found.update(zip(alike, self._against(z, alike).unbind(-3)))
        return torch.stack([found[block] for block in blocks], -3)

    def _against(self, z: Tensor, blocks: Sequence[Block]) -> Tensor:
        """Blocks of one size."""
        if len(blocks[0]) == 1:
            return self.marginals.pairwise(z, blocks)
        whitener, log_determinant = self._whiteners(blocks)
        d = _by_block(z, blocks).unsqueeze(-3) - _by_block(self.mean, blocks).unsqueeze(-2)
        return _log_prob(d @ whitener.mT, log_determinant.unsqueeze(-1)).mT

    def _own(self, z: Tensor, blocks: Sequence[Block]) -> Tensor:
        whitener, log_determinant = self._whiteners(blocks)
        d = _by_block(z - self.mean, blocks).unsqueeze(-1)
        return _log_prob((whitener @ d).squeeze(-1), log_determinant)

    def _whiteners(self, blocks: Sequence[Block]) -> tuple[Tensor, Tensor]:
        """C^-1 for the Cholesky factor C of each block's covariance, (blocks, B, H, H), and log det C C^T.

        By orthonormalising the block's rows of L one after the other: plain products, which a CUDA graph can hold where
        a library's factorisation may not, and free of rounding where the rows are triangular already.
        """
        turned = self.factor.mT
        rows = torch.stack([columns(turned, block).mT for block in blocks], -4)
        size = rows.shape[-2]
        units = torch.eye(size, device=rows.device, dtype=rows.dtype).expand(*rows.shape[:-1], size)
        directions, whitener, lengths = [], [], []
        for row, unit in zip(rows.unbind(-2), units.unbind(-2)):
            if directions:
                before = torch.stack(directions, -2)
                along = before @ row.unsqueeze(-1)
                row = row - (along * before).sum(-2)
                unit = unit - (along * torch.stack(whitener, -2)).sum(-2)
            length = row.square().sum(-1, keepdim=True).sqrt()
            directions.append(row / length)
            whitener.append(unit / length)
            lengths.append(length)
        return torch.stack(whitener, -2), 2 * torch.cat(lengths, -1).log().sum(-1)


def _log_prob(whitened: Tensor, log_determinant: Tensor) -> Tensor:
    return -0.5 * (whitened.square().sum(-1) + log_determinant + whitened.shape[-1] * LOG_2PI)


def _by_block(values: Tensor, blocks: Sequence[Block]) -> Tensor:
    """(B, K) -> (blocks, B, size): the columns of each block, all of one size."""
    return torch.stack([columns(values, block) for block in blocks], -3)


def _identity(like: Tensor) -> Tensor:
    return torch.eye(like.shape[-1], device=like.device, dtype=like.dtype).expand_as(like)
