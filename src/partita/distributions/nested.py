"""The Lp-nested prior: groups that are independent of each other and spherical in the Lp sense inside."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from partita.distributions._columns import columns
from partita.distributions.blocks import Groups
from partita.distributions.posterior import Posterior

SMALLEST = 1e-12


@dataclass(frozen=True)
class LpNested:
    """p(z) = prod_g exp(-||z_g||_{p_g}^{p_0} / s_g) / Z_g (Stuehmer, Turner and Nowozin 2020; docs/glossary.md).

    log Z_g = log H + H log(2 Gamma(1 + 1/p_g)) - log Gamma(1 + H/p_g) - log p_0 + (H/p_0) log s + log Gamma(H/p_0).
    `inner` holds p_g: one number, or one a group. `scale` is s: one number, one a group, or None for unit variance of
    every latent. p_0 = p_g = 2, s = 2 is the standard normal; p_0 = p_g makes the latents of a group independent too.
    **The KL is estimated from the sample**, one draw a data point: log q(z|n) - log p(z), unbiased.
    """

    groups: Groups
    outer: Tensor | float
    inner: Tensor | float
    scale: Tensor | float | None = None

    def log_prob_groups(self, z: Tensor) -> Tensor:
        """log p(z_g), (B, groups)."""
        each = []
        for g, group in enumerate(self.groups):
            p0, p, s = self._numbers(g, z)
            size = len(group)
            surface = math.log(size) + size * (math.log(2) + torch.lgamma(1 + 1 / p)) - torch.lgamma(1 + size / p)
            radial = size / p0 * s.log() + torch.lgamma(size / p0) - p0.log()
            each.append(-torch.exp(p0 * _log_norm(columns(z, group), p)) / s - surface - radial)
        return torch.stack(each, -1)

    def log_prob(self, z: Tensor) -> Tensor:
        return self.log_prob_groups(z).sum(-1)

    def kl(self, q: Posterior, z: Tensor) -> Tensor:
        """log q(z|n) - log p(z) at the sample z."""
        return q.log_prob(z) - self.log_prob(z)

    def sample(self, n: int, latents: int, rng: np.random.Generator) -> np.ndarray:
        """Exact: a radius (s Gamma(H/p_0))^(1/p_0), and a direction from signed Gamma(1/p_g)^(1/p_g) over its norm."""
        z = np.empty((n, latents))
        for g, group in enumerate(self.groups):
            p0, p, s = (number.item() for number in self._numbers(g, torch.zeros((), dtype=torch.float64)))
            size = (n, len(group))
            radius = (s * rng.standard_gamma(len(group) / p0, n)) ** (1 / p0)
            powers = rng.standard_gamma(1 / p, size)
            direction = (powers / powers.sum(1, keepdims=True)) ** (1 / p) * rng.choice([-1.0, 1.0], size)
            z[:, list(group)] = radius[:, None] * direction
        return z

    def _numbers(self, g: int, like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """p_0, p_g and s_g, made where z lives."""
        p0, p = _entry(self.outer, g, like), _entry(self.inner, g, like)
        size = len(self.groups[g])
        return p0, p, unit_variance_scale(p0, p, size) if self.scale is None else _entry(self.scale, g, like)


def unit_variance_scale(p0: Tensor, p: Tensor, size: int) -> Tensor:
    """The s at which each latent of a group of `size` has variance 1; the variance goes with s^(2/p_0)."""
    radial = torch.lgamma((size + 2) / p0) - torch.lgamma(size / p0)
    direction = torch.lgamma(3 / p) + torch.lgamma(size / p) - torch.lgamma(1 / p) - torch.lgamma((size + 2) / p)
    return torch.exp(-0.5 * p0 * (radial + direction))


def _log_norm(z: Tensor, p: Tensor) -> Tensor:
    """log ||z||_p over the last axis, with the largest coordinate taken out: no power overflows or vanishes."""
    size = z.abs().clamp(min=SMALLEST)
    largest = size.detach().amax(-1, keepdim=True)
    powers = (size / largest) ** p
    return largest.squeeze(-1).log() + powers.sum(-1).log() / p


def _entry(value: Tensor | float, g: int, like: Tensor) -> Tensor:
    if isinstance(value, Tensor):
        return value[..., g] if value.ndim else value
    return like.new_full((), value)
