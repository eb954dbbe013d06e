"""The part of a prior that is learned."""

import torch
from torch import Tensor, nn

from partita.networks.architecture import Architecture


class Exponents(nn.Module):
    """Factors on the exponents of an Lp-nested prior: one for p_0, one for each group's p_g. All start at 1 and stay
    positive."""

    def __init__(self, architecture: Architecture, *, groups: int):
        super().__init__()
        self.log_factors = nn.Parameter(torch.zeros(1 + groups))

    def forward(self) -> tuple[Tensor, Tensor]:
        factors = self.log_factors.exp()
        return factors[0], factors[1:]
