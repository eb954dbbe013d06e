"""Information between vectors by nearest neighbours: no bins, no Gaussian assumption."""

from collections.abc import Sequence

import numpy as np

from partita.measures._arrays import unit_scale


def label_information(x: np.ndarray, labels: np.ndarray, *, neighbours: int = 10, seed: int = 0) -> float:
    """I(x; label) in nats for a vector x (n, d) and class numbers (n,): Ross 2014 (PLoS ONE 9(2)), eq. 2-4.

    psi(n) - <psi(n_label)> + <psi(k)> - <psi(m)>, m the points of any class within the distance of the k-th neighbour
    of the same class (maximum norm, standardised columns). Classes with one member are left out, as scikit-learn
    does. Negative estimates are set to 0; biased down where classes overlap little in many dimensions.
    """
    from scipy.special import digamma

    counts = np.bincount(labels)
    kept = counts[labels] > 1
    if not kept.any():
        return 0.0
    x, labels = _standardised(x, seed)[kept], labels[kept]
    n, radius, k_of = len(x), np.empty(len(x)), np.empty(len(x))
    for label in np.flatnonzero(counts > 1):
        rows = np.flatnonzero(labels == label)
        k = min(neighbours, len(rows) - 1)
        radius[rows] = _kth_distance(x[rows], k)
        k_of[rows] = k
    within = _count_closer(x, radius)
    estimate = digamma(n) + np.mean(digamma(k_of)) - np.mean(digamma(counts[labels])) - np.mean(digamma(within))
    return max(0.0, float(estimate))


def vector_information(x: np.ndarray, y: np.ndarray, *, neighbours: int = 5, seed: int = 0) -> float:
    """I(x; y) in nats for two vectors (n, d), (n, e): Kraskov, Stoegbauer and Grassberger 2004, eq. 8."""
    joint = np.concatenate([x, y], 1)
    cut = x.shape[1]
    return multi_information(joint, (range(cut), range(cut, joint.shape[1])), neighbours=neighbours, seed=seed)


def multi_information(
    x: np.ndarray, groups: Sequence[Sequence[int]], *, neighbours: int = 5, seed: int = 0, jitter: bool = True
) -> float:
    """KL(p(x) || prod_g p(x_g)) in nats, between groups of columns: Kraskov et al. 2004, eq. 23 (first estimator).

    psi(k) + (G-1) psi(n) - <sum_g psi(n_g + 1)>, n_g the points closer than the k-th neighbour in group g. May come
    out slightly negative for independent groups (that is its noise, about 1/sqrt(n)); biased towards 0 in many
    dimensions and for very strong dependence.
    """
    return float(information_of_rows(x, groups, neighbours=neighbours, seed=seed, jitter=jitter).mean())


def information_of_rows(
    x: np.ndarray, groups: Sequence[Sequence[int]], *, neighbours: int = 5, seed: int = 0, jitter: bool = True
) -> np.ndarray:
    """What every row adds to `multi_information`, which is their mean: (n,)."""
    from scipy.special import digamma

    if len(x) <= neighbours:
        raise ValueError(f"{neighbours} neighbours need more than {neighbours} rows, got {len(x)}")
    x = _standardised(x, seed, jitter)
    radius = _kth_distance(x, neighbours)
    marginals = sum(digamma(_count_closer(x[:, list(group)], radius)) for group in groups)
    return digamma(neighbours) + (len(groups) - 1) * digamma(len(x)) - marginals


def _standardised(x: np.ndarray, seed: int, jitter: bool = True) -> np.ndarray:
    """Columns of unit deviation (a constant one stays), with noise of 1e-10 so that repeated values have neighbours."""
    x = x / unit_scale(x)
    if not jitter:
        return x
    size = 1e-10 * np.maximum(1.0, np.abs(x).mean(0))
    return x + size * np.random.default_rng(seed).standard_normal(x.shape)


def _kth_distance(x: np.ndarray, k: int) -> np.ndarray:
    """Maximum-norm distance of each row to its k-th nearest other row."""
    if x.shape[1] > 1:
        from scipy.spatial import KDTree

        return np.asarray(KDTree(x).query(x, k=k + 1, p=np.inf)[0])[:, -1]
    order = np.argsort(x[:, 0], kind="stable")
    line = x[order, 0]
    padded = np.concatenate([np.full(k, -np.inf), line, np.full(k, np.inf)])
    n = len(line)
    # The k nearest of a point on a line fill a window around it; try every split of k into left and right.
    reach = [
        np.maximum(line - padded[k - left : k - left + n], padded[2 * k - left : 2 * k - left + n] - line)
        for left in range(k + 1)
    ]
    distance = np.empty(n)
    distance[order] = np.min(reach, axis=0)
    return distance


def _count_closer(x: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """How many rows, itself included, are closer than `radius` to each row (maximum norm)."""
    if x.shape[1] > 1:
        from scipy.spatial import KDTree

        within = KDTree(x).query_ball_point(x, np.nextafter(radius, 0), p=np.inf, return_length=True)
        return np.maximum(within, 1)
    line, here = np.sort(x[:, 0]), x[:, 0]
    padded = np.concatenate([[-np.inf], line, [np.inf]])
    above = np.searchsorted(line, here + radius, side="left")
    below = np.searchsorted(line, here - radius, side="right")
    # here + radius is rounded; the radius itself was a difference of two points, so compare differences.
    above -= padded[above] - here >= radius
    below += here - padded[below + 1] >= radius
    return np.maximum(above - below, 1)
