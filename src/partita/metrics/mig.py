"""Mutual-information gaps: MIG, MIG-sup, JEMMIG, DCIMIG."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from partita.measures.mixture import mixture_information
from partita.metrics._group_information import BETWEEN_GROUPS, Grouping, group_information, grouping, protocol_of
from partita.metrics._histogram import entropies, equal_width, information_matrix, top_two
from partita.metrics._inputs import check_protocol, codes_and_labels, column_scaled, in_own_units
from partita.metrics.score import Parts, Score, scored

MIG_PROTOCOLS = ("dlib-2019", "ubisoft-2020", "chen-2018", BETWEEN_GROUPS)
GAP_PROTOCOLS = ("dlib-2019", "ubisoft-2020")


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
    return _gap_parts(_per_code_entropy(matrix, binned), (entropies(labels) > 0).astype(float))


def _per_code_entropy(matrix: np.ndarray, binned: np.ndarray) -> np.ndarray:
    entropy = entropies(binned)[:, None]
    return np.divide(matrix, entropy, out=np.zeros_like(matrix), where=entropy > 0)


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
        matrix = _per_code_entropy(matrix, binned)
    else:
        matrix = np.divide(matrix, entropy, out=np.zeros_like(matrix), where=entropy > 0)
    best, second = top_two(matrix, 1)
    return float((best - second).mean()), {"per_latent": best - second, "information": matrix}


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
