"""DCIMIG: one gap for merged and split factors together."""

from functools import partial
from typing import Any

import numpy as np

from partita.metrics._histogram import entropies, equal_width, information_matrix, top_two
from partita.metrics._inputs import check_protocol, codes_and_labels
from partita.metrics.score import Parts, Score, scored


def dcimig(
    codes: Any,
    factors: Any,
    *,
    protocol: str = "ubisoft-2020",
    seed: int = 0,
    bins: int = 20,
    factor_bins: int | None = None,
    interval: float | None = None,
    resamples: int = 100,
) -> Score:
    """DCIMIG, the "3CharM" score (Sepliarskaia et al. 2019): punishes merged and split factors at once.

    Each latent is credited to the factor it knows best with its gap to the second; each factor keeps its best credit;
    their sum is divided by the summed factor entropies. Histogram in `bins` equal widths.

    Parameters
    ----------
    codes : array (n, K)
        Latents, one row an observation: posterior means, say.
    factors : array (n, F)
        Class indices of the factors of variation, integers unless said.
    protocol : str
        Whose definition, by name: "ubisoft-2020".
    seed : int
        Of whatever is drawn: the same seed gives the same score.
    bins : int
        Equal widths that codes are cut into.
    factor_bins : int, optional
        Equal widths that real-valued factors are cut into.
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
    >>> score = dcimig(codes, np.tile(factors, (20, 1)))
    >>> round(score.value, 1)
    1.0
    """
    check_protocol(protocol, ("ubisoft-2020",), "dcimig")
    codes, labels = codes_and_labels(codes, factors, "dcimig", factor_bins)
    settings = {"bins": bins, "estimator": "histogram"}
    return scored(
        partial(_dcimig, bins=bins),
        [codes, labels],
        protocol=protocol,
        settings=settings,
        seed=seed,
        interval=interval,
        resamples=resamples,
    )


def _dcimig(codes: np.ndarray, labels: np.ndarray, bins: int) -> tuple[float, Parts]:
    matrix = information_matrix(equal_width(codes, bins), labels)
    best, second = top_two(matrix, 1)
    credit = np.zeros(labels.shape[1])
    np.maximum.at(credit, matrix.argmax(1), best - second)
    entropy = entropies(labels)
    total = entropy.sum()
    return (float(credit.sum() / total) if total > 0 else 0.0), {"per_factor": credit, "entropy": entropy}
