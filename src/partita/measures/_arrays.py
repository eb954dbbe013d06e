"""Arrays from outside, checked once: float64 matrices with rows for observations."""

from typing import Any

import numpy as np


def as_matrix(values: Any, name: str) -> np.ndarray:
    """`values` (array, tensor or nested list) as a finite float64 matrix (n, columns); a vector becomes one column."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    try:
        matrix = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers, got {type(values).__name__}") from None
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2:
        raise ValueError(f"{name} must be a matrix (n, columns), got shape {matrix.shape}")
    if matrix.shape[0] == 0 or matrix.shape[1] == 0:
        raise ValueError(f"{name} is empty: shape {matrix.shape}")
    bad = ~np.isfinite(matrix)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"{name} holds {matrix[row, column]} at row {row}, column {column}: remove or impute such rows"
        )
    return matrix


def checked_weights(sample_weight: Any, rows: int) -> np.ndarray | None:
    """Weights (n,) with mean 1, or None; ValueError where they are none."""
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must be a number a row") from None
    if weight.shape != (rows,):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected ({rows},): one number a row")
    if not np.isfinite(weight).all() or (weight < 0).any():
        bad = int(np.argmin(np.isfinite(weight) & (weight >= 0)))
        raise ValueError(f"sample_weight must be finite and not negative, got {weight[bad]:g} at row {bad}")
    if not weight.any():
        raise ValueError("sample_weight is zero for all rows: there is nothing to learn from")
    return weight / weight.mean()


def unit_scale(x: np.ndarray) -> np.ndarray:
    """What to divide each column by for unit deviation; 1 for a constant one, whose deviation is only rounding."""
    return np.where(np.ptp(x, axis=0) > 0, x.std(0), 1.0)


def as_pair(first: Any, second: Any, names: tuple[str, str] = ("codes", "factors")) -> tuple[np.ndarray, np.ndarray]:
    """Both as matrices with the same number of rows."""
    one, two = as_matrix(first, names[0]), as_matrix(second, names[1])
    if len(one) != len(two):
        raise ValueError(
            f"{names[0]} has {len(one)} rows but {names[1]} has {len(two)}: they must describe the same data"
        )
    return one, two
