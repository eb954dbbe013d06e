"""What a posterior must be able to do; its families are beside this file."""

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

Block = tuple[int, ...]


class Posterior(Protocol):
    """B densities q(z|n), one a data point."""

    @property
    def mean(self) -> Tensor: ...

    def sample(self, noise: Tensor) -> Tensor:
        """z from standard normal noise (B, K)."""
        ...

    def log_prob(self, z: Tensor) -> Tensor:
        """log q(z_i | n_i), (B,)."""
        ...

    def ratios(self, z: Tensor, blocks: Sequence[Block]) -> tuple[Tensor, Tensor]:
        """For blocks S of one size: log q(z_{i,S} | n_i), (blocks, B), and log q(z_{i,S} | n_j) - log q(z_{i,S} | n_i),
        (blocks, B, B)."""
        ...
