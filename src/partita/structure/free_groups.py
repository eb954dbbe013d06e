"""Groups without sizes: coordinates that depend on each other belong together, two, three or four at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.polynomial import legendre

from partita.distributions import Groups
from partita.measures._arrays import as_matrix

DEGREES = 4  # of the polynomials of one coordinate whose products two coordinates are asked by
DEGREES_OF_THREE = 2
LEVEL = 0.01  # the chance that independent coordinates show any tie of two, or of three, or of four
HEAVY = 1.25  # of three and four: products of many polynomials have heavier tails than a Gaussian
DRAWS = 4  # of noise that makes noise independent
MOST_FOR_FOUR = 24  # coordinates: of more, four at a time are too many


@dataclass(frozen=True)
class Tie:
    """Coordinates that depend on each other, and by how many deviations more than independent ones would."""

    members: tuple[int, ...]
    strength: float


def free_groups(codes: Any, noise: Any = None, seed: int = 0) -> Groups:
    """The partition of unmixed coordinates into groups that share nothing, number and sizes unknown.

    Two coordinates belong together where a product of polynomials of their ranks, each of degree 1 to 4, has a mean
    that independent ones would not show once in a hundred such arrays; so do three (degrees 1 and 2) and four (degree
    1): a checkerboard of three dimensions shows nothing in two. Of degree 2 in both, the product sees what shells and
    cones share with one number, where a table of cells needs dozens.

    Parameters
    ----------
    codes : (n, K), coordinates that a linear unmixing left as independent as it could.
    noise : (K, K), the covariance of the noise in them, where it is known. Noise that coordinates share makes
        independent groups look dependent; more noise is added, until all of it is independent.
    seed : of the noise that is added.

    Returns
    -------
    groups : tuple of tuples of coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 1000)
    >>> free_groups(np.stack([np.cos(angle), rng.uniform(size=1000), np.sin(angle)], 1))
    ((0, 2), (1,))
    """
    return grouped(ties(codes, noise, seed), as_matrix(codes, "codes").shape[1])


def grouped(found: Sequence[Tie], latents: int, factor: float = 1.0) -> Groups:
    """What ties join, where each is as strong as asked for, times a factor."""
    label = np.arange(latents)
    for tie in found:
        if tie.strength > factor * threshold(len(tie.members), latents):
            met = label[list(tie.members)]
            label[np.isin(label, met)] = met.min()
    return tuple(tuple(np.flatnonzero(label == each).tolist()) for each in np.unique(label))


def threshold(members: int, latents: int) -> float:
    """Deviations at which so many coordinates are tied: that of `LEVEL` shared by all that are looked at."""
    from scipy.stats import norm

    degrees = {2: DEGREES, 3: DEGREES_OF_THREE, 4: 1}[members]
    looked_at = max(1, comb(latents, members)) * degrees**members
    return float(norm.isf(LEVEL / (2 * looked_at))) * (1.0 if members == 2 else HEAVY)


def ties(codes: Any, noise: Any = None, seed: int = 0, least: float = 1.0) -> list[Tie]:
    """All ties of at least `least` times the strength that joins, strongest first."""
    codes = as_matrix(codes, "codes")
    if len(codes) < 60:
        raise ValueError(f"free_groups needs at least 60 rows, got {len(codes)}")
    two, three, four = plain = _means(codes)
    if noise is not None:
        rng = np.random.default_rng(seed)
        more = added_noise(as_matrix(noise, "noise"))
        drawn = [_means(codes + rng.standard_normal(codes.shape) @ more.T) for _ in range(DRAWS)]
        two, three, four = (_both(a, np.asarray(sum(b) / DRAWS)) for a, b in zip(plain, zip(*drawn)))
    deviations, latents = np.sqrt(len(codes)), codes.shape[1]
    pairs = np.stack(np.triu_indices(latents, 1), 1)
    found = []
    for i, j in pairs[deviations * two[tuple(pairs.T)] > least * threshold(2, latents)]:
        found.append(Tie((int(i), int(j)), float(deviations * two[i, j])))
    for p, k in np.argwhere(deviations * three > least * threshold(3, latents)):
        if k > pairs[p, 1]:
            found.append(Tie((*map(int, pairs[p]), int(k)), float(deviations * three[p, k])))
    for p, q in np.argwhere(np.triu(deviations * four, 1) > least * threshold(4, latents)):
        if pairs[p, 1] < pairs[q, 0]:
            found.append(Tie((*map(int, pairs[p]), *map(int, pairs[q])), float(deviations * four[p, q])))
    return sorted(found, key=lambda tie: -tie.strength)


def added_noise(noise: np.ndarray) -> np.ndarray:
    """A matrix M such that noise of covariance M M^T, added to noise of this covariance, makes it independent: of all
    multiples of its diagonal and of its sums of absolute rows, the smaller that is possible."""
    own = np.sqrt(np.maximum(np.diag(noise), 1e-12))
    most = np.linalg.eigvalsh(noise / np.outer(own, own))[-1]
    whole = min(own**2 * max(most, 1.0), np.abs(noise).sum(1), key=np.sum)
    values, vectors = np.linalg.eigh(np.diag(whole) - noise)
    return vectors * np.sqrt(np.maximum(values, 0))


def _both(plain: np.ndarray, noisy: np.ndarray) -> np.ndarray:
    """What is left of a mean when all noise is independent. That is less than there is, so a clear mean without the
    noise lets three quarters of what is asked for with it suffice."""
    return np.maximum(noisy, np.minimum(plain / 1.3, noisy / 0.75))


def _means(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The largest means, in absolute value, of products of two coordinates' polynomials (K, K), of three (pairs, K) and
    of four (pairs, pairs)."""
    rows, latents = codes.shape
    rank = (np.argsort(np.argsort(codes, 0, kind="stable"), 0) + 0.5) / rows * 2 - 1
    # orthonormal for a uniform rank: means of products over independent coordinates have deviation 1 / sqrt(rows)
    f = np.stack([legendre.legval(rank, [0] * d + [np.sqrt(2 * d + 1)]) for d in range(1, DEGREES + 1)], 2)
    _share_among_equals(f, codes)
    first, second = np.triu_indices(latents, 1)
    flat, low = f.reshape(rows, -1), f[:, :, :DEGREES_OF_THREE]
    two = np.abs(flat.T @ flat / rows).reshape(latents, DEGREES, latents, DEGREES).max((1, 3))
    three = np.zeros((len(first), latents))
    for a, b in np.ndindex(DEGREES_OF_THREE, DEGREES_OF_THREE):
        products = low[:, first, a] * low[:, second, b]
        means = np.abs(products.T @ low.reshape(rows, -1) / rows).reshape(len(first), latents, DEGREES_OF_THREE)
        three = np.maximum(three, means.max(2))
    if latents > MOST_FOR_FOUR:
        return two, three, np.zeros((0, 0))
    products = f[:, first, 0] * f[:, second, 0]
    return two, three, np.abs(products.T @ products / rows)


def _share_among_equals(f: np.ndarray, codes: np.ndarray) -> None:
    """Rows of one value get the mean of their polynomials: their ranks are an accident of the order of the rows, and
    the same accident in every coordinate."""
    for k, column in enumerate(codes.T):
        values, place, count = np.unique(column, return_inverse=True, return_counts=True)
        if len(values) < len(column):
            for own in f[:, k].T:
                own[:] = np.bincount(place, own)[place] / count[place]


def pairs_of(groups: Groups) -> list[tuple[int, int]]:
    """Every two coordinates of different groups."""
    label = {k: g for g, group in enumerate(groups) for k in group}
    return [(i, j) for i, j in combinations(sorted(label), 2) if label[i] != label[j]]
