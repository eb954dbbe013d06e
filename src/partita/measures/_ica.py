"""Linear ICA: the only place where it is called, for methods, restarts and discovery alike."""

import logging

import numpy as np

from partita.data._switch import limits_are_no_news

log = logging.getLogger("partita")


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
