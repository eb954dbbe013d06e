"""Linear ICA: the only place where it is called, for methods, restarts and discovery alike."""

import logging
from functools import cache
from itertools import combinations, combinations_with_replacement

import numpy as np

from partita.data._switch import limits_are_no_news

log = logging.getLogger("partita")

MOST_STARTS, ENDS_ALIKE, ALIKE = 100, 4, 1e-3
LOG_COSH_OF_GAUSSIAN = 0.374567207491438  # its mean


def independent_coordinates(
    codes: np.ndarray, seed: int, doubts: int = logging.WARNING
) -> tuple[np.ndarray, np.ndarray]:
    """A centre and a matrix (K, K): (codes - centre) @ matrix are independent, of unit variance, by linear ICA.

    Directions in which the codes hardly vary are kept as they are. `doubts` is the level at which they are logged.
    """
    centre, latents = codes.mean(0), codes.shape[1]
    variance, vectors = np.linalg.eigh(np.cov(codes.T).reshape(latents, latents))
    variance = variance[::-1]
    alive = variance > 1e-6 * variance[0]
    whiten = vectors[:, ::-1] / np.sqrt(np.where(alive, variance, 1.0))
    rotation = np.eye(latents)
    rotation[np.ix_(alive, alive)] = unmixing((codes - centre) @ whiten[:, alive], seed, doubts).T
    return centre, whiten @ rotation


def unmixing(
    white: np.ndarray,
    seed: int,
    doubts: int = logging.WARNING,
    *,
    contrast: str = "logcosh",
    iterations: int = 1000,
    tolerance: float = 1e-6,
) -> np.ndarray:
    """The rotation R that makes white data (n, K) independent, (white @ R.T), by FastICA.

    Not whitened again: FastICA's own whitening multiplies each axis by the sign of its first entry, and where that is
    exactly 0 the axis is erased.
    """
    from sklearn.decomposition import FastICA

    if white.shape[1] < 2:
        return np.eye(white.shape[1])
    settings: dict = {"whiten": False, "fun": contrast, "max_iter": iterations, "tol": tolerance}
    solver = FastICA(**settings, random_state=seed % 2**32)
    with limits_are_no_news:
        solver.fit(white)
    if solver.n_iter_ == iterations:
        log.log(
            doubts, f"FastICA did not converge in {iterations} iterations: the data may be Gaussian in some directions"
        )
    return solver.components_


def picard(white: np.ndarray, seed: int) -> np.ndarray:
    """The rotation R that makes white data (n, K) independent, (white @ R.T), by Picard-O (Ablin et al. 2018), which
    converges where FastICA does not; by FastICA where python-picard is not installed, which is said once."""
    if white.shape[1] < 2:
        return np.eye(white.shape[1])
    try:
        from picard import picard as solve
    except ImportError:
        _say_once("python-picard is not installed: FastICA stands in for it, and converges less surely")
        return unmixing(white, seed, logging.DEBUG)
    settings = {"ortho": True, "extended": True, "whiten": False, "centering": False, "max_iter": 200, "tol": 1e-5}
    with limits_are_no_news:
        return np.asarray(solve(white.T, random_state=seed % 2**32, **settings)[1])


def unmixings(white: np.ndarray, seed: int, starts: int) -> list[np.ndarray]:
    """Rotations that Picard-O finds from several starts, the one with the least Gaussian coordinates first: no more
    starts than it takes to end there `ENDS_ALIKE` times. Of many coordinates and few rows it ends elsewhere from nearly
    every start, and most of these ends are not the best."""
    found: list[tuple[float, np.ndarray]] = []
    for start in range(min(starts, MOST_STARTS)):
        rotation = picard(white, MOST_STARTS * seed + start)  # other seeds, other starts
        found.append((_not_gaussian(white @ rotation.T), rotation))
        best = max(value for value, _ in found)
        if sum(value > (1 - ALIKE) * best for value, _ in found) >= ENDS_ALIKE:
            break
    return [rotation for _, rotation in sorted(found, key=lambda end: -end[0])]


def _not_gaussian(codes: np.ndarray) -> float:
    """How far the mean log cosh of each coordinate is from a Gaussian's, added up: what Picard-O climbs on."""
    size = np.abs(codes)
    means = (size + np.log1p(np.exp(-2 * size)) - np.log(2)).mean(0)
    return float(np.abs(means - LOG_COSH_OF_GAUSSIAN).sum())


def jade(white: np.ndarray) -> np.ndarray:
    """The rotation R that makes the fourth cumulants of white data (n, K) most diagonal, (white @ R.T): JADE (Cardoso
    and Souloumiac 1993), by sweeps of plane rotations."""
    rows, latents = white.shape
    eye, cumulants = np.eye(latents), []
    for i, j in combinations_with_replacement(range(latents), 2):
        q = (white * (white[:, i] * white[:, j])[:, None]).T @ white / rows
        q -= np.outer(eye[i], eye[j]) + np.outer(eye[j], eye[i]) + (eye if i == j else 0)
        cumulants.append(q * (1 if i == j else np.sqrt(2)))
    m, rotation = np.array(cumulants), np.eye(latents)
    for _ in range(50):
        largest = 0.0
        for p, q in combinations(range(latents), 2):
            on, off = m[:, p, p] - m[:, q, q], m[:, p, q] + m[:, q, p]
            a, b = on @ on - off @ off, 2 * on @ off
            angle = 0.5 * np.arctan2(b, a + np.hypot(a, b))
            largest = max(largest, abs(angle))
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            m[:, [p, q], :] = np.einsum("ba,mbk->mak", turn, m[:, [p, q], :])
            m[:, :, [p, q]] = m[:, :, [p, q]] @ turn
            rotation[:, [p, q]] = rotation[:, [p, q]] @ turn
        if largest < 1e-5:
            break
    return rotation.T


@cache
def _say_once(words: str) -> None:
    log.warning(words)
