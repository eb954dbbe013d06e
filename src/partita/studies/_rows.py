"""Which rows of a data set are looked at, and in which order they are scored."""

from collections.abc import Sequence

import numpy as np


def some_rows(size: int, most: int) -> np.ndarray:
    """All rows, or `most` of them drawn without looking at anything, in the order of the data."""
    return np.arange(size) if size <= most else np.sort(rows_to_score(size, most))


def rows_to_score(size: int, most: int | None = None) -> np.ndarray:
    """All rows, or `most` of them, in random order, always the same: metrics train on the first and test on the rest,
    and data sets come sorted by their factors."""
    return np.random.default_rng(0).choice(size, min(size, most or size), replace=False)


def in_random_order(arrays: Sequence[np.ndarray | None]) -> list[np.ndarray | None]:
    """Arrays that lie side by side, as they are to be scored; whose lengths differ, as they are: the metrics say so."""
    given = [array for array in arrays if array is not None]
    if any(array.ndim > 2 for array in given) or len({len(array) for array in given}) != 1:
        return list(arrays)
    rows = rows_to_score(len(given[0]))
    return [None if array is None else array[rows] for array in arrays]
