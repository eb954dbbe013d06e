"""How far a Gaussian with the codes' covariance must be moved to become independent."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from partita.distributions import Groups, as_groups
from partita.measures._arrays import as_matrix
from partita.metrics._independence import unsupervised, with_null
from partita.metrics._inputs import check_protocol, in_own_units
from partita.metrics.score import Parts, Score


def wasserstein_correlation(
    codes: Any,
    factors: Any = None,
    *,
    protocol: str = "dlib-2019",
    seed: int = 0,
    groups: Sequence | None = None,
    draws: int = 10,
    interval: float | None = None,
    resamples: int = 100,
) -> Score:
    """Squared 2-Wasserstein distance between N(0, S) and the Gaussian with independent groups; 0 is best.

    2 tr S - 2 tr (D^1/2 S D^1/2)^1/2, D the block diagonal of S (Dowson and Landau 1982). Grows with the codes' scale:
    `parts["normalised"]` divides by tr S. Same null as `gaussian_tc`.

    Parameters
    ----------
    codes : array (n, K)
        Latents, one row an observation: posterior means, say.
    factors : ignored
        So that every metric is called alike.
    protocol : str
        Whose definition, by name: "dlib-2019".
    seed : int
        Of whatever is drawn: the same seed gives the same score.
    groups : sequence, optional
        Sizes or tuples of indices: latents that belong together.
    draws : int
        Permutations of rows for the null.
    interval : float, optional
        Level of an interval, 0.95 say; none unless given.
    resamples : int
        Draws that the interval is made from.

    Returns
    -------
    Score
        `float(score)` is its value; `.parts` has what it was made of.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> codes = rng.standard_normal((500, 1)) + rng.standard_normal((500, 2))
    >>> score = wasserstein_correlation(codes)
    >>> round(score.value, 1)
    0.3
    """
    check_protocol(protocol, ("dlib-2019",), "wasserstein_correlation")
    codes = in_own_units(as_matrix(codes, "codes"), "wasserstein_correlation")
    blocks = as_groups(groups, codes.shape[1])
    compute = partial(with_null, statistic=_wasserstein, blocks=blocks, draws=draws, seed=seed)
    return unsupervised(compute, codes, protocol, draws, seed, interval, resamples)


def _wasserstein(codes: np.ndarray, blocks: Groups) -> tuple[float, Parts]:
    if len(codes) < 2:
        return 0.0, {"normalised": 0.0}
    covariance = np.atleast_2d(np.cov(codes, rowvar=False))
    half = np.zeros_like(covariance)
    for block in blocks:
        corner = np.ix_(block, block)
        half[corner] = _square_root(covariance[corner])
    spectrum = np.linalg.eigvalsh(half @ covariance @ half)
    scale = float(np.trace(covariance))
    distance = max(2 * scale - 2 * float(np.sqrt(np.clip(spectrum, 0, None)).sum()), 0.0)
    return distance, {"normalised": distance / scale if scale > 0 else 0.0}


def _square_root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
