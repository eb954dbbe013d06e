"""Codes and factors as the metrics want them, or one clear line about what is wrong."""

from typing import Any

import numpy as np

from partita.measures.arrays import as_pair
from partita.metrics.histogram import equal_width


def codes_and_labels(
    codes: Any, factors: Any, metric: str, factor_bins: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n, K) float64 and factors (n, F) as class numbers 0..classes-1 in the order of their values.

    `factor_bins` puts continuous factors into that many equal widths first.
    """
    codes, factors = as_pair(codes, factors)
    if factor_bins is not None:
        factors = equal_width(factors, factor_bins)
    return codes, as_labels(factors, metric)


def as_labels(factors: np.ndarray, metric: str) -> np.ndarray:
    rounded = np.rint(factors)
    if not np.array_equal(rounded, factors):
        row, column = np.argwhere(rounded != factors)[0]
        raise ValueError(
            f"{metric} needs discrete factors (integers), but factors[{row}, {column}] is {factors[row, column]:g}:"
            " bin them first (factor_bins=20 where the metric has it), or use sap or dci with continuous=True, or mcc"
        )
    return np.stack([np.unique(column, return_inverse=True)[1] for column in rounded.T], 1)


def class_counts(labels: np.ndarray) -> np.ndarray:
    """Number of classes of each column of class numbers."""
    return labels.max(0) + 1


def varying(labels: np.ndarray) -> np.ndarray:
    """Which factors take more than one value; a constant factor carries nothing to find."""
    return class_counts(labels) > 1


def check_protocol(protocol: str, known: tuple[str, ...], metric: str) -> None:
    if protocol not in known:
        raise ValueError(f"{metric} has no protocol {protocol!r}: choose {' or '.join(map(repr, known))}")


def training_rows(n: int) -> int:
    """How many leading rows train under "dlib-2019": ceil(2n/3), leaving at least one to test where n > 1."""
    return min(-(-2 * n // 3), max(n - 1, 1))
