"""Gaussian densities as frozen records of tensors."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from partita.distributions.columns import columns

LOG_2PI = math.log(2 * math.pi)
NARROWEST = -16.0

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

    def pairwise(self, z: Tensor, block: Block, *, form: str = "matrix") -> Tensor:
        """log q(z_{i,S} | n_j) for every z_i against every density j, (len(z), B).

        `form="matrix"` expands the square into one matrix product: no (z, B, K) tensor exists, but in float32 it loses
        about 1e-7 * max(z^2 / variance) nats to cancellation. `form="dense"` sums differences and loses nothing.
        """
        z, mean, log_variance = (columns(each, block) for each in (z, self.mean, self.log_variance))
        constant = -0.5 * (log_variance.sum(-1) + len(block) * LOG_2PI)
        if form == "dense" or len(block) == 1:
            scale = torch.exp(-0.5 * log_variance)
            return constant - 0.5 * ((z.unsqueeze(-2) - mean) * scale).square().sum(-1)
        centre = mean.detach().mean(-2, keepdim=True)  # any centre gives the same value: no gradient through it
        z, mean = z - centre, mean - centre
        precision = torch.exp(-log_variance)
        left = torch.cat([-0.5 * z.square(), z, torch.ones_like(z[..., :1])], -1)
        offset = (constant - 0.5 * (mean.square() * precision).sum(-1)).unsqueeze(-1)
        right = torch.cat([precision, mean * precision, offset], -1)
        return left @ right.transpose(-1, -2)

    def ratios(self, z: Tensor, blocks: Sequence[Block]) -> tuple[Tensor, Tensor]:
        """For blocks S of one size: log q(z_{i,S} | n_i), (blocks, B), and how much more likely every other density
        makes z_i, log q(z_{i,S} | n_j) - log q(z_{i,S} | n_i), (blocks, B, B).

        One matrix product for all blocks: no (B, B, K) tensor exists. Since z_i comes from density i, the ratio has
        expectation 1 and exceeds e^t with probability below e^-t (Markov): its exponential needs no further shift.
        Rounding is about 1e-7 * max(z^2 / variance) nats in float32. Posteriors narrower than sd 3e-4, where that would
        run wild, count as that wide.
        """
        log_variance = self.log_variance.clamp(min=NARROWEST)
        each = DiagonalNormal(self.mean, log_variance).log_prob_each(z)
        centre = self.mean.mean(-2, keepdim=True)
        z, mean = z - centre, self.mean - centre
        precision = torch.exp(-log_variance)
        scaled = mean * precision
        constant = -0.5 * (log_variance + LOG_2PI + mean * scaled)
        own = by_block(each, blocks).sum(-1)
        ones = torch.ones_like(own).unsqueeze(-1)
        left = torch.cat([by_block(-0.5 * z.square(), blocks), by_block(z, blocks), ones, -own.unsqueeze(-1)], -1)
        offset = by_block(constant, blocks).sum(-1, keepdim=True)
        right = torch.cat([by_block(precision, blocks), by_block(scaled, blocks), offset, ones], -1)
        return own, widened(left) @ widened(right).transpose(-1, -2)


def widened(features: Tensor) -> Tensor:
    """Zero columns up to a multiple of 16, on the CPU: the backward products then take a path several times faster."""
    short = -features.shape[-1] % 16
    return pad(features, (0, short)) if short and features.device.type == "cpu" else features


def by_block(values: Tensor, blocks: Sequence[Block]) -> Tensor:
    """(B, K) -> (blocks, B, size): the columns of each block, all of one size."""
    order = [k for block in blocks for k in block]
    return columns(values, order).unflatten(-1, (len(blocks), -1)).movedim(-2, -3)


def standard_normal_log_prob_each(z: Tensor) -> Tensor:
    return -0.5 * (z.square() + LOG_2PI)
