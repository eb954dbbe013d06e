"""Modularity: a latent knows one factor."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from partita.metrics._group_information import BETWEEN_GROUPS, Grouping, group_information, grouping, protocol_of
from partita.metrics._histogram import equal_width, information_matrix
from partita.metrics._inputs import check_protocol, codes_and_labels
from partita.metrics.score import Parts, Score, scored

PROTOCOLS = ("dlib-2019", "ubisoft-2020")


MODULARITY_PROTOCOLS = (*PROTOCOLS, BETWEEN_GROUPS)


def modularity(
    codes: Any,
    factors: Any,
    *,
    protocol: str = "dlib-2019",
    seed: int = 0,
    bins: int = 20,
    factor_bins: int | None = None,
    groups: Sequence | None = None,
    factor_groups: Sequence | None = None,
    neighbours: int = 10,
    interval: float | None = None,
    resamples: int = 100,
) -> Score:
    """Modularity (Ridgeway and Mozer 2018, eq. 2): mean over latents of 1 - sum_{f != best} I_f^2 / (I_best^2 (F - 1)).

    Histogram information in `bins` equal widths; with `groups` that of "nearest-neighbours". Dead latents count as 0
    and all latents weigh the same, so a latent of pure noise, whose information is all bias, drags it anywhere. High
    even for rotated codes (0.92 on the golden ones). "dlib-2019" and "ubisoft-2020" agree.

    Parameters
    ----------
    codes : array (n, K)
        Latents, one row an observation: posterior means, say.
    factors : array (n, F)
        Class indices of the factors of variation, integers unless said.
    protocol : str
        Whose definition, by name: "dlib-2019", "ubisoft-2020", "nearest-neighbours".
    seed : int
        Of whatever is drawn: the same seed gives the same score.
    bins : int
        Equal widths that codes are cut into.
    factor_bins : int, optional
        Equal widths that real-valued factors are cut into.
    groups : sequence, optional
        Sizes or tuples of indices: latents that belong together.
    factor_groups : sequence, optional
        The same of factors.
    neighbours : int
        Nearest neighbours of the estimator between groups.
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
    >>> score = modularity(codes, np.tile(factors, (20, 1)))
    >>> round(score.value, 1)
    1.0
    """
    check_protocol(protocol, MODULARITY_PROTOCOLS, "modularity")
    codes, labels = codes_and_labels(codes, factors, "modularity", factor_bins)
    blocks = grouping(groups, factor_groups, codes.shape[1], labels.shape[1])
    protocol = protocol_of(protocol, PROTOCOLS[0], blocks, "modularity")
    compute = partial(_modularity, bins=bins, blocks=blocks, neighbours=neighbours, seed=seed)
    settings = {"neighbours": neighbours} if blocks else {"bins": bins}
    return scored(
        compute,
        [codes, labels],
        protocol=protocol,
        settings=settings,
        seed=seed,
        interval=interval,
        resamples=resamples,
    )


def _modularity(
    codes: np.ndarray, labels: np.ndarray, bins: int, blocks: Grouping | None, neighbours: int, seed: int
) -> tuple[float, Parts]:
    if blocks is None:
        matrix = information_matrix(equal_width(codes, bins), labels)
    else:
        matrix = group_information(codes, labels, blocks, neighbours, seed)[0]
    squared = matrix**2
    best = squared.max(1)
    others = max(matrix.shape[1] - 1, 1)
    excess = np.divide(squared.sum(1) - best, best * others, out=np.ones_like(best), where=best > 0)
    per_latent = 1 - excess
    return float(per_latent.mean()), {"per_latent": per_latent, "information": matrix}
