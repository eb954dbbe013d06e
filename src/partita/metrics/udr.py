"""UDR: do several trainings of one model find the same latents?"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from partita.measures._arrays import as_matrix
from partita.metrics._independence import against_null
from partita.metrics._inputs import check_protocol, column_scaled
from partita.metrics.mcc import absolute_correlation
from partita.metrics.score import Parts, Score, scored, versions


def udr(
    codes: Any,
    factors: Any = None,
    *,
    protocol: str = "dlib-2019",
    seed: int = 0,
    by: str = "lasso",
    kl: Any = None,
    draws: int = 3,
    interval: float | None = None,
    resamples: int = 20,
) -> Score:
    """Unsupervised disentanglement ranking (Duan et al. 2020): `codes` holds one (n, K) array a trained model.

    For two models R = |lasso coefficients| (alpha 0.1, standardised latents) or |Spearman|; their agreement is the mean
    over rows and over columns of max(R)^2 / sum(R), averaged over the two sides. A model's score is the median over the
    others (`parts["models"]`), the value their mean. `kl` (models, K) keeps only latents with KL above 0.01. No truth
    is used: models may agree on something entangled. `factors` are accepted and ignored.

    Parameters
    ----------
    codes : list of arrays (n, K)
        Latents of the same rows by each of several models.
    factors : ignored
        So that every metric is called alike.
    protocol : str
        Whose definition, by name: "dlib-2019".
    seed : int
        Of whatever is drawn: the same seed gives the same score.
    by : str
        What latents of two models are compared by: "lasso" or "spearman".
    kl : list of arrays (K,), optional
        KL of each latent of each model; those below 0.01 do not count.
    draws : int
        Permutations of rows for the null.
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
    >>> codes = np.random.default_rng(0).standard_normal((200, 3))
    >>> score = udr([codes, -codes[:, ::-1]])
    >>> round(score.value, 1)
    0.9
    """
    check_protocol(protocol, ("dlib-2019",), "udr")
    if by not in ("lasso", "spearman"):
        raise ValueError(f"by must be 'lasso' or 'spearman', got {by!r}")
    models = _models(codes)
    compute = partial(_with_null, by=by, masks=_masks(kl, models), draws=draws, seed=seed)
    settings = {"by": by, "models": len(models), "null_draws": draws, **versions("scikit-learn")}
    return scored(
        compute, models, protocol=protocol, settings=settings, seed=seed, interval=interval, resamples=resamples
    )


def _models(codes: Any) -> list[np.ndarray]:
    several = list(codes) if isinstance(codes, Sequence) or getattr(codes, "ndim", 0) == 3 else []
    if len(several) < 2 or any(getattr(np.asarray(z), "ndim", 0) != 2 for z in several):
        raise ValueError("udr compares models: give a list of at least two (n, K) arrays, one a trained model")
    models = [column_scaled(as_matrix(z, f"codes[{i}]")) for i, z in enumerate(several)]
    rows = {len(z) for z in models}
    if len(rows) > 1:
        raise ValueError(f"udr needs the same rows from every model, got {sorted(rows)} rows")
    return models


def _masks(kl: Any, models: list[np.ndarray]) -> list[np.ndarray]:
    if kl is None:
        return [np.ones(z.shape[1], bool) for z in models]
    if len(kl) != len(models) or any(np.shape(row) != (z.shape[1],) for row, z in zip(kl, models)):
        raise ValueError("kl must hold one number a latent for every model, (models, K)")
    return [np.asarray(row) > 0.01 for row in kl]


def _with_null(*models: np.ndarray, by: str, masks: list[np.ndarray], draws: int, seed: int) -> tuple[float, Parts]:
    pairwise = _agreement(models, by, masks)
    others = ~np.eye(len(models), dtype=bool)
    scores = np.array([np.median(pairwise[others[:, i], i]) for i in range(len(models))])
    parts: Parts = {"models": scores, "pairwise": pairwise}
    rng = np.random.default_rng(seed)
    null = []
    for _ in range(draws):
        shuffled = _agreement([z[rng.permutation(len(z))] for z in models], by, masks)
        null.append(float(np.mean([np.median(shuffled[others[:, i], i]) for i in range(len(models))])))
    if null:
        parts |= against_null(float(scores.mean()), null)
    return float(scores.mean()), parts


def _agreement(models: Sequence[np.ndarray], by: str, masks: list[np.ndarray]) -> np.ndarray:
    table = np.zeros((len(models), len(models)))
    for i, one in enumerate(models):
        for j, two in enumerate(models):
            if i != j:
                strength = _lasso_strength(one, two) if by == "lasso" else absolute_correlation(one, two, ranks=True)
                table[i, j] = _relative_strength(strength[np.ix_(masks[i], masks[j])])
    return table


def _lasso_strength(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    from sklearn.linear_model import Lasso
    from sklearn.preprocessing import StandardScaler

    x, y = StandardScaler().fit_transform(one), StandardScaler().fit_transform(two)
    return np.abs(Lasso(alpha=0.1, random_state=0).fit(x, y).coef_).reshape(two.shape[1], one.shape[1]).T


def _relative_strength(strength: np.ndarray) -> float:
    if strength.size == 0:
        return 0.0
    sides = []
    for axis in (0, 1):
        total = strength.sum(axis)
        share = np.divide(strength.max(axis) ** 2, total, out=np.zeros_like(total), where=total > 0)
        sides.append(float(share.mean()))
    return float(np.mean(sides))
