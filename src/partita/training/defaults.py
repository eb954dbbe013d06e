"""What to do with an array when its owner said nothing."""

from collections.abc import Sequence
from math import prod
from numbers import Integral
from typing import Any

import numpy as np

from partita.data._some_rows import ROWS_LOOKED_AT, spread_rows
from partita.distributions import LIKELIHOODS, Likelihood, as_likelihood
from partita.networks.bodies import takes

NUMBERS_LOOKED_AT = 1 << 22
FEWEST_ROWS = 50  # in each half
# Widths of kernels, in standard deviations of a coordinate times the root of their number.
KERNEL_WIDTHS = (4.0, 2.0, 1.0, 0.7)
RIDGE = 0.1
# Of the variance, and by itself: where noise is less, the likelihood would be too steep to begin with.
LEAST_SHARE, LEAST = 1e-3, 1e-8


def choose_network(shape: Sequence[int]) -> tuple[str, str]:
    """The network for observations of this shape, and why."""
    shape = tuple(shape)
    if takes("burgess", shape) and shape[0] in (1, 3):
        return "burgess", "images of 32 or 64 pixels get the convolutions of Burgess et al. 2018"
    if takes("conv", shape):
        return "conv", "images get convolutions, as many as their size allows"
    return "mlp", "vectors, and images of fewer than 16 or more than 256 pixels, get fully connected layers"


def choose_likelihood(x: np.ndarray, x_scale: float, latents: int) -> tuple[str, str]:
    """The likelihood for these observations, and why: the first of `LIKELIHOODS` that takes such data unasked."""
    vectors = x.ndim == 2
    rows = (_shuffled_rows(x) if vectors else np.asarray(x[:ROWS_LOOKED_AT], np.float64)) * x_scale
    family, why = next((each, why) for each in LIKELIHOODS.values() if (why := each.unasked(rows)))
    noise = noise_variance(rows, latents) if vectors and family.of_noise is not None else None
    if noise is None or family.of_noise is None:
        return family.name, why
    return family.of_noise(noise), "real numbers get a Gaussian with the variance that latents cannot explain"


def check_likelihood(likelihood: str | Likelihood, x: Any, x_scale: float) -> None:
    """ValueError where the likelihood is no density of such data, as far as a few million of their numbers show."""
    family = as_likelihood(likelihood)
    if family.suits is not None:
        most = max(ROWS_LOOKED_AT, NUMBERS_LOOKED_AT // prod(x.shape[1:]))
        family.check(np.asarray(x[spread_rows(len(x), most)], np.float64) * x_scale)


def choose_latents(x: np.ndarray) -> tuple[int, str]:
    """How many latents rows of numbers have, and why: the number with the best BIC of probabilistic PCA (Minka 2000
    counts its parameters), at least 1. Right where noise is the same for all features; more where it differs."""
    if x.ndim != 2:
        raise ValueError(f'latents="auto" is for rows of numbers, and observations here have shape {x.shape[1:]}')
    rows, features = x.shape
    centred = np.asarray(x, np.float64) - x.mean(0)
    values = np.maximum(np.linalg.eigvalsh(centred.T @ centred / rows)[::-1], 1e-12 * max(centred.var(), 1e-12))
    most = min(rows // 2, features - 1)
    scores = []
    for k in range(1, most + 1):
        left = features - k
        log_p = -0.5 * rows * (np.log(values[:k]).sum() + left * np.log(values[k:].mean()) + features)
        scores.append(log_p - 0.5 * np.log(rows) * (features * k - k * (k - 1) / 2 + features + 1))
    best = int(np.argmax(scores)) + 1 if scores else 1
    return best, "as many as probabilistic PCA explains the rows best with, by BIC"


def noise_variance(x: np.ndarray, latents: int) -> float | None:
    """What is left of a feature's variance when so many coordinates of its row are known; None where x cannot tell.

    The coordinates are principal ones of half of the rows. Of the other half they leave what lies off their plane, less
    what kernel ridge regression predicts of that from the coordinates, lest curvature count as noise. A variance that
    is learned by a large network instead shrinks with all it remembers, and with it the weight of KL and PC. Too small
    where rows repeat, or noise lasts over several: held-out rows then are not new.
    """
    from sklearn.decomposition import PCA
    from sklearn.kernel_ridge import KernelRidge

    half, features = len(x) // 2, x.shape[1]
    if not isinstance(latents, Integral) or not 1 <= latents < features or half < max(FEWEST_ROWS, 2 * latents):
        return None
    spread = x[:half].var(0).mean() if np.isfinite(x).all() else 0.0
    if not spread:
        return None
    plane = PCA(latents, random_state=0).fit(x[:half])
    scores = plane.transform(x)
    off = x - plane.inverse_transform(scores)
    known = scores / np.sqrt(np.maximum(plane.explained_variance_, 1e-6 * plane.explained_variance_[0]))
    errors = [np.square(off[half:]).sum()]
    for width in KERNEL_WIDTHS:
        kernel = {"kernel": "rbf", "gamma": 1 / (2 * latents * width**2)}
        curve = KernelRidge(alpha=RIDGE, **kernel).fit(known[:half], off[:half])  # type: ignore[arg-type]
        errors.append(np.square(off[half:] - curve.predict(known[half:])).sum())
    noise = float(min(errors)) / ((len(x) - half) * (features - latents))
    return noise if noise > max(LEAST_SHARE * spread, LEAST) else None


def _shuffled_rows(x: np.ndarray) -> np.ndarray:
    """In random order, because neighbours in a recording resemble each other; read in theirs, as files like it."""
    rng = np.random.default_rng(0)
    most = max(2 * FEWEST_ROWS, min(ROWS_LOOKED_AT, NUMBERS_LOOKED_AT // x.shape[1]))
    chosen = np.sort(rng.permutation(len(x))[:most])
    return rng.permutation(np.asarray(x[chosen], np.float64))
