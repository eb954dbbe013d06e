"""The networks of a game between a generator and a critic, with a reader of the codes (InfoGAN; docs/glossary.md)."""

import torch
from torch import Tensor, nn

from partita.distributions import Decoded, Posterior, as_likelihood
from partita.networks.architecture import Architecture, given
from partita.networks.normalise import BatchNorm
from partita.networks.posteriors import POSTERIORS


class Trunk(nn.Module):
    """x -> features, all layers of an encoder but the last: what critic and reader share."""

    def __init__(self, architecture: Architecture):
        super().__init__()
        self.body, _ = architecture.features()
        self.shown = as_likelihood(architecture.likelihood).shown

    def forward(self, x: Tensor) -> Tensor:
        return self.body(self.shown(x))


class Critic(nn.Module):
    """Features -> log D / (1 - D), D the probability that the observation is real."""

    def __init__(self, architecture: Architecture):
        super().__init__()
        self.body = nn.Linear(architecture.features()[1], 1)

    def forward(self, features: Tensor) -> Tensor:
        return self.body(features).squeeze(-1)


class Reader(nn.Module):
    """Features -> Q(z|x), a Gaussian of the architecture's family, and the logits of Q(category|x). 128 units."""

    def __init__(self, architecture: Architecture, *, categories: int = 0):
        super().__init__()
        self.of_codes = POSTERIORS[architecture.posterior].width(architecture.latents)
        self.as_posterior = architecture.as_posterior
        outputs = nn.Linear(128, self.of_codes + categories)
        first = nn.Linear(architecture.features()[1], 128, bias=False)  # the normalisation would take a bias off again
        self.body = nn.Sequential(first, BatchNorm(128), nn.LeakyReLU(0.1), outputs)

    @property
    def makes_code(self) -> nn.Linear:
        """The layer whose first outputs are Q(z|x)."""
        return self.body[-1]  # type: ignore[return-value]

    def forward(self, features: Tensor) -> tuple[Posterior, Tensor]:
        numbers = self.body(features)
        return self.as_posterior(numbers[..., : self.of_codes]), numbers[..., self.of_codes :]


class Generator(nn.Module):
    """(codes, category, noise) -> p(x|z), whose mean is the generated observation.

    What is left out is filled in: the first category, and noise 0. So codes can be looked at by themselves.
    """

    rest: Tensor

    def __init__(self, architecture: Architecture, *, categories: int = 0, noise: int = 0):
        super().__init__()
        self.likelihood = as_likelihood(architecture.likelihood)
        inputs = architecture.latents + categories + noise
        _, self.body = architecture.bodies(width_in=inputs, numbers=self.likelihood.outputs)
        # nothing is learned from a density here, so what it would learn stays where it starts
        start = self.likelihood.parameters(architecture.shape)
        self.own = given(self, {name: value.detach() for name, value in start.items()})
        self.latents = architecture.latents
        first = torch.zeros(1, categories + noise)
        if categories:
            first[0, 0] = 1
        self.register_buffer("rest", first, persistent=False)

    @property
    def reads_code(self) -> nn.Linear:
        """The layer that codes, category and noise go into, in this order."""
        return self.body[0]  # type: ignore[return-value]

    def forward(self, z: Tensor) -> Decoded:
        missing = self.latents + self.rest.shape[-1] - z.shape[-1]
        if missing:
            z = torch.cat([z, self.rest[:, -missing:].expand(z.shape[0], -1)], -1)
        return self.likelihood.at(self.body(z), {name: getattr(self, name) for name in self.own})
