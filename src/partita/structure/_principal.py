"""Principal coordinates of rows, made white, and how much of them is noise."""

from dataclasses import dataclass

import numpy as np

WIDE = 1500  # features of rows of which only the leading directions are looked for


@dataclass(frozen=True)
class Principal:
    """The leading principal coordinates of rows: y = (x - mean) @ axes.T / sqrt(variance) is white; `noise` is the mean
    variance of the directions left out, and `signals` how many of the coordinates are more than noise."""

    mean: np.ndarray  # (D,)
    axes: np.ndarray  # (K, D)
    variance: np.ndarray  # (K,)
    noise: float
    signals: int

    @classmethod
    def of(cls, x: np.ndarray, latents: int) -> "Principal":
        mean = x.mean(0)
        centred = x - mean
        if x.shape[1] > WIDE:
            return cls._of_wide(centred, mean, latents)
        values, vectors = np.linalg.eigh(centred.T @ centred / len(x))
        values, axes = np.maximum(values[::-1], 0), vectors[:, ::-1].T
        least = 1e-6 * max(float(values.mean()), 1e-12)
        noise = float(values[latents:].mean()) if latents < len(values) else 0.0
        noise = max(noise, least)
        signals = min(latents, signals_of(values, len(x))) if latents < len(values) else latents
        return cls(mean, axes[:latents], np.maximum(values[:latents], 1.001 * noise), noise, signals)

    @classmethod
    def _of_wide(cls, centred: np.ndarray, mean: np.ndarray, latents: int) -> "Principal":
        """The leading coordinates alone, by randomised subspace iteration: all of them would take minutes."""
        from sklearn.utils.extmath import randomized_svd

        _, singular, axes = randomized_svd(centred, latents, n_iter=7, random_state=0)  # type: ignore[arg-type]
        values, total = singular**2 / len(centred), float(np.square(centred).sum() / len(centred))
        least = 1e-6 * max(total / len(mean), 1e-12)
        noise = max((total - float(values.sum())) / max(len(mean) - latents, 1), least)
        return cls(mean, axes, np.maximum(values, 1.001 * noise), noise, latents)

    def white(self, x: np.ndarray) -> np.ndarray:
        return (x - self.mean) @ self.axes.T / np.sqrt(self.variance)

    @property
    def signal(self) -> np.ndarray:
        """The standard deviation of each coordinate without its noise."""
        return np.sqrt(np.maximum(self.variance - self.noise, 1e-3 * self.variance))


def signals_of(values: np.ndarray, rows: int) -> int:
    """How many of the directions of these variances, the largest first, are more than noise: the number with the best
    BIC of probabilistic PCA (Minka 2000 counts its parameters), at least 1. Right where noise is the same for all
    features; more where it differs."""
    features = len(values)
    values = np.maximum(values, 1e-12 * max(float(values.mean()), 1e-12))
    scores = []
    for k in range(1, min(rows // 2, features - 1) + 1):
        left = features - k
        log_p = -0.5 * rows * (np.log(values[:k]).sum() + left * np.log(values[k:].mean()) + features)
        scores.append(log_p - 0.5 * np.log(rows) * (features * k - k * (k - 1) / 2 + features + 1))
    return int(np.argmax(scores)) + 1 if scores else 1
