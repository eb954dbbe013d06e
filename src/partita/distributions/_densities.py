"""Densities of one feature given what a decoder says of it, in nats; and draws from them, in NumPy."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from partita.distributions.normal import LOG_2PI

FIRST_FREEDOM = 5.0  # degrees of a Student distribution, before any are learned

# Bernoulli: log p = x log s + (1 - x) log(1 - s) with s = sigmoid(logits).


def bernoulli(x: Tensor, logits: Tensor) -> Tensor:
    return x * logits - softplus(logits)


def draw_bernoulli(rng: np.random.Generator, logits: np.ndarray) -> np.ndarray:
    return (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)


# Gaussian: the variance is one learned number, one a feature, or fixed.


def gaussian(x: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
    squared = (x - mean).square() * torch.exp(-log_variance)
    return -0.5 * (squared + log_variance + LOG_2PI)


def draw_gaussian(rng: np.random.Generator, mean: np.ndarray, log_variance: np.ndarray) -> np.ndarray:
    return mean + np.exp(0.5 * log_variance) * rng.standard_normal(mean.shape)


# Student: of scale s and v = 1 + exp(beyond) degrees of freedom. A value far off costs its logarithm, not its square.


def student(x: Tensor, location: Tensor, log_scale: Tensor, beyond: Tensor) -> Tensor:
    freedom = 1 + beyond.exp()
    constant = torch.lgamma((freedom + 1) / 2) - torch.lgamma(freedom / 2) - 0.5 * (freedom.log() + math.log(math.pi))
    squared = ((x - location) * torch.exp(-log_scale)).square()
    return constant - log_scale - 0.5 * (freedom + 1) * torch.log1p(squared / freedom)


def draw_student(
    rng: np.random.Generator, location: np.ndarray, log_scale: np.ndarray, beyond: np.ndarray
) -> np.ndarray:
    return location + np.exp(log_scale) * rng.standard_t(1 + np.exp(beyond), location.shape)


# Counts: the decoder says log E[x|z]. With this, the canonical link, no logarithm of a rate is ever taken, so rates
# near 0 keep exact densities and slopes, and latents act on counts as factors, like exposure or gain.


def poisson(x: Tensor, log_rate: Tensor) -> Tensor:
    return x * log_rate - log_rate.exp() - torch.lgamma(x + 1)


def draw_poisson(rng: np.random.Generator, log_rate: np.ndarray) -> np.ndarray:
    return rng.poisson(np.exp(log_rate)).astype(float)


def negative_binomial(x: Tensor, log_mean: Tensor, log_dispersion: Tensor) -> Tensor:
    """Of mean m and variance m + a m^2, a the dispersion: Gamma(x + r) / (Gamma(r) x!) (r/(r+m))^r (m/(r+m))^x with
    r = 1/a, by the logarithms of m and r alone."""
    odds = log_mean + log_dispersion
    r = torch.exp(-log_dispersion).expand_as(x)
    return _log_rising(x, r) - torch.lgamma(x + 1) - r * softplus(odds) - x * softplus(-odds)


def draw_negative_binomial(rng: np.random.Generator, log_mean: np.ndarray, log_dispersion: np.ndarray) -> np.ndarray:
    """A Poisson whose rate is drawn from a Gamma distribution."""
    dispersion = np.exp(log_dispersion)
    return rng.poisson(rng.gamma(1 / dispersion, np.exp(log_mean) * dispersion)).astype(float)


def _log_rising(x: Tensor, r: Tensor) -> Tensor:
    """log Gamma(x + r) - log Gamma(r), from r = 100 on by Stirling's series, lest float32 subtract large numbers."""
    large, small = r.clamp(min=100.0), r.clamp(max=100.0)
    rest = [1 / (12 * n) - 1 / (360 * n**3) + 1 / (1260 * n**5) for n in (x + large, large)]
    by_series = (large - 0.5) * torch.log1p(x / large) + x * torch.log(x + large) - x + rest[0] - rest[1]
    return torch.where(r > 100.0, by_series, torch.lgamma(x + small) - torch.lgamma(small))


@dataclass(frozen=True)
class Blocks:
    """Features (along their first axis) in one-hot blocks of these sizes, None: all of them one block. Its logits make
    a block's probabilities: log p = x log softmax."""

    sizes: tuple[int, ...] | None

    def log_density(self, x: Tensor, logits: Tensor) -> Tensor:
        return x * torch.cat([block.log_softmax(1) for block in self._split(logits)], 1)

    def mean(self, logits: Tensor) -> Tensor:
        return torch.cat([block.softmax(1) for block in self._split(logits)], 1)

    def suits(self, values: np.ndarray) -> np.ndarray:
        """ValueError where the blocks are not as long as the rows."""
        sizes = self._sizes(values.shape[1])
        if sum(sizes) != values.shape[1]:
            said = ", ".join(map(str, sizes))
            raise ValueError(f"blocks of {said} are {sum(sizes)} columns, and the data have {values.shape[1]}")
        single = (values == 0) | (values == 1)
        parts = zip(*(np.split(array, np.cumsum(sizes)[:-1], axis=1) for array in (values, single)))
        # where a value is neither, that is what is wrong; else the whole block
        return np.concatenate([ok & (~ok.all(1, keepdims=True) | (x.sum(1, keepdims=True) == 1)) for x, ok in parts], 1)

    def draw(self, rng: np.random.Generator, logits: np.ndarray) -> np.ndarray:
        """The largest of logits with Gumbel noise."""
        noisy = logits + rng.gumbel(size=logits.shape)
        blocks = np.split(noisy, np.cumsum(self._sizes(noisy.shape[1]))[:-1], axis=1)
        return np.concatenate([block == block.max(1, keepdims=True) for block in blocks], 1).astype(float)

    def _split(self, logits: Tensor) -> tuple[Tensor, ...]:
        return logits.split(list(self._sizes(logits.shape[1])), 1)

    def _sizes(self, features: int) -> tuple[int, ...]:
        return (features,) if self.sizes is None else self.sizes
