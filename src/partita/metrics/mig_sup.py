"""MIG-sup: the gap between the two factors that a latent knows best."""

from functools import partial
from typing import Any

import numpy as np

from partita.metrics._histogram import entropies, equal_width, information_matrix, per_code_entropy, top_two
from partita.metrics._inputs import check_protocol, codes_and_labels
from partita.metrics.score import Parts, Score, scored

GAP_PROTOCOLS = ("dlib-2019", "ubisoft-2020")


def mig_sup(
    codes: Any,
    factors: Any,
    *,
    protocol: str = "dlib-2019",
    seed: int = 0,
    bins: int = 20,
    factor_bins: int | None = None,
    interval: float | None = None,
    resamples: int = 100,
) -> Score:
    """MIG-sup (Li et al. 2020): mean over latents of the gap between the two factors a latent knows best.

    I(z; v) / H(v) by histogram in `bins` equal widths ("dlib-2019" binning); "ubisoft-2020" divides by the entropy of
    the binned code. Punishes merged factors, forgives split ones; a dead latent counts as 0.

    Parameters
    ----------
    codes : array (n, K)
        Latents, one row an observation: posterior means, say.
    factors : array (n, F)
        Class indices of the factors of variation, integers unless said.
    protocol : str
        Whose definition, by name: "dlib-2019", "ubisoft-2020".
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
    >>> score = mig_sup(codes, np.tile(factors, (20, 1)))
    >>> round(score.value, 1)
    1.0
    """
    check_protocol(protocol, GAP_PROTOCOLS, "mig_sup")
    codes, labels = codes_and_labels(codes, factors, "mig_sup", factor_bins)
    compute = partial(_mig_sup, bins=bins, by_code=protocol == "ubisoft-2020")
    settings = {"bins": bins, "estimator": "histogram"}
    return scored(
        compute,
        [codes, labels],
        protocol=protocol,
        settings=settings,
        seed=seed,
        interval=interval,
        resamples=resamples,
    )


def _mig_sup(codes: np.ndarray, labels: np.ndarray, bins: int, by_code: bool) -> tuple[float, Parts]:
    binned = equal_width(codes, bins)
    matrix = information_matrix(binned, labels)
    entropy = entropies(labels)
    if by_code:
        matrix = per_code_entropy(matrix, binned)
    else:
        matrix = np.divide(matrix, entropy, out=np.zeros_like(matrix), where=entropy > 0)
    best, second = top_two(matrix, 1)
    return float((best - second).mean()), {"per_latent": best - second, "information": matrix}
