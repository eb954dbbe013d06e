"""JEMMIG: a gap that also counts what else the best latent holds."""

from functools import partial
from typing import Any

import numpy as np

from partita.metrics._histogram import entropies, equal_width, information_matrix, top_two
from partita.metrics._inputs import check_protocol, codes_and_labels
from partita.metrics.score import Parts, Score, scored


def jemmig(
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
    """JEMMIG (Do and Tran 2020, eq. 18), reported as 1 - JEMMIG / (H(factor) + log bins), higher is better.

    JEMMIG = H(z_best, v) - I(z_best; v) + I(z_second; v), histogram in `bins` equal widths, mean over factors.

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
    >>> score = jemmig(codes, np.tile(factors, (20, 1)))
    >>> round(score.value, 1)
    1.0
    """
    check_protocol(protocol, ("ubisoft-2020",), "jemmig")
    codes, labels = codes_and_labels(codes, factors, "jemmig", factor_bins)
    settings = {"bins": bins, "estimator": "histogram"}
    return scored(
        partial(_jemmig, bins=bins),
        [codes, labels],
        protocol=protocol,
        settings=settings,
        seed=seed,
        interval=interval,
        resamples=resamples,
    )


def _jemmig(codes: np.ndarray, labels: np.ndarray, bins: int) -> tuple[float, Parts]:
    binned = equal_width(codes, bins)
    matrix = information_matrix(binned, labels)
    best, second = top_two(matrix, 0)
    entropy = entropies(labels)
    # H(z, v) = H(z) + H(v) - I(z; v)
    joint = entropies(binned)[matrix.argmax(0)] + entropy - best
    scale = entropy + np.log(bins)
    present = entropy > 0
    per_factor = np.where(present, 1 - (joint - best + second) / np.where(present, scale, 1.0), np.nan)
    return (float(per_factor[present].mean()) if present.any() else 0.0), {"per_factor": per_factor}
