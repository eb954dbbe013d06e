"""Effective rank: how many dimensions of a group are used, how many are Gaussian dummies."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partita.distributions import as_groups
from partita.measures._arrays import as_matrix
from partita.measures._neighbours import vector_information

MAX_ROWS = 5_000


@dataclass(frozen=True)
class Dummy:
    """A direction of a group that carries nothing: `codes[:, group] @ direction` is normal and independent of the rest.

    `p_value` is that of D'Agostino and Pearson's test, `dependence` the information (nats) it shares with the rest of
    the group, `variance` its share of the largest variance of all codes, `kl` (nats) the KL of its posterior to the
    prior, where log-variances were given. A direction with no variance to speak of has p_value 1 and dependence 0 by
    convention.
    """

    group: int
    direction: np.ndarray
    p_value: float
    dependence: float
    variance: float
    kl: float | None = None


def effective_rank(codes: Any, groups: Sequence | None, **options: Any) -> tuple[int, ...]:
    """Dimensions minus dummies of every group; options as for `dummies`.

    Give the posteriors' `log_variance` beside their means as `codes` where there are posteriors: without them a latent
    that is Gaussian and informative cannot be told from one that is Gaussian and empty, and counts as a dummy.

    Parameters
    ----------
    codes : (n, K), the latents, or the posteriors' means, one row an observation.
    groups : sizes or tuples of indices; None takes every latent by itself.
    **options : as for `dummies`.

    Returns
    -------
    tuple of int
        One rank a group.

    Examples
    --------
    The second group has one dimension that is only noise.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> codes = np.concatenate([rng.uniform(size=(300, 3)), 0.3 * rng.standard_normal((300, 1))], 1)
    >>> effective_rank(codes, groups=(2, 2))
    (2, 1)
    """
    codes = as_matrix(codes, "codes")
    blocks = as_groups(groups, codes.shape[1])
    found = dummies(codes, blocks, **options)
    return tuple(len(block) - sum(dummy.group == g for dummy in found) for g, block in enumerate(blocks))


def dummies(
    codes: Any,
    groups: Sequence | None,
    *,
    log_variance: Any = None,
    level: float = 0.05,
    dependence: float = 0.05,
    kl: float = 0.1,
    min_variance: float = 1e-3,
    seed: int = 0,
) -> tuple[Dummy, ...]:
    """Dummy directions of every group: normal (p > `level`), independent (< `dependence` nats), empty (< `kl` nats).

    The normality test alone sees only skewness and kurtosis, and a bow-tie has a direction that passes it; so the
    direction must also share less than `dependence` nats with the rest of its group. Where the posteriors'
    `log_variance` (n, K) is given and `codes` are their means, its KL must also be below `kl`: that of N(w m, w^2 v) to
    N(0, 1) for the direction w of unit length, mean over the rows. Principal directions with less than `min_variance`
    of the largest variance of all codes are dummies outright. A true dummy is missed in a share `level` of cases.
    Directions are found one at a time, most Gaussian first, and projected out; several of one group are turned to the
    principal directions of their subspace before their KL is taken.

    Parameters
    ----------
    codes : (n, K), the latents, or the posteriors' means, one row an observation.
    groups : sizes or tuples of indices; None takes every latent by itself.
    log_variance : (n, K), of the posteriors, where there are any.
    level : of the normality test.
    dependence : nats that a dummy shares with the rest of its group at most.
    kl : nats of KL to the prior that a dummy has at most.
    min_variance : share of the largest variance below which a direction is a dummy outright.
    seed : of the rows and of the estimate of dependence.

    Returns
    -------
    tuple of Dummy
        Group after group.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> codes = np.concatenate([rng.uniform(size=(300, 3)), 0.3 * rng.standard_normal((300, 1))], 1)
    >>> [found] = dummies(codes, groups=(2, 2))
    >>> found.group, int(np.abs(found.direction).argmax())
    (1, 1)
    """
    codes = as_matrix(codes, "codes")
    if len(codes) < 20:
        raise ValueError(f"the normality test needs at least 20 rows, got {len(codes)}")
    blocks = as_groups(groups, codes.shape[1])
    spread = None if log_variance is None else np.exp(as_matrix(log_variance, "log_variance"))
    if spread is not None and spread.shape != codes.shape:
        raise ValueError(f"codes have shape {codes.shape}, log_variance {spread.shape}: they must agree")
    largest = float(codes.var(0).max())
    rows = np.random.default_rng(seed).permutation(len(codes))[:MAX_ROWS]
    found: list[Dummy] = []
    for g, block in enumerate(blocks):
        x = codes[rows][:, list(block)]
        thin, gaussian = _dummies_of(x, g, largest, level, dependence, min_variance, seed)
        if spread is not None:
            v = spread[rows][:, list(block)]
            thin = [replace(dummy, kl=_kl_along(dummy.direction, x, v)) for dummy in thin]
            gaussian = _empty(gaussian, x, v, largest, kl)
        found += [*thin, *gaussian]
    return tuple(found)


def _kl_along(direction: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> float:
    """KL of the posteriors' marginals along one direction to the standard normal, mean over rows, nats."""
    unit = direction / np.linalg.norm(direction)
    m, v = mean @ unit, variance @ unit**2
    return float(0.5 * np.mean(m**2 + v - 1 - np.log(v)))


def _empty(gaussian: list[Dummy], x: np.ndarray, variance: np.ndarray, largest: float, limit: float) -> list[Dummy]:
    """Of a Gaussian subspace the principal directions with a KL below `limit`.

    Inside it every orthogonal pair is as independent as any other, and a direction between an empty latent and an
    informative one would be neither; the empty one has the least variance of its mean.
    """
    from scipy.stats import normaltest

    if not gaussian:
        return []
    basis = np.linalg.qr(np.stack([dummy.direction for dummy in gaussian], 1))[0]
    values, vectors = np.linalg.eigh(basis.T @ np.atleast_2d(np.cov(x, rowvar=False, bias=True)) @ basis)
    found = []
    for dummy, value, unit in zip(gaussian, values, (basis @ vectors).T):
        w, kl = unit / np.sqrt(value), _kl_along(unit, x, variance)
        if kl < limit:
            found.append(Dummy(dummy.group, w, float(normaltest(x @ w).pvalue), dummy.dependence, value / largest, kl))
    return found


def _dummies_of(
    x: np.ndarray, g: int, largest: float, level: float, dependence: float, min_variance: float, seed: int
) -> tuple[list[Dummy], list[Dummy]]:
    """Directions without variance, and Gaussian ones."""
    centred = x - x.mean(0)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(centred, rowvar=False, bias=True)))
    dead = values <= min_variance * largest
    thin = [Dummy(g, vectors[:, k], 1.0, 0.0, float(values[k] / max(largest, 1e-300))) for k in np.flatnonzero(dead)]
    found: list[Dummy] = []
    basis = vectors[:, ~dead] / np.sqrt(values[~dead])
    while basis.shape[1]:
        white = centred @ basis
        hit = _dummy_direction(white, level, dependence, seed)
        if hit is None:
            break
        direction, p_value, shared = hit
        weights = basis @ direction
        found.append(Dummy(g, weights, p_value, shared, float(1 / (weights @ weights) / max(largest, 1e-300))))
        rest = np.linalg.svd(direction[:, None])[0][:, 1:]
        basis = basis @ rest
    return thin, found


def _dummy_direction(white: np.ndarray, level: float, dependence: float, seed: int):
    """A direction of whitened data that meets both conditions, as (direction, p, shared information), or None."""
    from scipy.stats import normaltest

    r = white.shape[1]
    for direction in _candidates(white):
        p_value = float(normaltest(white @ direction).pvalue)
        if p_value <= level:
            continue
        if r == 1:
            return direction, p_value, 0.0
        rest = np.linalg.svd(direction[:, None])[0][:, 1:]
        shared = vector_information((white @ direction)[:, None], white @ rest, seed=seed)
        if shared < dependence:
            return direction, p_value, max(shared, 0.0)
    return None


def _candidates(white: np.ndarray, kept: int = 3) -> np.ndarray:
    """Directions worth testing, most Gaussian first, one a row.

    Every cumulant above the second that involves an independent Gaussian direction is zero, so such directions span
    the null space of the third and fourth cumulants, unfolded to matrices (non-Gaussian component analysis).
    """
    n, r = white.shape
    pairs = (white[:, :, None] * white[:, None, :]).reshape(n, r * r)
    third = white.T @ pairs / n
    eye = np.eye(r)
    gaussian = sum(np.einsum(f"ij,kl->{order}", eye, eye) for order in ("ijkl", "ikjl", "iljk"))
    fourth = (pairs.T @ pairs / n).reshape(r, r, r, r) - gaussian
    unfolded = fourth.reshape(r, -1)
    return np.linalg.eigh(third @ third.T + unfolded @ unfolded.T)[1].T[:kept]
