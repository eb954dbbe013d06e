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
