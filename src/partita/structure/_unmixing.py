"""Linear maps to the least dependent coordinates: whitening, then rotations that minimise marginal entropies.

A linear map leaves the joint entropy as it is, up to log |det|, so the total correlation of y = x W is
sum_k h(y_k) - log |det W| + constant: one-dimensional entropies decide, and those are cheap and accurate.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from partita.measures._ica import unmixing

# A turn that saves less than this many nats follows the noise of the entropy estimate.
WORTHWHILE = 0.003
ANGLES = np.deg2rad(np.arange(-45.0, 45.0, 3.0))


@dataclass(frozen=True)
class Whitening:
    """x -> (x - mean) @ matrix, (K, r), with unit covariance; directions of negligible variance are dropped."""

    mean: np.ndarray
    matrix: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return (x - self.mean) @ self.matrix


def whitening(x: np.ndarray, floor: float = 1e-9) -> Whitening:
    """`floor`: directions with less than this share of the largest variance do not count."""
    mean = x.mean(0)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(x - mean, rowvar=False, bias=True)))
    kept = values > max(floor * values.max(), 1e-300)
    return Whitening(mean, vectors[:, kept] / np.sqrt(values[kept]))


def whitening_of_all(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean, and the square matrix that makes all directions white, those of next to no variance too."""
    values, vectors = np.linalg.eigh(np.cov(codes.T, bias=True))
    return codes.mean(0), vectors / np.sqrt(np.maximum(values, 1e-9))


def turned(solve: Callable[[np.ndarray], np.ndarray], white: np.ndarray) -> np.ndarray:
    """The rotation that `solve` finds for white coordinates. Those that are 0 stay as they are: turned with the others,
    they would tie them all."""
    alive = np.asarray(white.any(0))
    return rotation_of(solve(white[:, alive]), alive)


def rotation_of(unmixing: np.ndarray, alive: np.ndarray) -> np.ndarray:
    """The rotation of all coordinates that unmixes those that are alive."""
    rotation = np.eye(len(alive))
    rotation[np.ix_(alive, alive)] = unmixing.T
    return rotation


def spacing_entropy(y: np.ndarray) -> np.ndarray:
    """Differential entropy of each row of y (rows, n), nats: mean log of m-spacings, m = 2 sqrt(n) (Vasicek 1976)."""
    n = y.shape[-1]
    m = min(max(1, round(2 * np.sqrt(n))), n - 1)
    ordered = np.sort(y, -1)
    gaps = np.maximum(ordered[..., m:] - ordered[..., :-m], 1e-12)
    return np.log(gaps * (n + 1) / m).mean(-1)


def least_dependent_rotation(white: np.ndarray, *, seed: int = 0, restarts: int = 2) -> np.ndarray:
    """The rotation R of whitened data (n, r) for which white @ R has the least total correlation.

    Starts from the identity, from FastICA with three contrasts and from `restarts` random rotations; each pair of
    coordinates in turn is turned by the angle with the least sum of entropies (Learned-Miller and Fisher 2003), first
    briefly on at most 2,000 rows, then the best start on all of them until nothing improves.
    """
    r = white.shape[1]
    if r == 1:
        return np.eye(1)
    rng = np.random.default_rng(seed)
    starts = [np.eye(r), *_fast_ica(white, seed)]
    starts += [np.linalg.qr(rng.standard_normal((r, r)))[0] for _ in range(restarts if r > 2 else 0)]
    some = white[rng.permutation(len(white))[:2000]]
    turned = [_turn_pairs(some, start, sweeps=2) for start in starts]
    best = min(turned, key=lambda rotation: float(spacing_entropy((white @ rotation).T).sum()))
    return _turn_pairs(white, best, sweeps=6)


def _fast_ica(white: np.ndarray, seed: int) -> list[np.ndarray]:
    # Gaussian coordinates have no preferred direction and never converge; the turns that follow settle the rest.
    settings: dict = {"doubts": logging.DEBUG, "iterations": 300, "tolerance": 1e-4}
    found = [unmixing(white, seed, contrast=contrast, **settings).T for contrast in ("logcosh", "cube", "exp")]
    return [rotation for rotation in found if np.isfinite(rotation).all()]


def _turn_pairs(white: np.ndarray, rotation: np.ndarray, sweeps: int) -> np.ndarray:
    rotation = rotation.copy()
    y = white @ rotation
    r = y.shape[1]
    for _ in range(sweeps):
        gained = 0.0
        for i in range(r):
            for j in range(i + 1, r):
                angle, gain = _best_angle(y[:, i], y[:, j])
                if gain > WORTHWHILE:
                    gained += gain
                    c, s = np.cos(angle), np.sin(angle)
                    turn = np.array([[c, -s], [s, c]])
                    y[:, [i, j]] = y[:, [i, j]] @ turn
                    rotation[:, [i, j]] = rotation[:, [i, j]] @ turn
        if gained == 0.0:
            break
    return rotation


def _best_angle(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """The turn of the plane (a, b) with the least h(a') + h(b'), and how much it saves over no turn."""
    now = _pair_entropy(a, b, np.zeros(1))[0]
    coarse = ANGLES[_pair_entropy(a, b, ANGLES).argmin()]
    fine = coarse + np.deg2rad(np.arange(-2.5, 2.6, 0.5))
    costs = _pair_entropy(a, b, fine)
    return float(fine[costs.argmin()]), float(now - costs.min())


def _pair_entropy(a: np.ndarray, b: np.ndarray, angles: np.ndarray) -> np.ndarray:
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    return spacing_entropy(c * a + s * b) + spacing_entropy(c * b - s * a)
