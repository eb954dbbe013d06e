"""MCC: mean correlation of factors with the latents matched to them."""

from functools import partial
from typing import Any

import numpy as np

from partita.measures._arrays import as_pair
from partita.metrics._inputs import check_protocol, column_scaled
from partita.metrics.score import Parts, Score, scored


def mcc(
    codes: Any,
    factors: Any,
    *,
    protocol: str = "khemakhem-2020",
    seed: int = 0,
    by: str = "pearson",
    interval: float | None = None,
    resamples: int = 100,
) -> Score:
    """Mean correlation coefficient (Hyvarinen and Morioka 2016; Khemakhem et al. 2020): identifiability up to order.

    |correlation| of every latent with every factor, `by` "pearson" or "spearman" (then monotone maps do not matter),
    one latent a factor by linear assignment, mean over the factors; a factor left without a latent counts 0. Factors
    may be continuous; constant ones are left out.

    Parameters
    ----------
    codes : array (n, K)
        Latents, one row an observation: posterior means, say.
    factors : array (n, F)
        Class indices of the factors of variation, integers unless said.
    protocol : str
        Whose definition, by name: "khemakhem-2020".
    seed : int
        Of whatever is drawn: the same seed gives the same score.
    by : str
        The correlation: "pearson" or "spearman".
    interval : float, optional
        Level of an interval, 0.95 say; none unless given.
    resamples : int
        Draws that the interval is made from.

    Returns
    -------
    Score
        `float(score)` is its value; `.parts` has what it was made of.

    Examples
    --------
    >>> import numpy as np
    >>> factors = np.stack([column.ravel() for column in np.indices((4, 5))], 1)
    >>> codes = np.tile(factors, (20, 1)) * [1.0, -2.0]
    >>> score = mcc(codes, np.tile(factors, (20, 1)))
    >>> round(score.value, 1)
    1.0
    """
    check_protocol(protocol, ("khemakhem-2020",), "mcc")
    if by not in ("pearson", "spearman"):
        raise ValueError(f"by must be 'pearson' or 'spearman', got {by!r}")
    codes, factors = (column_scaled(x) for x in as_pair(codes, factors))
    return scored(
        partial(_mcc, ranks=by == "spearman"),
        [codes, factors],
        protocol=protocol,
        settings={"by": by},
        seed=seed,
        interval=interval,
        resamples=resamples,
    )


def _mcc(codes: np.ndarray, factors: np.ndarray, ranks: bool) -> tuple[float, Parts]:
    from scipy.optimize import linear_sum_assignment

    present = np.ptp(factors, axis=0) > 0
    matrix = absolute_correlation(codes, factors[:, present], ranks)
    latents, columns = linear_sum_assignment(matrix, maximize=True)
    kept = np.flatnonzero(present)
    assignment = np.full(factors.shape[1], -1)
    assignment[kept[columns]] = latents
    per_factor = np.full(factors.shape[1], np.nan)
    per_factor[kept] = 0.0
    per_factor[kept[columns]] = matrix[latents, columns]
    value = float(per_factor[present].mean()) if present.any() else 0.0
    return value, {"per_factor": per_factor, "assignment": assignment, "correlation": matrix}


def absolute_correlation(first: np.ndarray, second: np.ndarray, ranks: bool) -> np.ndarray:
    """|correlation| of the columns, 0 where one of them is constant."""
    if ranks:
        from scipy.stats import rankdata

        first, second = rankdata(first, axis=0), rankdata(second, axis=0)
    return np.abs(_unit(first).T @ _unit(second))


def _unit(x: np.ndarray) -> np.ndarray:
    """Centred columns of length 1; a constant column becomes 0."""
    x = np.where(np.ptp(x, axis=0) > 0, x - x.mean(0), 0.0)
    length = np.sqrt((x**2).sum(0))
    return x / np.where(length > 0, length, 1.0)
