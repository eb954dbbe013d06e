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
