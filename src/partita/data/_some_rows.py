"""Which rows to look at, where all would take too long; the same every time."""

import numpy as np

ROWS_LOOKED_AT = 2000  # unless there is a reason for another number


def spread_rows(size: int, most: int = ROWS_LOOKED_AT) -> np.ndarray:
    """Up to `most` of `size` rows, spread evenly over them, the first and the last among them, in order."""
    return np.unique(np.linspace(0, size - 1, min(size, most)).astype(int))


def some_rows(size: int, most: int = ROWS_LOOKED_AT) -> np.ndarray:
    """All rows, or `most` of them drawn without looking at anything, in order."""
    return np.arange(size) if size <= most else np.sort(shuffled_rows(size, most))


def shuffled_rows(size: int, most: int | None = None) -> np.ndarray:
    """All rows, or `most` of them, in random order: neighbours in a recording resemble each other, and data sets come
    sorted by their factors."""
    return np.random.default_rng(0).choice(size, min(size, most or size), replace=False)
