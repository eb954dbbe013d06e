"""Priors p(z): the standard normal, and independent latents of unit variance with other shapes."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from partita.distributions.normal import standard_normal_log_prob_each
from partita.distributions.posterior import Posterior


class Prior(Protocol):
    """A density over z; all that a measure asks of it."""

    def log_prob(self, z: Tensor) -> Tensor:
        """log p(z), (B,)."""
        ...

    def kl(self, q: Posterior, z: Tensor) -> Tensor:
        """KL(q(z|n) || p(z)), one a data point: closed form where there is one, else log q - log p at the sample z."""
        ...

    def sample(self, n: int, latents: int, rng: np.random.Generator) -> np.ndarray:
        """n exact draws, (n, latents) float64."""
        ...


@dataclass(frozen=True)
class StandardNormal:
    """N(0, I)."""

    def log_prob_each(self, z: Tensor) -> Tensor:
        return standard_normal_log_prob_each(z)

    def log_prob(self, z: Tensor) -> Tensor:
        return self.log_prob_each(z).sum(-1)

    def kl(self, q: Posterior, z: Tensor) -> Tensor:
        """In closed form: z is not looked at."""
        return q.kl_to()

    def sample(self, n: int, latents: int, rng: np.random.Generator) -> np.ndarray:
        return rng.standard_normal((n, latents))


STANDARD_NORMAL = StandardNormal()


class Shape(Protocol):
    """A density on the line with mean 0 and variance 1."""

    def log_prob(self, z: Tensor) -> Tensor: ...
    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray: ...


@dataclass(frozen=True)
class Factorised:
    """Independent latents, each with density `each`. **The KL is estimated from the sample**, one draw a data point:
    log q(z|n) - log p(z), unbiased, and noisier than a closed form."""

    each: Shape

    def log_prob_each(self, z: Tensor) -> Tensor:
        return self.each.log_prob(z)

    def log_prob(self, z: Tensor) -> Tensor:
        return self.each.log_prob(z).sum(-1)

    def kl(self, q: Posterior, z: Tensor) -> Tensor:
        """log q(z|n) - log p(z) at the sample z."""
        return q.log_prob(z) - self.log_prob(z)

    def sample(self, n: int, latents: int, rng: np.random.Generator) -> np.ndarray:
        return self.each.draw((n, latents), rng)


@dataclass(frozen=True)
class Logistic:
    """p(z) = pi / (4 sqrt 3) sech^2(pi z / (2 sqrt 3)), the "logcosh" prior: scale sqrt(3) / pi, excess kurtosis 1.2
    (docs/glossary.md, Priors)."""

    def log_prob(self, z: Tensor) -> Tensor:
        y = z.abs() * (math.pi / (2 * math.sqrt(3)))
        return math.log(math.pi / math.sqrt(3)) - 2 * (y + torch.log1p(torch.exp(-2 * y)))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return rng.logistic(0.0, math.sqrt(3) / math.pi, shape)


@dataclass(frozen=True)
class Laplace:
    """p(z) = exp(-sqrt(2) |z|) / sqrt(2): excess kurtosis 3."""

    def log_prob(self, z: Tensor) -> Tensor:
        return -math.sqrt(2) * z.abs() - 0.5 * math.log(2)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return rng.laplace(0.0, math.sqrt(0.5), shape)


@dataclass(frozen=True)
class StudentT:
    """Student's t with `degrees` > 2 degrees of freedom, scaled to unit variance."""

    degrees: float = 5.0

    def log_prob(self, z: Tensor) -> Tensor:
        half = (self.degrees + 1) / 2
        constant = math.lgamma(half) - math.lgamma(self.degrees / 2) - 0.5 * math.log(math.pi * (self.degrees - 2))
        return constant - half * torch.log1p(z.square() / (self.degrees - 2))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return rng.standard_t(self.degrees, shape) * math.sqrt(1 - 2 / self.degrees)


PRIORS: dict[str, Prior] = {
    "normal": STANDARD_NORMAL,
    "logistic": Factorised(Logistic()),
    "laplace": Factorised(Laplace()),
    "student": Factorised(StudentT()),
}


def parse_prior(prior: str) -> Prior:
    """The factorised prior of this name: one of PRIORS, or "student:3" for other degrees of freedom."""
    name, _, detail = str(prior).partition(":")
    if name in PRIORS and not detail:
        return PRIORS[name]
    try:
        degrees = float(detail) if name == "student" else math.nan
    except ValueError:
        degrees = math.nan
    if 2 < degrees < math.inf:
        return Factorised(StudentT(degrees))
    raise ValueError(
        f"unknown prior {prior!r}: give {', '.join(map(repr, PRIORS))} (5 degrees of freedom) or 'student:3' (any "
        "number above 2)"
    )
