"""What stands in for missing values where an encoder reads them: what probabilistic PCA expects, given the others.

Nothing that is missing enters a likelihood. But networks read whole rows, and the mean of a feature would draw every
code towards the middle, the more the more is missing.
"""

from dataclasses import dataclass, field

import numpy as np

ITERATIONS, CLOSE = 60, 1e-4
FEWEST_ROWS, NUMBERS_LEARNED_FROM = 200, 1 << 21
NUMBERS_AT_ONCE = 1 << 22
LEAST_NOISE = 1e-6  # of the variance


@dataclass(frozen=True, eq=False)
class Filling:
    """x = mean + loading z + noise (Tipping and Bishop 1999, with missing values by EM), on flat rows."""

    mean: np.ndarray
    loading: np.ndarray = field(repr=False)
    noise: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The rows with E[x_missing | x_observed] where there is NaN."""
        flat, known = x.reshape(len(x), -1), np.isfinite(x.reshape(len(x), -1))
        filled = np.empty_like(flat)
        at_once = max(1, NUMBERS_AT_ONCE // flat.shape[1])
        for start in range(0, len(flat), at_once):
            part = slice(start, start + at_once)
            z, _ = _codes(np.where(known[part], flat[part] - self.mean, 0), known[part], self.loading, self.noise)
            filled[part] = np.where(known[part], flat[part], z @ self.loading.T + self.mean)
        return filled.reshape(x.shape)


def learn_filling(x: np.ndarray, latents: int, seed: int = 0) -> Filling:
    """From rows with NaN, some of them where there are many. Features that none of those knows are 0 there."""
    rng = np.random.default_rng(seed)
    flat = x.reshape(len(x), -1)
    flat = flat[rng.permutation(len(x))[: max(FEWEST_ROWS, NUMBERS_LEARNED_FROM // flat.shape[1])]]
    known = np.isfinite(flat)
    counts = np.maximum(known.sum(0), 1)
    mean = np.where(known, flat, 0).sum(0) / counts
    centred = np.where(known, flat - mean, 0)
    variance = np.square(centred).sum() / known.sum()
    components = max(1, min(latents, flat.shape[1] // 2, len(flat) // 4))
    loading = rng.standard_normal((flat.shape[1], components)) * np.sqrt(variance / components)
    noise = variance
    for _ in range(ITERATIONS):
        z, covariance = _codes(centred, known, loading, noise)
        second = covariance + z[:, :, None] * z[:, None, :]
        gram = (known.T.astype(float) @ second.reshape(len(z), -1)).reshape(-1, components, components)
        ridge = 1e-6 * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(components) + 1e-12 * np.eye(components)
        loading = np.linalg.solve(gram + ridge, (centred.T @ z)[:, :, None])[:, :, 0]
        residual = np.where(known, centred - z @ loading.T, 0)
        spread = np.einsum("dk,nkl,dl,nd->", loading, covariance, loading, known.astype(float), optimize=True)
        before, noise = noise, max((np.square(residual).sum() + spread) / known.sum(), LEAST_NOISE * variance, 1e-30)
        if abs(before - noise) < CLOSE * before:
            break
    return Filling(mean, loading, float(noise))


def _codes(centred: np.ndarray, known: np.ndarray, loading: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Means (n, K) and covariances (n, K, K) of z given what is known of each row; `centred` is 0 elsewhere."""
    latents = loading.shape[1]
    products = (loading[:, :, None] * loading[:, None, :]).reshape(len(loading), -1)
    precision = (known @ products).reshape(-1, latents, latents) / noise + np.eye(latents)
    covariance = np.linalg.inv(precision)
    return np.einsum("nkl,nl->nk", covariance, centred @ loading / noise), covariance
