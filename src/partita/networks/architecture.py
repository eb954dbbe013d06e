"""Which networks a model has, as data; and the encoder and decoder themselves."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from partita.data.nearest import nearest
from partita.distributions import Bernoulli, DiagonalNormal, Gaussian
from partita.networks.bodies import BODIES, IMAGES_ONLY


@dataclass(frozen=True)
class Architecture:
    """The shape of one observation, the number of latents, and which networks lie between.

    `likelihood` is "bernoulli", "gaussian" (one learned variance), "gaussian:features" (one learned variance a
    feature) or "gaussian:0.25" (fixed variance).
    """

    shape: tuple[int, ...]
    latents: int
    network: str = "mlp"
    likelihood: str = "gaussian"
    hidden: tuple[int, ...] = (256, 256)

    def __post_init__(self):
        if self.latents < 1:
            raise ValueError(f"latents must be at least 1, got {self.latents}")
        if self.network not in BODIES:
            meant = nearest(self.network, BODIES)
            raise ValueError(f"unknown network {self.network!r}{meant}; there are {', '.join(BODIES)}")
        if not self.hidden or min(self.hidden) < 1:
            raise ValueError(f"hidden must be widths of at least 1, got {self.hidden}")
        parse_likelihood(self.likelihood)
        if self.network in IMAGES_ONLY:
            BODIES[self.network](self.shape, 1, 1)

    def bodies(self) -> tuple[nn.Module, nn.Module]:
        extra = {"hidden": self.hidden} if self.network == "mlp" else {}
        return BODIES[self.network](self.shape, 2 * self.latents, self.latents, **extra)


@dataclass(frozen=True)
class Factory:
    """A network yet to be made: a class, the architecture it reads, and its own options as (name, value) pairs.
    Equal factories make equal structure."""

    make: type[nn.Module]
    architecture: Architecture
    options: tuple[tuple[str, Any], ...] = ()

    def __call__(self) -> nn.Module:
        return self.make(self.architecture, **dict(self.options))


class Encoder(nn.Module):
    """x -> q(z|x), a diagonal Gaussian. The log-variance starts near 0, which converges faster than a narrow start
    (spec 000, section 8)."""

    def __init__(self, architecture: Architecture):
        super().__init__()
        self.body, _ = architecture.bodies()

    def forward(self, x: Tensor) -> DiagonalNormal:
        mean, log_variance = self.body(x).chunk(2, -1)
        return DiagonalNormal(mean, log_variance)


class Decoder(nn.Module):
    """z -> p(x|z)."""

    def __init__(self, architecture: Architecture):
        super().__init__()
        _, self.body = architecture.bodies()
        family, variance = parse_likelihood(architecture.likelihood)
        self.family = family
        if family == "gaussian":
            features = (1, *architecture.shape)
            if variance == "learned":
                self.log_variance = nn.Parameter(torch.zeros(()))
            elif variance == "features":
                self.log_variance = nn.Parameter(torch.zeros(features))
            else:
                self.register_buffer("log_variance", torch.tensor(math.log(variance)), persistent=False)

    def forward(self, z: Tensor) -> Bernoulli | Gaussian:
        output = self.body(z)
        return Bernoulli(output) if self.family == "bernoulli" else Gaussian(output, self.log_variance)


def parse_likelihood(likelihood: str) -> tuple[str, str | float]:
    """("bernoulli", ""), ("gaussian", "learned"), ("gaussian", "features") or ("gaussian", variance)."""
    family, _, detail = likelihood.partition(":")
    if family == "bernoulli" and not detail:
        return "bernoulli", ""
    if family == "gaussian":
        if detail in ("", "learned"):
            return "gaussian", "learned"
        if detail == "features":
            return "gaussian", "features"
        try:
            variance = float(detail)
        except ValueError:
            variance = math.nan
        if variance > 0 and math.isfinite(variance):
            return "gaussian", variance
    raise ValueError(
        f"unknown likelihood {likelihood!r}: give 'bernoulli', 'gaussian' (one learned variance), 'gaussian:features' "
        "(one a feature) or 'gaussian:0.25' (fixed variance)"
    )
