"""What numbers are, as far as they show it: counts, booleans, fractions; and in words, what follows."""

import numpy as np

ROUNDING = 1e-6  # of numbers that were scaled to [0, 1]
AT_THE_ENDS = 0.1  # of fractions, as many as this at 0 and 1: pixels, say, which are dark or bright
# Of the mean, a count's variance; less is no count's: years, ages and marks are whole numbers, too.
LEAST_DISPERSION = 0.5
BRIGHTEST, AT_THE_BRIGHTEST = 255, 1e-3  # whole numbers that often end there are pixels in bytes
# Of all numbers, at the largest: counts thin out towards theirs; pixels of 16 greys, marks, copies of a gene pile up.
AT_THE_CEILING, FEWEST_THERE = 0.01, 10
ZEROS = 0.3  # of a matrix of counts of genes, at least


def between_0_and_1(values: np.ndarray) -> np.ndarray:
    return (values >= -ROUNDING) & (values <= 1 + ROUNDING)


def whole_counts(values: np.ndarray) -> np.ndarray:
    return (values >= 0) & (values == np.round(values))


def probabilities(values: np.ndarray) -> str:
    """Why values are what a Bernoulli distribution takes, or ""."""
    known = values[np.isfinite(values)]
    if not known.size or known.min() < 0 or known.max() > 1:
        return ""
    if values.ndim == 4:
        return "images with values between 0 and 1 count as pixel probabilities"
    at_the_ends = np.isin(known, (0, 1)).mean()
    if at_the_ends == 1 and known.min() < known.max():
        return "booleans, all 0 or 1, are true with some probability"
    if at_the_ends >= AT_THE_ENDS and known.min() < known.max():
        return "fractions between 0 and 1, of which many are just 0 or 1, count as probabilities"
    return ""


def counts(values: np.ndarray) -> str:
    """Why values are counts, or ""."""
    known = values[np.isfinite(values)]
    if not known.size or not whole_counts(known).all() or known.max() < 2:
        return ""
    if _has_a_ceiling(known):
        return ""
    rows = np.where(np.isfinite(values), values, np.nan).reshape(len(values), -1)
    with np.errstate(all="ignore"):
        mean, variance = _means(rows), _means(np.square(rows - _means(rows)))
    varying = variance > 0
    if not varying.any() or np.median(variance[varying] / mean[varying]) < LEAST_DISPERSION:
        return ""
    return (
        f"whole numbers from {known.min():g} to {known.max():g} that vary as counts do get a count's distribution, "
        "with a dispersion for each feature"
    )


def _has_a_ceiling(known: np.ndarray) -> bool:
    """Whether whole numbers cannot go beyond their largest, as far as they show: many are there, and no fewer than one
    below."""
    top = known.max()
    there, below = (known == top).sum(), (known == top - 1).sum()
    if top == BRIGHTEST and there > AT_THE_BRIGHTEST * known.size:
        return True
    return bool(there >= max(FEWEST_THERE, AT_THE_CEILING * known.size) and there >= below)


def real_numbers(values: np.ndarray) -> str:
    """Which real numbers these are; a Gaussian takes all of them."""
    known = values[np.isfinite(values)]
    what = "real numbers"
    if known.size and known.min() >= 0 and known.max() <= 1:
        what = "fractions between 0 and 1, few of them just 0 or 1,"
    elif known.size and whole_counts(known).all():
        what = "whole numbers that are no counts, pixels or marks say,"
        if _has_a_ceiling(known):
            what = f"whole numbers that pile up at their largest, {known.max():g}, pixels or marks say and no counts,"
    elif (words := normalised_counts(values)) != "":
        what = f"{words}: raw counts would get a count's distribution; these"
    return f"{what} get a Gaussian with one learned variance"


def no_counts(values: np.ndarray) -> str:
    """What numbers may be that should have been counts, and what to do."""
    words = normalised_counts(values, zeros=0.0)  # who asks for counts has a matrix of them in mind
    if words:
        return f"; this is {words}: give the raw counts, or use likelihood='gaussian'"
    if (values[np.isfinite(values)] < 0).any():
        return "; counts are never negative: give the raw counts, or use likelihood='gaussian'"
    return "; counts are whole: give the raw counts, or use likelihood='gaussian'"


def normalised_counts(values: np.ndarray, zeros: float = ZEROS) -> str:
    """In words, whether these look like counts of genes that somebody normalised or took logarithms of; or ""."""
    rows = values.reshape(len(values), -1)
    known = np.isfinite(rows).all(1)
    rows = rows[known]
    if len(rows) < 2 or rows.min() < 0 or (rows == 0).mean() < zeros or whole_counts(rows).all():
        return ""
    if _alike(rows.sum(1)):
        return f"a matrix of counts already normalised to {rows.sum(1).mean():.4g} a row"
    if rows.max() < 30 and _alike(np.expm1(rows).sum(1)):
        return f"a matrix of counts already normalised to {np.expm1(rows).sum(1).mean():.4g} a row, as log(1 + x)"
    if rows.max() < 30 and whole_counts(np.round(np.expm1(rows), 3)).all():
        return "a matrix of counts already taken as log(1 + x)"
    return ""


def _alike(totals: np.ndarray) -> bool:
    return bool(totals.mean() > 0 and np.ptp(totals) < 1e-3 * totals.mean())


def _means(rows: np.ndarray) -> np.ndarray:
    known = np.isfinite(rows)
    return np.where(known, rows, 0).sum(0) / np.maximum(known.sum(0), 1)
