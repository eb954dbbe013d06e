"""Codes and factors as the metrics want them, or one clear line about what is wrong."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from partita.data._switch import limits_are_no_news
from partita.measures._arrays import as_pair
from partita.metrics._histogram import equal_width

FAR_FROM_ZERO = 1024.0  # half ranges
SINGLE = 1e30  # tree libraries see single precision, and 0 below 1e-35
DOUBLE = 1e100  # squares and their sums neither overflow nor vanish


class UntrainedClasses(UserWarning):
    """Rows to be predicted hold values of a factor that no training row has."""


def column_scaled(x: np.ndarray) -> np.ndarray:
    """For what ignores units: columns out of all proportion times a power of two, so that no digit changes.

    A column far from 0 is moved there, exactly. All others stay as they are.
    """
    return _near_zero(_by_powers(x, np.abs(x).max(0)))


def jointly_scaled(x: np.ndarray) -> np.ndarray:
    """The same with one power for all columns, where their sizes are compared."""
    return _near_zero(_by_powers(x, np.abs(x).max()))


def in_own_units(x: np.ndarray, metric: str) -> np.ndarray:
    """For what depends on units, but not on where 0 is."""
    check_units(x, metric)
    return _near_zero(x)


def check_units(x: np.ndarray, metric: str, name: str = "codes") -> None:
    """Refuses units out of all proportion where they matter."""
    largest = np.abs(x).max()
    if not _within(largest, DOUBLE):
        raise ValueError(f"{metric} depends on the units of the {name}, which reach {largest:.1e}: rescale them first")


def _within(largest: np.ndarray, bound: float) -> np.ndarray:
    return (largest == 0) | ((1 / bound < largest) & (largest < bound))


def _by_powers(x: np.ndarray, largest: np.ndarray) -> np.ndarray:
    return np.ldexp(x, np.where(_within(largest, SINGLE), 0, -np.frexp(largest)[1]))


def _near_zero(x: np.ndarray) -> np.ndarray:
    low, high = x.min(0), x.max(0)
    middle, reach = low / 2 + high / 2, high / 2 - low / 2
    return np.where((reach > 0) & (np.abs(middle) > FAR_FROM_ZERO * reach), x - middle, x)


def codes_and_labels(
    codes: Any,
    factors: Any,
    metric: str,
    factor_bins: int | None = None,
    scaled: Callable[[np.ndarray], np.ndarray] = column_scaled,
) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n, K) float64, `scaled`, and factors (n, F) as class numbers 0..classes-1 in the order of their values.

    `factor_bins` puts continuous factors into that many equal widths first.
    """
    codes, factors = as_pair(codes, factors)
    if factor_bins is not None:
        factors = equal_width(column_scaled(factors), factor_bins)
    return scaled(codes), as_labels(factors, metric)


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


def warn_of_untrained(labels: np.ndarray) -> None:
    """`UntrainedClasses`, once, where the last third of the rows holds values that the rows before it do not."""
    rows = training_rows(len(labels))
    for f, column in enumerate(labels.T):
        new = np.setdiff1d(column[rows:], column[:rows])
        if len(new):
            warnings.warn(
                f"factor {f}: {len(new)} of its {len(np.unique(column))} values are in the test rows alone (the last"
                " third), so sap, dci and explicitness ask for what was never trained on: give rows in random order, or"
                " more of them",
                UntrainedClasses,
                stacklevel=3,
            )
            return


def quietly(fit, *arguments):
    """scikit-learn's iteration limit is part of the protocols; reaching it is no news."""
    with limits_are_no_news:
        return fit(*arguments)
