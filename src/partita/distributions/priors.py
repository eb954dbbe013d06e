"""Priors p(z)."""

from dataclasses import dataclass

from torch import Tensor

from partita.distributions.normal import DiagonalNormal, standard_normal_log_prob_each


@dataclass(frozen=True)
class StandardNormal:
    """N(0, I)."""

    def log_prob_each(self, z: Tensor) -> Tensor:
        return standard_normal_log_prob_each(z)

    def kl(self, q: DiagonalNormal) -> Tensor:
        """KL(q(z|n) || p(z)) in closed form, one a data point."""
        return q.kl_each().sum(-1)
