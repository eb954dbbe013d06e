"""What a decoder says of an observation: p(x | z), summed over everything but the batch axis."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

from partita.distributions.normal import LOG_2PI


@dataclass(frozen=True)
class Bernoulli:
    """Independent pixels in [0, 1]; grey values count as probabilities, so the best log-likelihood is below 0."""

    logits: Tensor

    @property
    def mean(self) -> Tensor:
        return torch.sigmoid(self.logits)

    def log_prob(self, x: Tensor) -> Tensor:
        return (x * self.logits - softplus(self.logits)).flatten(1).sum(1)


@dataclass(frozen=True)
class Gaussian:
    """Independent Gaussian features; `log_variance` broadcasts over the batch (one number, or one a feature)."""

    mean: Tensor
    log_variance: Tensor

    def log_prob(self, x: Tensor) -> Tensor:
        squared = (x - self.mean).square() * torch.exp(-self.log_variance)
        return -0.5 * (squared + self.log_variance + LOG_2PI).flatten(1).sum(1)
