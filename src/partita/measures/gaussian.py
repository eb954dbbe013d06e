"""Correlation as a Gaussian sees it: from the covariance alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from partita.distributions import as_groups
from partita.measures._arrays import as_matrix

DEAD_VARIANCE = 1e-8


def gaussian_tc(x: Any, groups: Sequence | None = None) -> float:
    """Total correlation of the Gaussian with the covariance of the rows of x: -1/2 log det R, in nats.

    With `groups` the correlation between them, 1/2 (sum_g log det S_gg - log det S). Columns with variance below 1e-8
    carry nothing and are left out (RTC-VAE evaluation rule), directions that are constant inside a group likewise;
    infinite where one group determines part of another. About K(K-1)/4n for independent columns, and blind to
    nonlinear dependence.

    Parameters
    ----------
    x : array (n, K)
        One row an observation.
    groups : sequence, optional
        Sizes or tuples of indices.

    Returns
    -------
    float
        Nats.

    Examples
    --------
    Two columns of correlation 0.8: -1/2 log(1 - 0.64).

    >>> import numpy as np
    >>> one, two = np.random.default_rng(0).standard_normal((2, 100_000))
    >>> round(gaussian_tc(np.stack([one, 0.8 * one + 0.6 * two], 1)), 2)
    0.51
    """
    x = as_matrix(x, "x")
    parts = as_groups(groups, x.shape[1])
    if len(x) < 2:
        raise ValueError(f"gaussian_tc needs at least 2 rows, got {len(x)}")
    centred = x - x.mean(0)
    alive = centred.var(0) >= DEAD_VARIANCE
    white = [_whitened(centred[:, [k for k in group if alive[k]]]) for group in parts]
    together = np.concatenate(white, 1)
    if together.shape[1] == 0:
        return 0.0
    eigenvalues = np.linalg.eigvalsh(together.T @ together / len(x))
    if eigenvalues[0] <= len(eigenvalues) * np.finfo(float).eps:
        return float("inf")
    return max(0.0, float(-0.5 * np.log(eigenvalues).sum()))


def _whitened(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis (times sqrt n) of what the columns span, directions without variance left out."""
    scaled = columns / columns.std(0)
    u, sizes, _ = np.linalg.svd(scaled, full_matrices=False)
    kept = sizes > np.sqrt(len(columns)) * max(columns.shape) * np.finfo(float).eps if columns.size else []
    return u[:, kept] * np.sqrt(len(columns))


def kl_of_latents(mean: np.ndarray, log_variance: np.ndarray) -> np.ndarray:
    """KL(q(z_k|n) || N(0, 1)) = (mean^2 + variance - 1 - log variance) / 2 of every latent, mean over rows n, (K,)."""
    return 0.5 * (mean**2 + np.exp(log_variance) - 1 - log_variance).mean(0)
