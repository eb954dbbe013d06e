"""What a fitted model says of itself: beside PCA, in latents that carry nothing, and in its groups."""

import logging
from typing import Any

import numpy as np
from sklearn.base import clone

from partita.distributions import Groups
from partita.measures.gaussian import kl_of_latents
from partita.structure._background import shared_by_pairs
from partita.structure._beside_pca import beside_pca
from partita.structure.diagnosis import FEWEST_ROWS, NOTHING, Diagnosis, diagnose_groups
from partita.trace import Dream

log = logging.getLogger("partita")

ROWS_AFTER_FIT = 1000


def diagnosed(model: Any, X: np.ndarray, refit: bool, time: bool) -> Diagnosis:
    """All checks; with `refit` also whether a model of another seed finds the same groups."""
    mean, log_variance = model.posterior(X)
    bound, error = _bound_and_error(model, X, mean)
    again = None
    if refit:
        other = clone(model).set_params(seed=int(model.seed) + 1, verbose=False, callbacks=()).fit(X)
        again = other.transform(X), other.groups_
    return diagnose_groups(
        mean,
        model.groups_,
        _flat(X, model),
        kl=kl_of_latents(mean, log_variance),
        bound=bound,
        error=error,
        again=again,
        found=isinstance(model.groups, str),
        time=time,
        seed=int(model.seed),
    )


def say_what_is_wrong(model: Any, X: np.ndarray) -> None:
    """After training, on a few rows and without more of it: nothing, where nothing is wrong."""
    rows = np.random.default_rng(0).permutation(len(X))[:ROWS_AFTER_FIT]
    some = X[np.sort(rows)]
    mean, log_variance = model.posterior(some)
    wrong, _ = beside_pca(_flat(some, model), mean.shape[1], *_bound_and_error(model, some, mean))
    dead = np.flatnonzero(kl_of_latents(mean, log_variance) < NOTHING)
    if len(dead):
        wrong.append(f"latents that carry nothing: {', '.join(map(str, dead))}")
    if len(some) < max(FEWEST_ROWS, 6 * mean.shape[1]):
        wrong.append(f"{len(some)} rows are few for {mean.shape[1]} latents")
    elif len(model.groups_) > 1 and any(len(group) > 1 for group in model.groups_):
        wrong += _between(mean.astype(np.float64), model.groups_)
    for sentence in wrong:
        log.warning("%s; model.diagnose(X) looks closer", sentence)


def _between(mean: np.ndarray, groups: Groups) -> list[str]:
    """The two latents of different groups that share most, where that is much; and that none of one group do."""
    pairs = shared_by_pairs(mean, np.random.default_rng(0))
    home = np.empty(mean.shape[1], int)
    for g, group in enumerate(groups):
        home[list(group)] = g
    across = np.where(home[:, None] != home, pairs.shared, -np.inf)
    i, j = np.unravel_index(across.argmax(), across.shape)
    inside = pairs.shared[(home[:, None] == home) & ~np.eye(len(home), dtype=bool)]
    wrong = []
    if across[i, j] > max(10 * pairs.sd[i, j], 0.05):
        wrong.append(f"latents {i} and {j} of different groups share {across[i, j]:.2f} nats")
    if max(map(len, groups)) == 2 and inside.max() < 4 * pairs.sd.max():
        wrong.append("no two latents of one group depend on each other")
    return wrong


def _bound_and_error(model: Any, X: np.ndarray, mean: np.ndarray) -> tuple[float | None, float | None]:
    """The bound of a Gaussian likelihood, and the squared error of decoded means; neither of a game."""
    fitted = model._fitted()
    if isinstance(fitted.recipe.trace, Dream):
        return None, None
    gaussian = isinstance(model.likelihood_, str) and model.likelihood_.startswith("gaussian")
    decoded = fitted.decode(mean.astype(np.float64)).reshape(len(X), -1)
    return model.score(X) if gaussian else None, float(((decoded - _flat(X, model)) ** 2).mean())


def _flat(X: np.ndarray, model: Any) -> np.ndarray:
    return X.reshape(len(X), -1).astype(np.float64) * model.x_scale_
