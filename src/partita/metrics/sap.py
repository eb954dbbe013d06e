"""SAP: how much better the best single latent predicts a factor than the second best."""

from functools import partial
from typing import Any

import numpy as np

from partita.measures._arrays import as_pair
from partita.metrics._histogram import top_two
from partita.metrics._inputs import (
    as_labels,
    check_protocol,
    column_scaled,
    in_own_units,
    training_rows,
    warn_of_untrained,
)
from partita.metrics.score import Parts, Score, scored, versions

SAP_PROTOCOLS = ("dlib-2019", "ubisoft-2020")


def sap(
    codes: Any,
    factors: Any,
    *,
    protocol: str = "dlib-2019",
    seed: int = 0,
    continuous: bool = False,
    interval: float | None = None,
    resamples: int = 100,
) -> Score:
    """Separated attribute predictability (Kumar et al. 2018): mean gap between the two best latents of a factor.

    `continuous=True`: squared linear correlation; factors may be real. `continuous=False`: accuracy of a
    one-coordinate class-balanced linear SVM with C = 0.01. "dlib-2019" fits on the first ceil(2n/3) rows and takes the
    accuracy on the rest (the correlation uses the training rows only); "ubisoft-2020" takes the correlation on all
    rows. The SVM score moves with the number of training rows, because C is fixed: compare only at equal size. It is
    far below 1 for perfect codes of factors with many values. Constant factors are left out.

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
    continuous : bool
        Whether factors are real-valued.
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
    >>> score = sap(codes, np.tile(factors, (20, 1)))
    >>> round(score.value, 1)
    0.5
    """
    check_protocol(protocol, SAP_PROTOCOLS, "sap")
    codes, values = as_pair(codes, factors)
    if continuous:
        codes, values = column_scaled(codes), column_scaled(values)
        compute = partial(_correlation_sap, train_only=protocol == "dlib-2019")
        settings: dict[str, Any] = {"predictor": "squared correlation"}
    elif protocol == "ubisoft-2020":
        raise ValueError('sap with protocol="ubisoft-2020" is only defined here for continuous=True')
    else:
        codes, values = in_own_units(codes, "sap by SVM"), as_labels(values, "sap with continuous=False")
        warn_of_untrained(values)
        compute = _svm_sap
        settings = {"predictor": "LinearSVC(C=0.01, balanced)", **versions("scikit-learn")}
    return scored(
        compute,
        [codes, values],
        protocol=protocol,
        settings=settings,
        seed=seed,
        interval=interval,
        resamples=resamples,
    )


def _gaps(matrix: np.ndarray, present: np.ndarray) -> tuple[float, Parts]:
    best, second = top_two(matrix, 0)
    gaps = np.where(present, best - second, np.nan)
    return (float(gaps[present].mean()) if present.any() else 0.0), {"per_factor": gaps, "matrix": matrix}


def _correlation_sap(codes: np.ndarray, values: np.ndarray, train_only: bool) -> tuple[float, Parts]:
    rows = training_rows(len(codes)) if train_only else len(codes)
    codes, values = codes[:rows] - codes[:rows].mean(0), values[:rows] - values[:rows].mean(0)
    scale = (codes**2).sum(0)[:, None] * (values**2).sum(0)
    squared = (codes.T @ values) ** 2
    # A latent with no variance predicts nothing; 1e-12 per row is the threshold of disentanglement_lib.
    alive = ((codes**2).mean(0) > 1e-12)[:, None] & (scale > 0)
    matrix = np.divide(squared, scale, out=np.zeros_like(squared), where=alive)
    return _gaps(matrix, (values**2).sum(0) > 0)


def _svm_sap(codes: np.ndarray, labels: np.ndarray) -> tuple[float, Parts]:
    rows = training_rows(len(codes))
    matrix = np.array([[_svm_accuracy(z[:, None], y, rows) for y in labels.T] for z in codes.T])
    return _gaps(matrix, labels.max(0) > labels.min(0))


def _svm_accuracy(z: np.ndarray, labels: np.ndarray, rows: int) -> float:
    from sklearn.svm import LinearSVC

    if len(np.unique(labels[:rows])) < 2:
        return float(np.mean(labels[rows:] == labels[0])) if rows < len(labels) else 1.0
    model = LinearSVC(C=0.01, class_weight="balanced", random_state=0).fit(z[:rows], labels[:rows])
    return float(model.score(z[rows:], labels[rows:]))
