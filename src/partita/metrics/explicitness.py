"""Explicitness: a linear classifier finds the factors."""

from typing import Any

import numpy as np

from partita.measures._arrays import unit_scale
from partita.metrics._inputs import check_protocol, codes_and_labels, quietly, training_rows, varying, warn_of_untrained
from partita.metrics.score import Parts, Score, scored, versions

PROTOCOLS = ("dlib-2019", "ubisoft-2020")


def explicitness(
    codes: Any,
    factors: Any,
    *,
    protocol: str = "dlib-2019",
    seed: int = 0,
    interval: float | None = None,
    resamples: int = 20,
) -> Score:
    """Explicitness (Ridgeway and Mozer 2018): can a logistic regression on all codes tell a factor's values apart?

    One-against-rest area under the ROC curve, mean over values and factors. "dlib-2019": multinomial regression on
    standardised codes, first ceil(2n/3) rows train, area on the rest; chance is 0.5. "ubisoft-2020": class-balanced
    one-against-rest regressions on codes scaled to [0, 1], area on the training rows, rescaled so that chance is 0.

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
    >>> score = explicitness(codes, np.tile(factors, (20, 1)))
    >>> round(score.value, 1)
    1.0
    """
    check_protocol(protocol, PROTOCOLS, "explicitness")
    codes, labels = codes_and_labels(codes, factors, "explicitness")
    if protocol == "dlib-2019":
        warn_of_untrained(labels)
    compute = _held_out_auc if protocol == "dlib-2019" else _balanced_training_auc
    return scored(
        compute,
        [codes, labels],
        protocol=protocol,
        settings={"predictor": "logistic regression", **versions("scikit-learn")},
        seed=seed,
        interval=interval,
        resamples=resamples,
    )


def _held_out_auc(codes: np.ndarray, labels: np.ndarray) -> tuple[float, Parts]:
    from sklearn.linear_model import LogisticRegression

    rows = training_rows(len(codes))
    # float32 fits in half the time and moves the area by less than 1e-4
    x = ((codes - codes[:rows].mean(0)) / unit_scale(codes[:rows])).astype(np.float32)
    areas = np.full((2, labels.shape[1]), np.nan)
    for f in np.flatnonzero(varying(labels)):
        y = labels[:, f]
        if len(np.unique(y[:rows])) < 2:
            areas[:, f] = 0.5
            continue
        model = quietly(LogisticRegression().fit, x[:rows], y[:rows])
        probability = model.predict_proba(x)
        areas[0, f] = _mean_auc(y[:rows], probability[:rows], model.classes_)
        areas[1, f] = _mean_auc(y[rows:], probability[rows:], model.classes_)
    train, test = (float(row[~np.isnan(row)].mean()) if (~np.isnan(row)).any() else 0.5 for row in areas)
    return test, {"train": train, "test": test, "per_factor": areas[1], "per_factor_train": areas[0]}


def _balanced_training_auc(codes: np.ndarray, labels: np.ndarray) -> tuple[float, Parts]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import minmax_scale

    x = minmax_scale(codes)
    per_factor = np.full(labels.shape[1], np.nan)
    for f in np.flatnonzero(varying(labels)):
        model = quietly(OneVsRestClassifier(LogisticRegression(class_weight="balanced")).fit, x, labels[:, f])
        probability = np.asarray(model.predict_proba(x))
        per_factor[f] = 2 * _mean_auc(labels[:, f], probability, model.classes_) - 1
    seen = per_factor[~np.isnan(per_factor)]
    return (float(seen.mean()) if len(seen) else 0.0), {"per_factor": per_factor}


def _mean_auc(labels: np.ndarray, probability: np.ndarray, classes: np.ndarray) -> float:
    """Area under the curve of each class against the rest, by ranks; classes with no member or no other are skipped."""
    from scipy.stats import rankdata

    areas = []
    for column, value in enumerate(classes):
        member = labels == value
        inside = int(member.sum())
        outside = len(labels) - inside
        if inside and outside:
            ranks = rankdata(probability[:, column])[member].sum()
            areas.append((ranks - inside * (inside + 1) / 2) / (inside * outside))
    return float(np.mean(areas)) if areas else 0.5
