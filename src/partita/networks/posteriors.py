"""The posterior families an encoder may end in: how many numbers each reads, and how."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from partita.distributions import DiagonalNormal, EquicorrelatedNormal, FullNormal, Posterior

USUAL_RHO = 0.9


class Family(NamedTuple):
    """`width(latents)` numbers an observation, read by `read(numbers, latents, rho)`."""

    width: Callable[[int], int]
    read: Callable[[Tensor, int, float], Posterior]


def _two_a_latent(latents: int) -> int:
    return 2 * latents


def _two_a_latent_and_one_a_pair(latents: int) -> int:
    return 2 * latents + latents * (latents - 1) // 2


def _diagonal(numbers: Tensor, latents: int, rho: float) -> DiagonalNormal:
    mean, log_variance = numbers.chunk(2, -1)
    return DiagonalNormal(mean, log_variance)


def _correlated(numbers: Tensor, latents: int, rho: float) -> EquicorrelatedNormal:
    mean, log_variance = numbers.chunk(2, -1)
    return EquicorrelatedNormal(mean, log_variance, rho)


def _full(numbers: Tensor, latents: int, rho: float) -> FullNormal:
    mean, log_scale, *rows = numbers.split([latents, latents, *range(latents)], -1)
    lower = torch.stack([pad(row, (0, latents - row.shape[-1])) for row in rows], -2)
    return FullNormal(mean, log_scale, lower)


POSTERIORS = {
    "diagonal": Family(_two_a_latent, _diagonal),
    "correlated": Family(_two_a_latent, _correlated),
    "full": Family(_two_a_latent_and_one_a_pair, _full),
}


def checked_rho(posterior: str, rho: float | None) -> float:
    """The correlation to use; ValueError unless it fits the family: only "correlated" takes one, in [0, 1)."""
    if not isinstance(posterior, str) or posterior not in POSTERIORS:
        raise ValueError(f"unknown posterior {posterior!r}: choose from {', '.join(POSTERIORS)}")
    if rho is None:
        return USUAL_RHO if posterior == "correlated" else 0.0
    if posterior != "correlated":
        raise ValueError(f"rho={rho} needs posterior='correlated', not {posterior!r}")
    if not isinstance(rho, int | float) or not 0 <= rho < 1:
        raise ValueError(f"rho must be at least 0 and below 1, got {rho}")
    return float(rho)
