"""In which order rows are scored: metrics train on the first and test on the rest."""

from collections.abc import Sequence

import numpy as np

from partita.data._some_rows import shuffled_rows


def in_random_order(arrays: Sequence[np.ndarray | None]) -> list[np.ndarray | None]:
    """Arrays that lie side by side, as they are to be scored; whose lengths differ, as they are: the metrics say so."""
    given = [array for array in arrays if array is not None]
    if any(array.ndim > 2 for array in given) or len({len(array) for array in given}) != 1:
        return list(arrays)
    rows = shuffled_rows(len(given[0]))
    return [None if array is None else array[rows] for array in arrays]
