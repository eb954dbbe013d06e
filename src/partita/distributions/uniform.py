"""The prior of InfoGAN's codes."""

import math
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from partita.distributions.posterior import Posterior


@dataclass(frozen=True)
class UniformCube:
    """Independent latents, uniform on [-1, 1]."""

    def log_prob(self, z: Tensor) -> Tensor:
        inside = (z.abs() <= 1).all(-1)
        return z.new_full((), -z.shape[-1] * math.log(2)).masked_fill(~inside, -math.inf)

    def kl(self, q: Posterior, z: Tensor) -> Tensor:
        """log q(z|n) - log p(z) at the sample; the expectation is infinite for a Gaussian q."""
        return q.log_prob(z) - self.log_prob(z)

    def sample(self, n: int, latents: int, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(-1, 1, (n, latents))


UNIFORM = UniformCube()
