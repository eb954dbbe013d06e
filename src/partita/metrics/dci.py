"""DCI: disentanglement, completeness and informativeness from predictors' importances."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from partita.measures._arrays import as_pair
from partita.metrics._group_information import Grouping, grouping
from partita.metrics._inputs import as_labels, check_protocol, column_scaled, training_rows, warn_of_untrained
from partita.metrics.score import Parts, Score, scored, versions

DCI_PROTOCOLS = ("dlib-2019", "dlib-2019-fast", "dlib-2019-fast-ties", "ubisoft-2020")
LIGHT = ("dlib-2019-fast", "dlib-2019-fast-ties")
TIE = 1e-6  # gains closer than this, relatively, are equal
# One predictor: importances of the latents, accuracy (or R^2) on the training rows and on the rest.
Fitted = tuple[np.ndarray, float, float]


def dci(
    codes: Any,
    factors: Any,
    *,
    protocol: str = "dlib-2019",
    seed: int = 0,
    continuous: bool = False,
    groups: Sequence | None = None,
    factor_groups: Sequence | None = None,
    interval: float | None = None,
    resamples: int = 20,
) -> Score:
    """DCI (Eastwood and Williams 2018); the value is disentanglement, all three are in `parts`.

    One predictor a factor; R[k, f] its importance of latent k. Disentanglement is 1 - H_F(row of R), weighted by the
    rows' sums; completeness 1 - H_K(column of R), weighted by the columns'; informativeness the held-out accuracy
    (first ceil(2n/3) rows train). "dlib-2019": scikit-learn gradient boosting, impurity importances.
    "dlib-2019-fast": LightGBM, trees of the same shape, gain importances, within 0.03 where measured, 30 times faster;
    of latents that are copies of each other it sees the first alone. "dlib-2019-fast-ties" is the same and sees
    copies: which of equal gains is taken is drawn anew for every round, as scikit-learn draws it for every split.
    "ubisoft-2020": lasso on all rows, no held-out ones, unweighted completeness. `continuous=True` predicts real
    factors (R^2 for accuracy). With `groups` importances are summed over the latents of a group and averaged over the
    factors of a factor group. Depends on the tree library: compare equal protocols only.

    Parameters
    ----------
    codes : array (n, K)
        Latents, one row an observation: posterior means, say.
    factors : array (n, F)
        Class indices of the factors of variation, integers unless said.
    protocol : str
        Whose definition, by name: "dlib-2019", "dlib-2019-fast", "dlib-2019-fast-ties", "ubisoft-2020".
    seed : int
        Of whatever is drawn: the same seed gives the same score.
    continuous : bool
        Whether factors are real-valued.
    groups : sequence, optional
        Sizes or tuples of indices: latents that belong together.
    factor_groups : sequence, optional
        The same of factors.
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
    >>> score = dci(codes, np.tile(factors, (20, 1)))
    >>> round(score.value, 1)
    1.0
    """
    check_protocol(protocol, DCI_PROTOCOLS, "dci")
    codes, values = (column_scaled(x) for x in as_pair(codes, factors))
    if protocol == "ubisoft-2020":
        predict, libraries = _lasso, ("scikit-learn",)
    elif protocol in LIGHT:
        predict = partial(_light_trees, continuous=continuous, seed=seed, ties=protocol.endswith("-ties"))
        libraries = ("lightgbm",)
    else:
        predict = partial(_boosted_trees, continuous=continuous, seed=seed)
        libraries = ("scikit-learn",)
    if not continuous and protocol != "ubisoft-2020":
        values = as_labels(values, "dci with continuous=False")
        warn_of_untrained(values)
    blocks = grouping(groups, factor_groups, codes.shape[1], values.shape[1])
    fast = protocol in LIGHT
    compute = partial(_dci, predict=predict, blocks=blocks, weighted=protocol != "ubisoft-2020", in_parallel=fast)
    return scored(
        compute,
        [codes, values],
        protocol=protocol,
        settings={"predictor": predict_name(protocol), **versions(*libraries)},
        seed=seed,
        interval=interval,
        resamples=resamples,
    )


def predict_name(protocol: str) -> str:
    return {
        "dlib-2019": "gradient boosting, 100 rounds, depth 3",
        "dlib-2019-fast": "LightGBM gain, 100 rounds, depth 3",
        "dlib-2019-fast-ties": "LightGBM gain, 100 rounds, depth 3, random ties",
        "ubisoft-2020": "lasso, alpha by 10-fold cross-validation",
    }[protocol]


def _dci(
    codes: np.ndarray,
    values: np.ndarray,
    predict: Callable[[np.ndarray, np.ndarray], Fitted],
    blocks: Grouping | None,
    weighted: bool,
    in_parallel: bool,
) -> tuple[float, Parts]:
    present = np.ptp(values, axis=0) > 0
    matrix = np.zeros((codes.shape[1], values.shape[1]))
    accuracy = np.full((2, values.shape[1]), np.nan)
    # one predictor a factor; LightGBM lets other threads run while it works
    with ThreadPoolExecutor(os.cpu_count() if in_parallel else 1) as pool:
        fitted = list(pool.map(lambda f: predict(codes, values[:, f]), np.flatnonzero(present)))
    for f, (importance, trained, tested) in zip(np.flatnonzero(present), fitted):
        matrix[:, f], accuracy[:, f] = importance, (trained, tested)
    if blocks is not None:
        matrix, present = _grouped(matrix, present, blocks)
    disentanglement, per_code = disentanglement_of(matrix[:, present])
    completeness, per_factor = completeness_of(matrix[:, present], weighted)
    trained, tested = (float(row[~np.isnan(row)].mean()) if (~np.isnan(row)).any() else 0.0 for row in accuracy)
    parts = {
        "disentanglement": disentanglement,
        "completeness": completeness,
        "informativeness": tested,
        "informativeness_train": trained,
        "importance": matrix,
        "disentanglement_per_code": per_code,
        "completeness_per_factor": per_factor,
    }
    return disentanglement, parts


def _grouped(matrix: np.ndarray, present: np.ndarray, blocks: Grouping) -> tuple[np.ndarray, np.ndarray]:
    latents = np.stack([matrix[list(block)].sum(0) for block in blocks.latents])
    alive = [[f for f in group if present[f]] for group in blocks.factors]
    columns = [latents[:, group].mean(1) if group else np.zeros(len(latents)) for group in alive]
    return np.stack(columns, 1), np.array([len(group) > 0 for group in alive])


def disentanglement_of(importance: np.ndarray) -> tuple[float, np.ndarray]:
    """1 - entropy of each row in units of log(factors), weighted by the rows' share of all importance."""
    if importance.size == 0 or importance.sum() == 0:
        return 0.0, np.zeros(len(importance))
    per_code = 1 - _relative_entropy(importance.T)
    return float(per_code @ importance.sum(1) / importance.sum()), per_code


def completeness_of(importance: np.ndarray, weighted: bool = True) -> tuple[float, np.ndarray]:
    if importance.size == 0 or importance.sum() == 0:
        return 0.0, np.zeros(importance.shape[1])
    per_factor = 1 - _relative_entropy(importance)
    if not weighted:
        return float(per_factor.mean()), per_factor
    return float(per_factor @ importance.sum(0) / importance.sum()), per_factor


def _relative_entropy(weights: np.ndarray) -> np.ndarray:
    """Entropy of each column over log(rows); 0 where there is one row. The 1e-11 is disentanglement_lib's."""
    if len(weights) == 1:
        return np.zeros(weights.shape[1])
    p = weights + 1e-11
    p = p / p.sum(0)
    return -(p * np.log(p)).sum(0) / np.log(len(weights))


def _boosted_trees(codes: np.ndarray, target: np.ndarray, continuous: bool, seed: int) -> Fitted:
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

    rows = training_rows(len(codes))
    if np.ptp(target[:rows]) == 0:
        return _constant(codes, target, rows)
    kind = GradientBoostingRegressor if continuous else GradientBoostingClassifier
    model = kind(random_state=seed).fit(codes[:rows], target[:rows])
    train, test = model.score(codes[:rows], target[:rows]), model.score(codes[rows:], target[rows:])
    return np.abs(model.feature_importances_), float(train), float(test)


def _constant(codes: np.ndarray, target: np.ndarray, rows: int) -> Fitted:
    """The training rows hold one value: nothing to learn, and that value is the prediction."""
    return np.zeros(codes.shape[1]), 1.0, float(np.mean(target[rows:] == target[0]))


def _light_trees(codes: np.ndarray, target: np.ndarray, continuous: bool, seed: int, ties: bool) -> Fitted:
    try:
        import lightgbm
    except ImportError:
        raise ValueError(
            'dci by LightGBM needs that installed: pip install "partita[fast-metrics]", or use protocol="dlib-2019"'
        ) from None
    rows = training_rows(len(codes))
    classes, numbers = np.unique(target[:rows], return_inverse=True)
    if len(classes) == 1:
        return _constant(codes, target, rows)
    options = {
        "num_leaves": 8,
        "max_depth": 3,
        "learning_rate": 0.1,
        "min_data_in_leaf": 1,
        "max_bin": 511,
        "min_data_in_bin": 1,
        "feature_pre_filter": False,
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbosity": -1,
        "metric": "None",
        "objective": "regression" if continuous else "multiclass",
    }
    if not continuous:
        options |= {"num_class": len(classes)}
    table = lightgbm.Dataset(codes[:rows], target[:rows] if continuous else numbers, params=options)
    model = lightgbm.Booster(options, table)
    held_out = lightgbm.Dataset(codes[rows:], np.zeros(len(codes) - rows), reference=table, params=options)
    if rows < len(codes):
        model.add_valid(held_out, "held out")
    preferences = _preferences(codes.shape[1], seed)
    for _ in range(100):
        if ties:
            model.reset_parameter({"feature_contri": next(preferences)})
        model.update()
    gain = model.feature_importance("gain")

    def quality(predicted: np.ndarray, about) -> tuple[str, float, bool]:
        truth = target[:rows] if about is table else target[rows:]
        if continuous:
            return "R2", _r2(predicted, truth), True
        return "accuracy", float(np.mean(classes[predicted.argmax(1)] == truth)), True

    # the booster keeps its predictions of both sets of rows up to date on their bins: far cheaper than `predict`
    train = model.eval_train(quality)[0][2]
    test = model.eval_valid(quality)[0][2] if rows < len(codes) else 0.0
    return gain / gain.sum() if gain.sum() > 0 else gain, train, test


def _preferences(latents: int, seed: int) -> Iterator[list[float]]:
    """What gains are multiplied by, a round each: too little to matter, except between equal ones, where LightGBM takes
    the first. A random order, then its reverse, because early rounds gain most: of two copies each gets its half."""
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(latents) / latents
        yield (1 - TIE * order).tolist()
        yield (1 - TIE * (1 - order)).tolist()


def _r2(predicted: np.ndarray, target: np.ndarray) -> float:
    spread = np.var(target)
    return float(1 - np.mean((predicted - target) ** 2) / spread) if spread > 0 else 0.0


def _lasso(codes: np.ndarray, target: np.ndarray) -> Fitted:
    from sklearn.linear_model import Lasso
    from sklearn.model_selection import GridSearchCV
    from sklearn.preprocessing import minmax_scale

    x, y = minmax_scale(codes), minmax_scale(target)
    folds = min(10, len(x))
    grid = {"alpha": [1e-4, 1e-3, 1e-2, 1e-1, 1.0]}
    model = GridSearchCV(Lasso(max_iter=5000), grid, cv=folds, scoring="neg_mean_squared_error").fit(x, y)
    # 1/12 is the variance of a uniform variable on [0, 1]
    informative = max(1 - 12 * float(np.mean((model.predict(x) - y) ** 2)), 0.0)
    return np.abs(model.best_estimator_.coef_), informative, informative
