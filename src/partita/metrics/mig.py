"""The mutual information gap: between the two latents that know a factor best."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from partita.measures._mixture import mixture_information
from partita.metrics._group_information import BETWEEN_GROUPS, Grouping, group_information, grouping, protocol_of
from partita.metrics._histogram import entropies, equal_width, information_matrix, per_code_entropy, top_two
from partita.metrics._inputs import check_protocol, codes_and_labels, column_scaled, in_own_units
from partita.metrics.score import Parts, Score, scored

MIG_PROTOCOLS = ("dlib-2019", "ubisoft-2020", "chen-2018", BETWEEN_GROUPS)


def mig(
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
    log_variance: Any = None,
    interval: float | None = None,
    resamples: int = 100,
) -> Score:
    """Mutual information gap (Chen et al. 2018, eq. 6): mean over factors of (I_best - I_second) / H(factor).

    "dlib-2019": histogram information of the codes in `bins` equal widths, empirical factor entropy. "ubisoft-2020"
    divides each I by the entropy of the binned code instead (a known fault, kept for comparison). "chen-2018": codes
    are posterior means, `log_variance` their posteriors' log variances; entropies by one draw a row under the mixture
    of all rows, divided by log(number of values). With `groups` (and `factor_groups`) the gap is between groups, I by
    nearest neighbours: "nearest-neighbours". `factor_bins` cuts continuous factors into equal widths. Histogram
    information is biased up by about (bins-1)(values-1)/2n. Does not punish a latent that holds several factors.
    Constant factors are left out.

    Parameters
    ----------
    codes : array (n, K)
        Latents, one row an observation: posterior means, say.
    factors : array (n, F)
        Class indices of the factors of variation, integers unless said.
    protocol : str
        Whose definition, by name: "dlib-2019", "ubisoft-2020", "chen-2018", "nearest-neighbours".
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
    log_variance : array (n, K), optional
        Log-variances of the posteriors.
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
    >>> score = mig(codes, np.tile(factors, (20, 1)))
    >>> round(score.value, 1)
    1.0
    """
    check_protocol(protocol, MIG_PROTOCOLS, "mig")
    # beside log variances the means keep their units
    scaled = partial(in_own_units, metric='mig by "chen-2018"') if protocol == "chen-2018" else column_scaled
    codes, labels = codes_and_labels(codes, factors, "mig", factor_bins, scaled)
    blocks = grouping(groups, factor_groups, codes.shape[1], labels.shape[1])
    protocol = protocol_of(protocol, MIG_PROTOCOLS[0], blocks, "mig")
    arrays = [codes, labels]
    settings: dict[str, Any] = {"bins": bins, "estimator": "histogram"}
    if blocks is not None:
        compute = partial(_group_mig, blocks=blocks, neighbours=neighbours, seed=seed)
        settings = {"neighbours": neighbours, "estimator": "nearest neighbours", "groups": blocks.latents}
    elif protocol == "chen-2018":
        arrays.append(_posterior_log_variance(log_variance, codes))
        compute = partial(_mixture_mig, seed=seed)
        settings = {"estimator": "mixture entropies, one draw a row"}
    else:
        compute = partial(_histogram_mig, bins=bins, by_code=protocol == "ubisoft-2020")
    return scored(
        compute, arrays, protocol=protocol, settings=settings, seed=seed, interval=interval, resamples=resamples
    )


def _gap_parts(matrix: np.ndarray, normaliser: np.ndarray) -> tuple[float, Parts]:
    best, second = top_two(matrix, 0)
    present = normaliser > 0
    gaps = np.where(present, (best - second) / np.where(present, normaliser, 1.0), np.nan)
    parts = {"per_factor": gaps, "information": matrix, "entropy": normaliser, "best": matrix.argmax(0)}
    return (float(gaps[present].mean()) if present.any() else 0.0), parts


def _histogram_mig(codes: np.ndarray, labels: np.ndarray, bins: int, by_code: bool) -> tuple[float, Parts]:
    binned = equal_width(codes, bins)
    matrix = information_matrix(binned, labels)
    if not by_code:
        return _gap_parts(matrix, entropies(labels))
    return _gap_parts(per_code_entropy(matrix, binned), (entropies(labels) > 0).astype(float))


def _group_mig(codes: np.ndarray, labels: np.ndarray, blocks: Grouping, neighbours: int, seed: int):
    return _gap_parts(*group_information(codes, labels, blocks, neighbours, seed))


def _mixture_mig(codes: np.ndarray, labels: np.ndarray, log_variance: np.ndarray, seed: int) -> tuple[float, Parts]:
    matrix = mixture_information(codes, log_variance, labels, seed)
    return _gap_parts(matrix, np.log(labels.max(0) + 1.0))


def _posterior_log_variance(log_variance: Any, codes: np.ndarray) -> np.ndarray:
    from partita.measures._arrays import as_matrix

    if log_variance is None:
        raise ValueError('mig with protocol="chen-2018" needs log_variance, (n, K), beside the posterior means')
    log_variance = as_matrix(log_variance, "log_variance")
    if log_variance.shape != codes.shape:
        raise ValueError(f"log_variance has shape {log_variance.shape}, the codes {codes.shape}: they must agree")
    return log_variance
