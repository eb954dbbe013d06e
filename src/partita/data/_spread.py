"""Which rows to look at, where all would take too long."""

import numpy as np


def spread_rows(size: int, most: int) -> np.ndarray:
    """Numbers of up to `most` of `size` rows, spread evenly over them, the first and the last among them, in order."""
    return np.unique(np.linspace(0, size - 1, min(size, most)).astype(int))
