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


def joint_counts(first: np.ndarray, second: np.ndarray) -> list[list[np.ndarray]]:
    """Contingency table of every column of `first` with every column of `second`."""
    sizes = second.max(0) + 1
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    shifted = second + offsets[:-1]
    rows = int(first.max()) + 1
    tables = []
    for column in first.T:
        flat = (column[:, None] * offsets[-1] + shifted).ravel()
        table = np.bincount(flat, minlength=rows * offsets[-1]).reshape(rows, offsets[-1])
        tables.append(np.split(table, offsets[1:-1], axis=1))
    return tables


def information(table: np.ndarray) -> float:
    """Plug-in mutual information of a contingency table, nats; biased up by about (rows - 1)(columns - 1) / 2n.

    Exactly 0 where rounding leaves less than 1e-12, so that a dead latent knows nothing.
    """
    joint = table / table.sum()
    independent = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    seen = joint > 0
    known = float((joint[seen] * np.log(joint[seen] / independent[seen])).sum())
    return known if known > 1e-12 else 0.0


def information_matrix(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """I(column of first; column of second) for class numbers, (columns of first, columns of second), nats."""
    return np.array([[information(table) for table in row] for row in joint_counts(first, second)])


def top_two(matrix: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Largest and second largest along `axis`; the second is 0 where there is only one."""
    ordered = np.sort(matrix, axis=axis)
    first = np.take(ordered, -1, axis)
    second = np.take(ordered, -2, axis) if matrix.shape[axis] > 1 else np.zeros_like(first)
    return first, second
