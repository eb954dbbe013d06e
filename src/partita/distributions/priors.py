"""Priors p(z)."""

from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from partita.distributions.normal import DiagonalNormal, standard_normal_log_prob_each


class Prior(Protocol):
    """A density over z; all that a measure asks of it."""

    def kl(self, q: Any, z: Tensor) -> Tensor:
        """KL(q(z|n) || p(z)), one a data point: closed form where there is one, else log q - log p at the sample z."""
        ...


@dataclass(frozen=True)
class StandardNormal:
    """N(0, I)."""

    def log_prob_each(self, z: Tensor) -> Tensor:
        return standard_normal_log_prob_each(z)

    def kl(self, q: DiagonalNormal, z: Tensor) -> Tensor:
        """In closed form: z is not looked at."""
        return q.kl_each().sum(-1)


STANDARD_NORMAL = StandardNormal()
