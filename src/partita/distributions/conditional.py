"""Densities of models with labels: a prior p(z|u), and a guess q(u|x) at labels between 0 and 1."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from partita.distributions.normal import LOG_2PI, DiagonalNormal
from partita.distributions.posterior import Posterior

EDGE = 1e-6  # labels of exactly 0 or 1 have infinite logits


@dataclass(frozen=True)
class ConditionalNormal:
    """p(z|u), a diagonal Gaussian a row: `density` holds the means and log-variances that the labels gave."""

    density: DiagonalNormal

    def log_prob(self, z: Tensor) -> Tensor:
        return self.density.log_prob(z)

    def kl(self, q: Posterior, z: Tensor) -> Tensor:
        """KL(q(z|x,u) || p(z|u)) in closed form: z is not looked at."""
        return q.kl_to(self.density)

    def sample(self, n: int, latents: int, rng: np.random.Generator) -> np.ndarray:
        """n draws, the rows in turn: fewer labels than draws are used again."""
        mean, log_variance = (part.detach().cpu().double().numpy() for part in self.parts)
        rows = np.arange(n) % len(mean)
        return mean[rows] + np.exp(0.5 * log_variance[rows]) * rng.standard_normal((n, latents))

    @property
    def parts(self) -> tuple[Tensor, Tensor]:
        return self.density.mean, self.density.log_variance


@dataclass(frozen=True)
class LogitNormal:
    """u = sigmoid(y), y ~ N(mean, exp(log_variance)): independent labels in (0, 1), (B, m) each."""

    mean: Tensor
    log_variance: Tensor

    @property
    def median(self) -> Tensor:
        return torch.sigmoid(self.mean)

    def sample(self, noise: Tensor) -> Tensor:
        return torch.sigmoid(self.logits(noise))

    def logits(self, noise: Tensor) -> Tensor:
        return DiagonalNormal(self.mean, self.log_variance).sample(noise)

    def log_prob(self, u: Tensor) -> Tensor:
        """log N(logit u) - log u (1 - u), summed over labels: the second term is the Jacobian of the sigmoid."""
        u = u.clamp(EDGE, 1 - EDGE)
        jacobian = torch.log(u) + torch.log1p(-u)
        return (DiagonalNormal(self.mean, self.log_variance).log_prob_each(torch.logit(u)) - jacobian).sum(-1)

    def entropy(self, noise: Tensor) -> Tensor:
        """sum_j 1/2 log(2 pi e s_j^2) + E log u_j (1 - u_j), the expectation from one draw."""
        y = self.logits(noise)
        return (0.5 * (self.log_variance + LOG_2PI + 1) + logsigmoid(y) + logsigmoid(-y)).sum(-1)
