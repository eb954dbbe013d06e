"""What a decoder says of an observation, p(x|z): the families there are, each a record of functions.

`LIKELIHOODS` is the only registry of them. A family in it, or one that somebody hands in as a `Likelihood`, is all that
networks, training, studies and reports know of p(x|z).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from partita.distributions.normal import LOG_2PI

ROUNDING = 1e-6  # of numbers that were scaled to [0, 1]


def _none(shape: tuple[int, ...]) -> dict[str, Tensor]:
    return {}


def _itself(x: Tensor) -> Tensor:
    return x


@dataclass(frozen=True)
class Likelihood:
    """A family of densities p(x|z) whose features are independent, given z.

    Parameters
    ----------
    name : str
        What it is called in settings and files.
    log_density : function
        `(x, *outputs, **parameters)` -> log p(x_d|z) in nats for each feature d, shaped like x.
    mean : function
        `(*outputs, **parameters)` -> E[x|z], shaped like x.
    suits : function or None
        Values, an array -> whether it is a density of each; None: of any number.
    takes : str
        Which values those are, in words: "whole counts of 0 or more".
    outputs : int
        Numbers that a decoder gives for each feature; each comes as a tensor shaped like x.
    parameters : function
        Shape of an observation -> tensors by name that do not depend on z, and broadcast against x. An `nn.Parameter`
        is learned, another tensor stays as it is. They belong to the decoder: "decoder.log_variance".
    shown : function
        Observations -> what networks that read them are shown: counts, whose sizes span decades, as log(1 + x).
    summary : str
        A few words for lists of likelihoods.
    unasked : function
        Values (n, ...) -> why they get this family where nobody said which, or "".
    variant : function or None
        What comes after a colon, "0.25" in "gaussian:0.25" -> the family it means, or None.
    of_noise : function or None
        Variance of the noise in the data -> the variant to name where nobody said which.

    Examples
    --------
    The exponential distribution, by the logarithm of its rate:

    >>> waiting = Likelihood(
    ...     "exponential",
    ...     log_density=lambda x, log_rate: log_rate - x * log_rate.exp(),
    ...     mean=lambda log_rate: (-log_rate).exp(),
    ...     suits=lambda values: values >= 0,
    ...     takes="numbers of 0 or more",
    ... )
    >>> waiting.at(torch.zeros(1, 3)).log_prob(torch.ones(1, 3)).item()
    -3.0
    """

    name: str
    log_density: Callable[..., Tensor]
    mean: Callable[..., Tensor]
    suits: Callable[[np.ndarray], np.ndarray] | None = None
    takes: str = "numbers"
    outputs: int = 1
    parameters: Callable[[tuple[int, ...]], Mapping[str, Tensor]] = _none
    shown: Callable[[Tensor], Tensor] = _itself
    summary: str = ""
    unasked: Callable[[np.ndarray], str] = lambda values: ""
    variant: "Callable[[str], Likelihood | None] | None" = None
    of_noise: Callable[[float], str] | None = None

    def at(self, decoded: Tensor, parameters: Mapping[str, Tensor] | None = None) -> "Decoded":
        """p(x|z) where a decoder says `decoded`, (B, outputs * channels, ...)."""
        return Decoded(self, decoded.chunk(self.outputs, 1) if self.outputs > 1 else (decoded,), parameters or {})

    def check(self, values: np.ndarray) -> None:
        """ValueError where this is no density of such values."""
        if self.suits is not None and not (suited := self.suits(values)).all():
            raise ValueError(
                f"likelihood {self.name!r} takes {self.takes}, and the data, as the model sees them, hold "
                f"{values[~suited][0]:g}"
            )


@dataclass(frozen=True, eq=False)
class Decoded:
    """p(x|z) at what a decoder made of z."""

    family: Likelihood
    outputs: tuple[Tensor, ...]
    parameters: Mapping[str, Tensor] = field(default_factory=dict)

    @property
    def mean(self) -> Tensor:
        """E[x|z]."""
        return self.family.mean(*self.outputs, **self.parameters)

    def log_prob(self, x: Tensor) -> Tensor:
        """log p(x|z), summed over all axes but the first."""
        return self.family.log_density(x, *self.outputs, **self.parameters).flatten(1).sum(1)


def as_likelihood(likelihood: str | Likelihood) -> Likelihood:
    """The family of this name, such as "poisson" or "gaussian:0.25"; a `Likelihood` is returned as it is."""
    if isinstance(likelihood, Likelihood):
        return likelihood
    if isinstance(likelihood, str) and likelihood in LIKELIHOODS:
        return LIKELIHOODS[likelihood]
    family, _, detail = str(likelihood).partition(":")
    variant = LIKELIHOODS[family].variant if family in LIKELIHOODS else None
    if variant is None or (found := variant(detail)) is None:
        raise ValueError(f"unknown likelihood {likelihood!r}: give {listed_likelihoods()}, or a Likelihood of your own")
    return found


def by_name(likelihood: Any) -> Any:
    """A family of ours by its name, which files keep; anything else as it is."""
    ours = isinstance(likelihood, Likelihood) and LIKELIHOODS.get(likelihood.name) == likelihood
    return likelihood.name if ours else likelihood


def listed_likelihoods() -> str:
    """Every name with its few words, for messages and help."""
    return ", ".join(f"{name} ({family.summary})" for name, family in LIKELIHOODS.items())


# Bernoulli: log p = x log s + (1 - x) log(1 - s) with s = sigmoid(logits).


def _bernoulli(x: Tensor, logits: Tensor) -> Tensor:
    return x * logits - softplus(logits)


def _between_0_and_1(values: np.ndarray) -> np.ndarray:
    return (values >= -ROUNDING) & (values <= 1 + ROUNDING)


def _pixels(values: np.ndarray) -> str:
    if values.ndim == 4 and values.min() >= 0 and values.max() <= 1:
        return "images with values between 0 and 1 count as pixel probabilities"
    return ""


# Gaussian: the variance is one learned number, one a feature, or fixed.


def _gaussian(x: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
    squared = (x - mean).square() * torch.exp(-log_variance)
    return -0.5 * (squared + log_variance + LOG_2PI)


def _gaussian_family(name: str, summary: str, log_variance: Callable[[tuple[int, ...]], Tensor], **more) -> Likelihood:
    return Likelihood(
        name, _gaussian, lambda mean, log_variance: mean, summary=summary,
        parameters=lambda shape: {"log_variance": log_variance(shape)}, **more,
    )  # fmt: skip


def _gaussian_of(detail: str) -> Likelihood | None:
    if detail == "learned":
        return LIKELIHOODS["gaussian"]
    try:
        variance = float(detail)
    except ValueError:
        return None
    if not (variance > 0 and math.isfinite(variance)):
        return None
    return _gaussian_family(f"gaussian:{detail}", "fixed variance", lambda shape: torch.tensor(math.log(variance)))


# Counts: the decoder says log E[x|z]. With this, the canonical link, no logarithm of a rate is ever taken, so rates
# near 0 keep exact densities and slopes, and latents act on counts as factors, like exposure or gain.


def _poisson(x: Tensor, log_rate: Tensor) -> Tensor:
    return x * log_rate - log_rate.exp() - torch.lgamma(x + 1)


def _negative_binomial(x: Tensor, log_mean: Tensor, log_dispersion: Tensor) -> Tensor:
    """Of mean m and variance m + a m^2, a the dispersion: Gamma(x + r) / (Gamma(r) x!) (r/(r+m))^r (m/(r+m))^x with
    r = 1/a, by the logarithms of m and r alone."""
    odds = log_mean + log_dispersion
    r = torch.exp(-log_dispersion).expand_as(x)
    return _log_rising(x, r) - torch.lgamma(x + 1) - r * softplus(odds) - x * softplus(-odds)


def _log_rising(x: Tensor, r: Tensor) -> Tensor:
    """log Gamma(x + r) - log Gamma(r), from r = 100 on by Stirling's series, lest float32 subtract large numbers."""
    large, small = r.clamp(min=100.0), r.clamp(max=100.0)
    rest = [1 / (12 * n) - 1 / (360 * n**3) + 1 / (1260 * n**5) for n in (x + large, large)]
    by_series = (large - 0.5) * torch.log1p(x / large) + x * torch.log(x + large) - x + rest[0] - rest[1]
    return torch.where(r > 100.0, by_series, torch.lgamma(x + small) - torch.lgamma(small))


def _whole_counts(values: np.ndarray) -> np.ndarray:
    return (values >= 0) & (values == np.round(values))


COUNTS = "whole counts of 0 or more (bytes, which are scaled to [0, 1], as numbers of another type)"

# In the order in which they are asked whether data that nobody spoke of are theirs.
LIKELIHOODS: dict[str, Likelihood] = {
    family.name: family
    for family in (
        Likelihood(
            "bernoulli", _bernoulli, torch.sigmoid, _between_0_and_1, "numbers between 0 and 1",
            summary="numbers between 0 and 1, grey ones as probabilities", unasked=_pixels,
        ),
        _gaussian_family(
            "gaussian", "one learned variance, or gaussian:0.25 for a fixed one",
            lambda shape: nn.Parameter(torch.zeros(())), variant=_gaussian_of,
            unasked=lambda values: "real numbers get a Gaussian with one learned variance",
            of_noise=lambda noise: f"gaussian:{noise:.3g}",
        ),
        _gaussian_family(
            "gaussian:features", "one learned variance a feature",
            lambda shape: nn.Parameter(torch.zeros(1, *shape)),
        ),
        Likelihood(
            "poisson", _poisson, torch.exp, _whole_counts, COUNTS, shown=torch.log1p,
            summary="counts whose variance is their mean",
        ),
        Likelihood(
            "negative_binomial", _negative_binomial, lambda log_mean, log_dispersion: log_mean.exp(), _whole_counts,
            COUNTS, shown=torch.log1p,
            parameters=lambda shape: {"log_dispersion": nn.Parameter(torch.zeros(1, *shape))},
            summary="counts that vary more than that, by one learned dispersion a feature",
        ),
    )
}  # fmt: skip
