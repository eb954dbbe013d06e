"""What a trained run is worth: every number with its estimator, its sample size and its null."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from partita.data import Dataset
from partita.measures.correlation import correlation, null_correlation
from partita.studies.run import Run
from partita.studies.store import Store
from partita.training import Model

ROWS_SCORED = 10000
ROWS_CORRELATED = 2000
NULL_DRAWS = 5


def evaluate_run(
    store: Store, run: Run, dataset: Dataset, metrics: str | Sequence[str] = "mig", device: torch.device | None = None
) -> dict[str, Any]:
    """Reconstruction, ELBO, PC and TC with null; where the truth is known alignment and metrics. Kept in the store."""
    model = store.model(run, dataset.x_scale, device)
    rows = _rows(dataset.size, ROWS_SCORED)
    x = dataset.x[rows]
    mean, log_variance = model.posterior(x)
    scores: dict[str, Any] = {"run": run.id, "n": len(rows), **_reconstruction(model, x, dataset.x_scale)}
    groups, grouping = run.recipe.groups, "own groups"
    if dataset.truth is not None:
        truth, truth_groups = dataset.truth[rows], dataset.truth_groups
        scores["alignment"] = _alignment(mean, truth, groups, truth_groups, "own groups")
        if all(len(group) == 1 for group in groups):
            from partita.structure import best_grouping

            sizes = group_sizes(mean.shape[1], truth_groups or [(k,) for k in range(truth.shape[1])])
            groups, _ = best_grouping(mean, truth, sizes, truth_groups)
            grouping = "best grouping by the truth"
            scores["alignment"] = _alignment(mean, truth, groups, truth_groups, grouping)
    scores["correlation"] = _correlation(mean, log_variance, groups, grouping)
    if dataset.factors is not None:
        from partita.metrics import evaluate

        found = evaluate(mean, dataset.factors[rows], metrics)
        scores["metrics"] = {name: score.as_dict() for name, score in found.items()}
    store.save_scores(run, scores)
    return scores


def group_sizes(latents: int, truth_groups: Sequence) -> tuple[int, ...]:
    """Sizes for a grouping after the fact: the true ones where they fit, else as equal as can be."""
    sizes = tuple(len(group) for group in truth_groups)
    if sum(sizes) == latents:
        return sizes
    count = min(len(sizes), latents)
    return tuple(latents // count + (g < latents % count) for g in range(count))


def _rows(size: int, most: int) -> np.ndarray:
    if size <= most:
        return np.arange(size)
    return np.sort(np.random.default_rng(0).choice(size, most, replace=False))


def _reconstruction(model: Model, x: np.ndarray, x_scale: float) -> dict[str, float]:
    recon, kl = model.bound(x)
    mean, _ = model.posterior(x)
    observed = np.asarray(x, np.float64) * x_scale
    error = ((model.decode(mean) - observed) ** 2).mean()
    return {
        "recon": float(recon.mean()),
        "kl": float(kl.mean()),
        "elbo": float(-(recon + kl).mean()),
        "reconstruction_mse": float(error),
        "reconstruction_r2": float(1 - error / max(((observed - observed.mean(0)) ** 2).mean(), 1e-30)),
    }


def _alignment(codes, truth, groups, truth_groups, grouping: str) -> dict[str, Any]:
    from partita.structure import align

    found = align(codes, truth, groups, truth_groups)
    return {
        "r2": float(found.r2),
        "mse": float(found.mse),
        "matrix": np.asarray(found.matrix).tolist(),
        "assignment": [int(b) for b in found.assignment],
        "groups": [list(group) for group in groups],
        "grouping": grouping,
    }


def _correlation(mean: np.ndarray, log_variance: np.ndarray, groups, grouping: str) -> dict[str, Any]:
    """Exact values for the aggregated posterior of at most ROWS_CORRELATED points, and the permutation null."""
    rows = _rows(len(mean), ROWS_CORRELATED)
    mean, log_variance = mean[rows].astype(np.float64), log_variance[rows].astype(np.float64)
    z = mean + np.exp(0.5 * log_variance) * np.random.default_rng(0).standard_normal(mean.shape)
    found = correlation(z, mean, log_variance, groups=groups)
    scores: dict[str, Any] = {name: getattr(found, name) for name in ("mi", "tc", "pc", "within_tc", "dim_kl", "kl")}
    null_pc = null_correlation(z, mean, log_variance, groups=groups, draws=NULL_DRAWS)
    null_tc = null_correlation(z, mean, log_variance, groups=None, draws=NULL_DRAWS)
    scores["null"] = {"pc": _spread(null_pc, "pc"), "tc": _spread(null_tc, "tc")}
    return scores | {"by": "exact", "n": len(rows), "groups": [list(group) for group in groups], "grouping": grouping}


def _spread(null, name: str) -> dict[str, float]:
    return {"mean": float(null.mean[name]), "sd": float(null.sd[name])}
