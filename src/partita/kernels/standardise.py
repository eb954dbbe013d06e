"""Latents in units in which the streaming sums neither overflow nor lose digits."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

LOG2E = math.log2(math.e)
# log2 of the factor that turns (z - mean) / sd into a distance whose square is the exponent of a power of 2.
LOG2_LENGTH = 0.5 * math.log2(0.5 * LOG2E)


@dataclass(frozen=True)
class Standardised:
    """Queries (K, n) and components (K, N), latents first, each latent scaled so that its components are about 1 wide.

    In these units `log2 N(z_k; mean_jk, variance_jk) = log_scale_jk - ((z_k - mean_jk) 2^log_scale_jk)^2` plus a
    constant: base 2 is what processors exponentiate fast, and a density of order one can be summed as it is.
    """

    z: Tensor
    mean: Tensor
    log_scale: Tensor

    def to(self, dtype: torch.dtype) -> "Standardised":
        return Standardised(self.z.to(dtype), self.mean.to(dtype), self.log_scale.to(dtype))

    def rows(self, rows: Tensor) -> "Standardised":
        """The same components, fewer queries."""
        return Standardised(self.z[:, rows].contiguous(), self.mean, self.log_scale)

    def detach(self) -> "Standardised":
        return Standardised(self.z.detach(), self.mean.detach(), self.log_scale.detach())


@dataclass(frozen=True)
class Units:
    """Origin of each latent and its unit of length 2^-log_inverse, (K,): the components' mean and typical width.

    The unit is a power of 2 and the origin 0, or round where the data lie far from 0, so that changing to these units
    rounds nothing: posteriors of a float32 network stay exact in float32, however narrow.
    """

    origin: Tensor
    log_inverse: Tensor

    @property
    def log_density(self) -> Tensor:
        """log2 of what a density in these units is multiplied by, float64."""
        return self.log_inverse.double() - LOG2_LENGTH - 0.5 * math.log2(2 * math.pi)

    def queries(self, z: Tensor) -> Tensor:
        return ((z - self.origin) * _power_of_two(self.log_inverse)).T.contiguous()

    def components(self, mean: Tensor, log_variance: Tensor) -> tuple[Tensor, Tensor]:
        log_scale = LOG2_LENGTH - 0.5 * LOG2E * log_variance - self.log_inverse
        return self.queries(mean), log_scale.T.contiguous()


def units_of(mean: Tensor, log_variance: Tensor) -> Units:
    """Units for components (N, K); gradients do not pass through their choice, which changes no density."""
    mean, log_variance = mean.detach(), log_variance.detach()
    centre, spread = mean.mean(0), mean.std(0, correction=0)
    grid = _power_of_two(torch.log2(spread.clamp(min=1e-30)).floor())
    origin = torch.where(centre.abs() > 4 * spread, (centre / grid).round() * grid, 0.0)
    origin = torch.where(spread > 0, origin, centre)
    return Units(origin, (LOG2_LENGTH - 0.5 * LOG2E * log_variance.mean(0)).round())


def standardise(z: Tensor, mean: Tensor, log_variance: Tensor) -> tuple[Standardised, Units]:
    """Queries (n, K) and components (N, K) in the components' units; differentiable."""
    units = units_of(mean, log_variance)
    return Standardised(units.queries(z), *units.components(mean, log_variance)), units


def _power_of_two(exponent: Tensor) -> Tensor:
    """2^exponent for whole exponents, exactly, which a device's exp2 does not promise."""
    if exponent.dtype == torch.float64:
        return ((exponent.clamp(-1000, 1000).to(torch.int64) + 1023) << 52).view(torch.float64)
    return ((exponent.clamp(-120, 120).to(torch.int32) + 127) << 23).view(torch.float32)
