"""How latents become observations: a random linear map, or a bent one that is invertible with a known condition."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

MIXINGS = ("linear", "nonlinear")


@dataclass(frozen=True)
class Mixing:
    """`mix` takes (n, K) to (n, features); the condition number of its Jacobian is nowhere above `condition`."""

    mix: Callable[[np.ndarray], np.ndarray]
    unmix: Callable[[np.ndarray], np.ndarray]
    condition: float


def mixing_named(
    name: str, latents: int, features: int, rng: np.random.Generator, *, condition: float = 10.0, layers: int = 2
) -> Mixing:
    """`linear`: x = A z with entries of A from N(0, 1). `nonlinear`: see `bent`."""
    if name == "linear":
        matrix = rng.standard_normal((features, latents))
        return Mixing(lambda z: z @ matrix.T, lambda x: x @ np.linalg.pinv(matrix).T, float(np.linalg.cond(matrix)))
    if name == "nonlinear":
        return bent(latents, features, rng, condition, layers)
    raise ValueError(f"mixing must be {' or '.join(MIXINGS)}, got {name!r}")


def bent(latents: int, features: int, rng: np.random.Generator, condition: float, layers: int) -> Mixing:
    """x = sqrt(features) Q f(R_L ... f(R_1 z)): rotations R, the bend f(t) = s t + (1 - s) tanh(t), and Q with
    orthonormal columns.

    f' lies in (s, 1], so the singular values of the Jacobian lie in sqrt(features) [s^L, 1] and with
    s = condition^(-1/L) its condition number is at most `condition`, everywhere.
    """
    if features < latents:
        raise ValueError(f"nonlinear mixing needs at least as many features as latents, got {features} < {latents}")
    if not condition >= 1 or layers < 1:
        raise ValueError(f"condition must be at least 1 and layers at least 1, got {condition!r}, {layers!r}")
    slope = float(condition) ** (-1 / layers)
    rotations = [np.linalg.qr(rng.standard_normal((latents, latents)))[0] for _ in range(layers)]
    lift = np.sqrt(features) * np.linalg.qr(rng.standard_normal((features, latents)))[0]

    def mix(z: np.ndarray) -> np.ndarray:
        for rotation in rotations:
            turned = z @ rotation.T
            z = slope * turned + (1 - slope) * np.tanh(turned)
        return z @ lift.T

    def unmix(x: np.ndarray) -> np.ndarray:
        z = x @ lift / features
        for rotation in reversed(rotations):
            z = _straightened(z, slope) @ rotation
        return z

    return Mixing(mix, unmix, float(condition))


def _straightened(bent: np.ndarray, slope: float) -> np.ndarray:
    """t with slope * t + (1 - slope) * tanh(t) = bent, by bisection: the left side grows at least as slope * t."""
    low, high = (bent - 1) / slope - 1, (bent + 1) / slope + 1
    for _ in range(100):
        middle = (low + high) / 2
        below = slope * middle + (1 - slope) * np.tanh(middle) < bent
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2
