"""Regression of counts."""

import numpy as np

RIDGE = 1e-3
STEPS, CLOSE = 40, 1e-6
LONGEST = 1.0  # step in the logarithm of a rate: from further off, Newton's overshoots
NUMBERS_AT_ONCE = 1 << 22


def poisson_regression(counts: np.ndarray, known: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Effects (c, D) of what is known (n, c) on counts (n, D): log rates are log `expected` + known @ effects, by
    maximum likelihood with a small ridge, each feature in units of its total. Newton's method, some features at a
    time."""
    features, numbers = counts.shape[1], known.shape[1]
    most = max(1, NUMBERS_AT_ONCE // max(numbers**2, len(counts)))
    pieces = [slice(first, first + most) for first in range(0, features, most)]
    found = [_newton(counts[:, each].astype(np.float64), known, expected[:, each]) for each in pieces]
    return np.concatenate(found, 1) if found else np.zeros((numbers, 0))


def _newton(y: np.ndarray, known: np.ndarray, expected: np.ndarray) -> np.ndarray:
    total = np.maximum(y.sum(0), 1.0)
    effects = np.zeros((known.shape[1], y.shape[1]))
    ridge = 2 * RIDGE * np.eye(len(effects))
    squares = (known[:, :, None] * known[:, None, :]).reshape(len(known), -1)
    for _ in range(STEPS):
        rates = expected * np.exp(known @ effects)
        slope = known.T @ (rates - y) / total + 2 * RIDGE * effects
        curve = ((rates / total).T @ squares).reshape(-1, *ridge.shape) + ridge
        step = np.linalg.solve(curve, slope.T[..., None])[..., 0].T
        length = np.abs(known @ step).max(0)
        effects = effects - step * np.minimum(1, LONGEST / np.maximum(length, 1e-12))
        if length.max() < CLOSE:
            break
    return effects
