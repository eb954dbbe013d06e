"""Latents in units in which the streaming sums neither overflow nor lose digits."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

LOG2E = math.log2(math.e)


@dataclass(frozen=True)
class Standardised:
    """Queries (K, n) and components (K, N), latents first, each latent shifted and scaled to order one.

    In these units `log2 N(z_k; mean_jk, variance_jk) = log_unit_k + log_scale_jk - ((z_k - mean_jk) 2^log_scale_jk)^2`:
    base 2 is what processors exponentiate fast. The shift is the mean of the means and the unit the geometric mean of
    the widths, so a density in these units is of order one and can be summed as it is.
    """

    z: Tensor
    mean: Tensor
    log_scale: Tensor
    log_unit: Tensor

    def to(self, dtype: torch.dtype) -> "Standardised":
        return Standardised(self.z.to(dtype), self.mean.to(dtype), self.log_scale.to(dtype), self.log_unit)

    def rows(self, rows: Tensor) -> "Standardised":
        """The same components, fewer queries."""
        return Standardised(self.z[:, rows].contiguous(), self.mean, self.log_scale, self.log_unit)


def standardise(z: Tensor, mean: Tensor, log_variance: Tensor) -> Standardised:
    """From (n, K) queries and (N, K) components; differentiable, but not through the choice of units."""
    centre = mean.detach().mean(0)
    middle = log_variance.detach().mean(0)
    unit = math.sqrt(0.5 * LOG2E) * torch.exp(-0.5 * middle)
    return Standardised(
        z=((z - centre) * unit).T.contiguous(),
        mean=((mean - centre) * unit).T.contiguous(),
        log_scale=(-0.5 * LOG2E * (log_variance - middle)).T.contiguous(),
        log_unit=-0.5 * LOG2E * (middle.double() + math.log(2 * math.pi)),
    )
