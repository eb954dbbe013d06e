"""Which networks a model has, as data; and the encoder and decoder themselves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from partita.data._nearest import nearest
from partita.distributions import Decoded, Likelihood, Posterior, as_likelihood
from partita.networks._users import NetworkFunction, bodies_of, check_network
from partita.networks.bodies import BODIES, TAKES
from partita.networks.posteriors import POSTERIORS, checked_rho

PRECISIONS = ("float32", "bf16")
# A step's memory grows with the latents times the batch squared: more of them are a slip of the hand.
MOST_LATENTS = 10_000

# What a user's encoder makes of an observation where its features are asked for, and not a code.
USERS_FEATURES = 128


@dataclass(frozen=True)
class Architecture:
    """The shape of one observation, the number of latents and of labels, and which networks lie between.

    `network` is a name of BODIES, or a function `(shape, outputs, inputs) -> (encoder, decoder)` of plain modules: the
    encoder makes (B, outputs) of (B, *shape), the decoder (B, *shape) of (B, inputs). An encoder whose forward takes
    `beside` gets labels and covariates there (their number goes to the function, where that takes `beside` too).
    `likelihood` is a `Likelihood`, or the name of one in `LIKELIHOODS`. `posterior` is "diagonal", "correlated" (noise
    with correlation `rho` between all latents, 0.9 unless said) or "full" (a covariance learned for every observation).
    With `precision` "bf16" the layers of networks compute in bfloat16; parameters, densities and losses stay float32.
    `covariates` are numbers a row that encoder and decoder see beside x and z.
    """

    shape: tuple[int, ...]
    latents: int
    network: str | NetworkFunction = "mlp"
    likelihood: str | Likelihood = "gaussian"
    hidden: tuple[int, ...] = (256, 256)
    labels: int = 0
    posterior: str = "diagonal"
    rho: float | None = None
    precision: str = "float32"
    covariates: int = field(default=0, metadata={"later": True})

    def __post_init__(self):
        if self.latents < 1:
            raise ValueError(f"latents must be at least 1, got {self.latents}")
        if self.latents > MOST_LATENTS:
            raise ValueError(f"latents must be at most {MOST_LATENTS:,}, got {self.latents:,}")
        if not callable(self.network) and self.network not in BODIES:
            meant = nearest(str(self.network), BODIES)
            raise ValueError(
                f"unknown network {self.network!r}{meant}; there are {', '.join(BODIES)}, or your own function"
            )
        if not self.hidden or min(self.hidden) < 1:
            raise ValueError(f"hidden must be widths of at least 1, got {self.hidden}")
        if self.labels < 0:
            raise ValueError(f"labels must be at least 0, got {self.labels}")
        if self.covariates < 0:
            raise ValueError(f"covariates must be at least 0, got {self.covariates}")
        if self.precision not in PRECISIONS:
            raise ValueError(f"unknown precision {self.precision!r}: use {' or '.join(PRECISIONS)}")
        family = as_likelihood(self.likelihood)
        checked_rho(self.posterior, self.rho)
        self._check(tuple(self.shape))
        if family.outputs > 1:
            wanted = self._decoded(family.outputs)
            try:
                self._check(wanted)
            except ValueError as error:
                raise ValueError(
                    f"likelihood {family.name!r} has {family.outputs} numbers a feature, so its decoder is that of "
                    f"observations of shape {wanted}: {error}"
                ) from error

    def _check(self, shape: tuple[int, ...]) -> None:
        """ValueError where the network does not take observations of this shape."""
        if callable(self.network):
            check_network(self.network, shape, self.width, self.latents + self.covariates, self.covariates)
        elif self.network in TAKES:
            TAKES[self.network](shape)

    def _decoded(self, numbers: int) -> tuple[int, ...]:
        """The shape of what a decoder makes that gives so many numbers for every feature: channels, side by side."""
        return (numbers * self.shape[0], *self.shape[1:])

    @property
    def width(self) -> int:
        """How many numbers an encoder makes of an observation: those of q(z|x)."""
        return POSTERIORS[self.posterior].width(self.latents)

    def bodies(
        self, width_out: int | None = None, beside: int = 0, width_in: int | None = None, numbers: int = 1
    ) -> tuple[nn.Sequential, nn.Sequential]:
        """Layers of an encoder with `width_out` outputs (those of q(z|x) unless said), and of a decoder with `width_in`
        inputs (the latents unless said) and so many `numbers` for every feature."""
        width_out, width_in = self.width if width_out is None else width_out, width_in or self.latents
        shape = self._decoded(numbers)
        if callable(self.network):
            return bodies_of(self.network, shape, width_out, width_in, beside)
        extra = {"hidden": self.hidden} if self.network == "mlp" else {}
        return BODIES[self.network](shape, width_out, width_in, beside=beside, **extra)

    def features(self) -> tuple[nn.Module, int]:
        """An encoder without the layer that makes the code, and how many numbers it makes of an observation."""
        if callable(self.network):
            return self.bodies(USERS_FEATURES)[0], USERS_FEATURES
        body = self.bodies()[0]
        last = body[-1]
        assert isinstance(last, nn.Linear)
        return body[:-1], last.in_features

    def as_posterior(self, numbers: Tensor) -> Posterior:
        """q(z|x) from an encoder's outputs."""
        return POSTERIORS[self.posterior].read(numbers, self.latents, checked_rho(self.posterior, self.rho))


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
    """x -> q(z|x), or (x, u) -> q(z|x,u) when it sees labels: a Gaussian of the architecture's family. The
    log-variance starts near 0, which converges faster than a narrow start."""

    def __init__(self, architecture: Architecture, sees_labels: bool = False):
        super().__init__()
        labels = architecture.labels if sees_labels else 0
        self.body, _ = architecture.bodies(beside=labels + architecture.covariates)
        self.as_posterior = architecture.as_posterior
        self.shown = as_likelihood(architecture.likelihood).shown
        self.precision, self.covariates = architecture.precision, architecture.covariates

    @property
    def makes_code(self) -> nn.Linear:
        """The layer whose outputs are q(z|x): the first rows its means, the next its log-variances, one a latent."""
        return self.body[-1]  # type: ignore[return-value]

    def forward(
        self, x: Tensor, u: Tensor | None = None, covariates: Tensor | None = None, exposure: Tensor | None = None
    ) -> Posterior:
        """Counts are shown relative to what is expected of them. Covariates that nobody gives are 0."""
        if self.covariates and covariates is None:
            covariates = x.new_zeros(len(x), self.covariates)
        beside = [each for each in (u, covariates) if each is not None]
        x = self.shown(x if exposure is None else x / exposure)
        return self.as_posterior(computed(self.precision, self.body, x, torch.cat(beside, -1) if beside else None))


class Decoder(nn.Module):
    """z -> p(x|z), or (z, covariates) -> p(x|z, covariates)."""

    def __init__(self, architecture: Architecture):
        super().__init__()
        self.likelihood = as_likelihood(architecture.likelihood)
        width_in = architecture.latents + architecture.covariates
        _, self.body = architecture.bodies(width_in=width_in, numbers=self.likelihood.outputs)
        self.precision, self.covariates = architecture.precision, architecture.covariates
        self.own = given(self, self.likelihood.parameters(architecture.shape))

    @property
    def reads_code(self) -> nn.Linear:
        """The one layer that z goes into; its first columns are the latents. It may do without a bias only before a
        normalisation, which takes constants off."""
        return self.body[0]  # type: ignore[return-value]

    def forward(
        self,
        z: Tensor,
        covariates: Tensor | None = None,
        exposure: Tensor | None = None,
        observed: Tensor | None = None,
    ) -> Decoded:
        if self.covariates:
            covariates = z.new_zeros(len(z), self.covariates) if covariates is None else covariates
            z = torch.cat([z, covariates], -1)
        decoded = computed(self.precision, self.body, z)
        return self.likelihood.at(decoded, {name: getattr(self, name) for name in self.own}, exposure, observed)


def given(module: nn.Module, parameters: Mapping[str, Tensor]) -> tuple[str, ...]:
    """The names of these tensors, which become the module's: parameters learned, others moving with it."""
    for name, value in parameters.items():
        if isinstance(value, nn.Parameter):
            module.register_parameter(name, value)
        else:
            module.register_buffer(name, value, persistent=False)
    return tuple(parameters)


def computed(precision: str, layers: Callable[..., Tensor], *inputs: Any) -> Tensor:
    """What the layers make of the inputs, computed in this precision, in the inputs' own."""
    if precision == "float32":
        return layers(*inputs)
    like = next(value for value in inputs if isinstance(value, Tensor))
    with torch.autocast(like.device.type, torch.bfloat16, cache_enabled=False):
        return layers(*inputs).to(like.dtype)
