"""What to do with an array when its owner said nothing."""

from collections.abc import Sequence
from numbers import Integral

import numpy as np

from partita.networks.bodies import TAKES

ROWS_LOOKED_AT, NUMBERS_LOOKED_AT = 2000, 1 << 22
FEWEST_ROWS = 50  # in each half
# Widths of kernels, in standard deviations of a coordinate times the root of their number.
KERNEL_WIDTHS = (4.0, 2.0, 1.0, 0.7)
RIDGE = 0.1
# Of the variance, and by itself: where noise is less, the likelihood would be too steep to begin with.
LEAST_SHARE, LEAST = 1e-3, 1e-8


def choose_network(shape: Sequence[int]) -> tuple[str, str]:
    """The network for observations of this shape, and why."""
    try:
        TAKES["burgess"](tuple(shape))
    except ValueError:
        return "mlp", "vectors, or images of an unusual size, get fully connected layers"
    return "burgess", "images of 32 or 64 pixels get the convolutions of Burgess et al. 2018"


def choose_likelihood(x: np.ndarray, x_scale: float, latents: int) -> tuple[str, str]:
    """The likelihood for these observations, and why: Bernoulli for images between 0 and 1, else Gaussian."""
    if x.ndim == 4:
        rows = np.asarray(x[:ROWS_LOOKED_AT], np.float64) * x_scale
        if rows.min() >= 0 and rows.max() <= 1:
            return "bernoulli", "images with values between 0 and 1 count as pixel probabilities"
    noise = noise_variance(_shuffled_rows(x) * x_scale, latents) if x.ndim == 2 else None
    if noise is None:
        return "gaussian", "real numbers get a Gaussian with one learned variance"
    return f"gaussian:{noise:.3g}", "real numbers get a Gaussian with the variance that latents cannot explain"


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
