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


def diagnosed(model: Any, X: Any, covariates: Any, refit: bool, time: bool) -> Diagnosis:
    """All checks; with `refit` also whether a model of another seed finds the same groups."""
    rows, beside = model._seen(X, covariates)
    mean, log_variance = model._fitted().posterior(rows, beside=beside)
    again = None
    if refit:
        copied: Any = clone(model)
        copied.set_params(seed=int(model.seed) + 1, verbose=False, callbacks=()).fit(X, covariates=covariates)
        again = copied.transform(X, covariates), copied.groups_
    x, bound, error = _as_seen(model, rows, mean)
    return diagnose_groups(
        mean,
        model.groups_,
        x,
        kl=kl_of_latents(mean, log_variance),
        bound=bound,
        error=error,
        again=again,
        restarts=model.restarts_,
        found=isinstance(model.groups, str),
        time=time,
        seed=int(model.seed),
    )


def say_what_is_wrong(model: Any, X: np.ndarray, covariates: Any) -> None:
    """After training, on a few rows and without more of it: nothing, where nothing is wrong."""
    if covariates is None:  # whose rows nobody knows how to take
        X = X[np.sort(np.random.default_rng(0).permutation(len(X))[:ROWS_AFTER_FIT])]
    X, beside = model.seen_.rows(X, covariates)
    mean, log_variance = model._fitted().posterior(X, beside=beside)
    x, bound, error = _as_seen(model, X, mean)
    wrong = [] if x is None else beside_pca(x, mean.shape[1], bound, error)[0]
    dead = np.flatnonzero(kl_of_latents(mean, log_variance) < NOTHING)
    if len(dead):
        wrong.append(f"latents that carry nothing: {', '.join(map(str, dead))}")
    if len(X) < max(FEWEST_ROWS, 6 * mean.shape[1]):
        wrong.append(f"{len(X)} rows are few for {mean.shape[1]} latents")
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


def _as_seen(model: Any, X: np.ndarray, mean: np.ndarray) -> tuple[np.ndarray | None, float | None, float | None]:
    """Rows (n, D) in the units that the model sees them in, and there the bound of a Gaussian likelihood and the
    squared error of decoded means. Nothing of counts, nor where covariates or gaps are seen too: principal components
    of those rows are no match. No bound and no error of a game."""
    fitted, seen = model._fitted(), model.seen_
    if seen.scale.counts or seen.covariates is not None or seen.filling is not None:
        return None, None, None
    if isinstance(fitted.recipe.trace, Dream):
        scaled = seen.scale.of(X.astype(np.float64) * model.x_scale_)
        return np.asarray(scaled).reshape(len(X), -1), None, None
    x, error = fitted.seen_and_error(X, mean)
    gaussian = isinstance(model.likelihood_, str) and model.likelihood_.startswith("gaussian")
    bound = None
    if gaussian:
        recon, kl = fitted.bound(X)
        bound = -float((recon + kl).mean()) - float(seen.scale.log_jacobian(X.shape[1:]))
    return x, bound, error
