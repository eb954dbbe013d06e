"""The networks of models with labels u (docs/glossary.md, Labels)."""

from itertools import pairwise

from torch import Tensor, nn
from torch.nn.functional import softplus

from partita.distributions import as_likelihood
from partita.distributions.conditional import LogitNormal
from partita.distributions.normal import DiagonalNormal
from partita.networks.architecture import Architecture, computed

SLOPE = 0.2
# A label that x decides would otherwise have a density without bound. In logits: sd 0.05, or 0.0125 of the range.
NARROWEST = -6.0


class ConditionalPrior(nn.Module):
    """u -> q(z|u), a diagonal Gaussian: `depth` layers of `width`, leaky ReLU."""

    def __init__(self, architecture: Architecture, *, width: int = 1000, depth: int = 3):
        super().__init__()
        self.precision = architecture.precision
        self.body = _layers((architecture.labels, *(width,) * depth, 2 * architecture.latents))

    def forward(self, u: Tensor) -> DiagonalNormal:
        return DiagonalNormal(*computed(self.precision, self.body, u).chunk(2, -1))


class LabelDecoder(nn.Module):
    """z -> E[u|z], the mirror of the conditional prior; the variance around it is a number of the method."""

    def __init__(self, architecture: Architecture, *, width: int = 1000, depth: int = 3):
        super().__init__()
        self.precision = architecture.precision
        self.body = _layers((architecture.latents, *(width,) * depth, architecture.labels))

    def forward(self, z: Tensor) -> Tensor:
        return computed(self.precision, self.body, z)


class LabelPredictor(nn.Module):
    """x -> q(u|x), with layers like the encoder's."""

    def __init__(self, architecture: Architecture):
        super().__init__()
        self.precision = architecture.precision
        self.body, _ = architecture.bodies(2 * architecture.labels)
        self.shown = as_likelihood(architecture.likelihood).shown

    def forward(self, x: Tensor) -> LogitNormal:
        mean, log_variance = computed(self.precision, self.body, self.shown(x)).chunk(2, -1)
        return LogitNormal(mean, NARROWEST + softplus(log_variance - NARROWEST))


def _layers(widths: tuple[int, ...]) -> nn.Sequential:
    """Weights N(0, 0.05^2) and biases 0, as in the paper's release."""
    layers = [nn.Linear(a, b) for a, b in pairwise(widths)]
    for layer in layers:
        nn.init.normal_(layer.weight, std=0.05)
        nn.init.zeros_(layer.bias)
    modules = [module for layer in layers for module in (layer, nn.LeakyReLU(SLOPE))]
    return nn.Sequential(*modules[:-1])
