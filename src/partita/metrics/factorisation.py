"""How far codes are from independent, no factors needed: Gaussian total correlation and Wasserstein correlation."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from partita.distributions import Groups, as_groups
from partita.measures import gaussian_tc as closed_form_tc
from partita.measures._arrays import as_matrix
from partita.measures.gaussian import DEAD_VARIANCE
from partita.metrics._inputs import check_protocol, in_own_units
from partita.metrics.score import Parts, Score, scored


def gaussian_tc(
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
    """Total correlation of a Gaussian with the codes' covariance: -1/2 log det R, nats; 0 is best.

    TC_mean where codes are posterior means, TC_sample where they are draws. With `groups` the correlation between
    groups, 1/2 (sum_g log det S_gg - log det S). Blind to nonlinear dependence; for independent codes it is about
    K(K-1)/4n. Latents with variance below 1e-8 are left out (`parts["dropped"]`). `parts["null"]` is its mean over
    `draws` permutations of the rows, independently per latent (or group), `excess` the difference. `factors` are
    accepted and ignored, so that every metric is called alike.
    """
    check_protocol(protocol, ("dlib-2019",), "gaussian_tc")
    codes = in_own_units(as_matrix(codes, "codes"), "gaussian_tc")
    blocks = as_groups(groups, codes.shape[1])
    compute = partial(_with_null, statistic=_gaussian_tc, blocks=blocks, draws=draws, seed=seed)
    return _unsupervised(compute, codes, protocol, draws, seed, interval, resamples)


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
    """
    check_protocol(protocol, ("dlib-2019",), "wasserstein_correlation")
    codes = in_own_units(as_matrix(codes, "codes"), "wasserstein_correlation")
    blocks = as_groups(groups, codes.shape[1])
    compute = partial(_with_null, statistic=_wasserstein, blocks=blocks, draws=draws, seed=seed)
    return _unsupervised(compute, codes, protocol, draws, seed, interval, resamples)


def _unsupervised(compute, codes, protocol, draws, seed, interval, resamples) -> Score:
    settings = {"null_draws": draws, "estimator": "covariance"}
    return scored(
        compute, [codes], protocol=protocol, settings=settings, seed=seed, interval=interval, resamples=resamples
    )


Statistic = Callable[[np.ndarray, Groups], tuple[float, Parts]]


def _with_null(codes: np.ndarray, statistic: Statistic, blocks: Groups, draws: int, seed: int) -> tuple[float, Parts]:
    value, parts = statistic(codes, blocks)
    if draws < 1:
        return value, parts
    rng = np.random.default_rng(seed)
    null = [statistic(permuted(codes, blocks, rng), blocks)[0] for _ in range(draws)]
    return value, {**parts, **against_null(value, null)}


def against_null(value: float, null: Sequence[float]) -> Parts:
    """What permutations give, and how far the value exceeds it."""
    mean = float(np.mean(null))
    spread = float(np.std(null)) if np.isfinite(mean) else float("nan")
    return {"null": mean, "null_sd": spread, "excess": value - mean}


def permuted(codes: np.ndarray, blocks: Groups, rng: np.random.Generator) -> np.ndarray:
    """Rows shuffled independently per group: every group's distribution stays, their dependence goes."""
    shuffled = np.empty_like(codes)
    for block in blocks:
        columns = list(block)
        shuffled[:, columns] = codes[rng.permutation(len(codes))][:, columns]
    return shuffled


def _gaussian_tc(codes: np.ndarray, blocks: Groups) -> tuple[float, Parts]:
    parts = {"dropped": int((codes.var(0) < DEAD_VARIANCE).sum())}
    return (closed_form_tc(codes, blocks) if len(codes) > 1 else 0.0), parts


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
