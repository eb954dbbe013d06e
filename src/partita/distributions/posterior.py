"""What a posterior must be able to do; its families are beside this file."""

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from partita.distributions.normal import Block, DiagonalNormal


class Posterior(Protocol):
    """B densities q(z|n), one a data point. Where latents are correlated given n, the density of a block is that of
    its sub-covariance, and single latents have the densities of `marginals`."""

    @property
    def mean(self) -> Tensor: ...

    @property
    def log_variance(self) -> Tensor:
        """Of the single latents, (B, K)."""
        ...

    @property
    def covariance(self) -> Tensor:
        """(B, K, K)."""
        ...

    @property
    def marginals(self) -> DiagonalNormal:
        """prod_k q(z_k|n)."""
        ...

    @property
    def resolved(self) -> "Posterior":
        """The same, except that what is narrower than `NARROWEST` counts as that wide."""
        ...

    @property
    def conditional_tc(self) -> Tensor:
        """KL(q(z|n) || prod_k q(z_k|n)), (B,): 0 where the latents are independent given n."""
        ...

    def sample(self, noise: Tensor) -> Tensor:
        """z from standard normal noise (B, K)."""
        ...

    def log_prob(self, z: Tensor) -> Tensor:
        """log q(z_i | n_i), (B,)."""
        ...

    def log_prob_each(self, z: Tensor) -> Tensor:
        """log q(z_ik | n_i), (B, K)."""
        ...

    def log_prob_blocks(self, z: Tensor, blocks: Sequence[Block]) -> Tensor:
        """log q(z_{i,S} | n_i), (B, blocks)."""
        ...

    def kl_to(self, other: DiagonalNormal | None = None) -> Tensor:
        """KL(q(z|n) || other), (B,), in closed form; None is the standard normal."""
        ...

    def pairwise(self, z: Tensor, blocks: Sequence[Block]) -> Tensor:
        """log q(z_{i,S} | n_j), (blocks, len(z), B), by differences."""
        ...
