"""Mutual information of binned codes and discrete factors."""

import numpy as np


def equal_width(codes: np.ndarray, bins: int) -> np.ndarray:
    """Bin numbers 0..bins-1 of each column, `bins` equal widths between its minimum and maximum (the maximum included).

    A constant column falls into one bin. Edges and comparison are those of NumPy's histogram, so that values on an
    edge land where disentanglement_lib puts them.
    """
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    columns = []
    for column in codes.T:
        edges = np.histogram_bin_edges(column, bins)
        columns.append(np.searchsorted(edges[:-1], column, side="right") - 1)
    return np.stack(columns, 1)


def entropies(labels: np.ndarray) -> np.ndarray:
    """Empirical entropy of each column of class numbers, nats."""
    return np.array([entropy_of_counts(np.bincount(column)) for column in labels.T])


def entropy_of_counts(counts: np.ndarray) -> float:
    p = counts[counts > 0] / counts.sum()
    return float(-(p * np.log(p)).sum())


def information_matrix(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """I(column of first; column of second) for class numbers, (columns of first, columns of second), nats.

    Plug-in estimates, biased up by about (rows - 1)(columns - 1) / 2n; exactly 0 where rounding leaves less than 1e-12,
    so that a dead latent knows nothing. All tables of a column at once, with x log x of every count looked up:
    I = (sum over cells - sum over rows - sum over columns) / n + log n.
    """
    n = len(first)
    starts = np.concatenate([[0], np.cumsum(second.max(0) + 1)])
    shifted = second + starts[:-1]
    counts = np.arange(1, n + 1)
    x_log_x = np.concatenate([[0.0], counts * np.log(counts)])
    each = np.add.reduceat(x_log_x[np.bincount(shifted.ravel(), minlength=starts[-1])], starts[:-1])
    levels = int(first.max()) + 1
    matrix = np.empty((first.shape[1], second.shape[1]))
    for k, column in enumerate(first.T):
        flat = (column[:, None] * starts[-1] + shifted).ravel()
        cells = x_log_x[np.bincount(flat, minlength=levels * starts[-1])].reshape(levels, -1).sum(0)
        own = x_log_x[np.bincount(column)].sum()
        matrix[k] = (np.add.reduceat(cells, starts[:-1]) - own - each) / n + np.log(n)
    return np.where(matrix > 1e-12, matrix, 0.0)


def top_two(matrix: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Largest and second largest along `axis`; the second is 0 where there is only one."""
    ordered = np.sort(matrix, axis=axis)
    first = np.take(ordered, -1, axis)
    second = np.take(ordered, -2, axis) if matrix.shape[axis] > 1 else np.zeros_like(first)
    return first, second


def per_code_entropy(matrix: np.ndarray, binned: np.ndarray) -> np.ndarray:
    entropy = entropies(binned)[:, None]
    return np.divide(matrix, entropy, out=np.zeros_like(matrix), where=entropy > 0)
