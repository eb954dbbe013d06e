"""What a trained run is worth: every number with its estimator, its sample size and its null."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from partita.data import Dataset
from partita.data._some_rows import some_rows
from partita.distributions import DiagonalNormal, Groups, as_groups
from partita.distributions.normal import NARROWEST, WIDEST
from partita.measures._mixture import one_draw
from partita.measures._regrouping import KERNEL_WIDTH, regroup
from partita.measures.aggregate import decompose
from partita.measures.correlation import correlation, gaussian_tc, null_correlation
from partita.measures.gaussian import DEAD_VARIANCE
from partita.metrics.registry import in_classes
from partita.studies._covariates import covariate_leakage
from partita.studies._diagnosing import diagnosis
from partita.studies._population import Population
from partita.studies._scoring import agreement, scored, scored_as
from partita.studies._seen import beside_of
from partita.studies.run import Run
from partita.studies.scores import Scores
from partita.studies.source import labels_of
from partita.studies.store import Store
from partita.training import Model
from partita.training.beside import Beside, taken
from partita.training.labels import prepare_labels

ROWS_SCORED = 10000
ROWS_ENCODED = 50000  # to draw from with a factor held fixed: more than a thousand for each of 40 values
ROWS_A_PASS = 1000
ROWS_CORRELATED = 2000
ROWS_JOINT = 1000  # every pair of them with a matrix of its own
NULL_DRAWS = 5


def evaluate_run(
    store: Store, run: Run, dataset: Dataset, metrics: str | Sequence[str] = "mig", device: torch.device | None = None
) -> Scores:
    """Reconstruction, ELBO, PC and TC with null; where the truth is known alignment and metrics. Kept in the store.

    `metrics` that the data do not allow are left out; "all" adds what the latent space turned into (`structure`).

    Where the encoder takes labels, it is given those that the model's own predictor finds in x, and `with_u` has the
    scores of codes made from the true labels, as in the IDVAE paper. `elbo` is a bound on log p(x) whatever the method
    (`Model.bound`); the bound on log p(x|u) is `conditional_elbo`, in `with_u`.

    Parameters
    ----------
    store : that of the study.
    run : a finished one.
    dataset : that it was trained on.
    metrics : a name, several, or "all".
    device : to compute on; None for the best there is.

    Returns
    -------
    Scores
        A dict, one entry a number or table, as in `scores.json`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from partita.data import load
    >>> from partita.studies import plan, train
    >>> data, folder, cpu = load("groups", size=80), TemporaryDirectory(), torch.device("cpu")
    >>> store = Store(Path(folder.name))
    >>> runs = plan("pca", data)
    >>> diverged = train(runs, data, store, device=cpu)
    >>> scores = evaluate_run(store, runs[0], data, metrics="gaussian_tc", device=cpu)
    >>> scores["n"], 0 <= scores["alignment"]["r2"] <= 1
    (80, True)
    >>> folder.cleanup()
    """
    model = store.model(run, dataset.x_scale, device)
    rows = some_rows(dataset.size, ROWS_SCORED)
    x, beside = dataset.x[rows], beside_of(run, dataset, rows)
    mean, log_variance = _posterior(model, x, beside)
    scores: dict[str, Any] = {"run": run.id, "scored": scored_as(metrics), "n": len(rows)}
    scores |= _reconstruction(model, x, dataset.x_scale, beside)
    grouping = "groups found in training" if run.program.finds_groups else "own groups"
    judged = partial(_judged, model.recipe.groups, grouping, dataset, rows, metrics, model.device)
    scores |= judged(mean, log_variance, partial(_codes, model, dataset, run))
    scores["gaussian_tc"] = _gaussian_tc(mean, _one_draw(model, x, mean, log_variance, beside))
    if run.covariates:
        scores["covariates"] = covariate_leakage(run, dataset, rows, mean, model.recipe.groups)
    if model.recipe.architecture.posterior != "diagonal":
        scores["correlation"] |= {"density": "product of the latents' own", "joint": _joint(model, x, scores, beside)}
    restarts = (store.result(run) or {}).get("restarts", ())
    verdict = diagnosis(run, model, dataset, rows, mean, log_variance, scores, restarts)
    scores |= {} if verdict is None else {"diagnosis": verdict}
    if model.sees_labels:
        # An encoder that sees u can copy it: only codes from predicted labels compare with methods that never see any.
        y = labels_of(dataset)
        scale = prepare_labels(y, dataset.size, dataset.labelled).scale
        u = scale.of(y, dataset.size)
        recon, kl = model.bound(x, u=u[rows], beside=beside)
        told = judged(*_posterior(model, x, beside, u[rows]), partial(_codes, model, dataset, run, u=u))
        # a bound on log p(x|u): more is known, so it may lie far above the ELBO
        scores["with_u"] = {**told, "conditional_elbo": float(-(recon + kl).mean())}
    store.save_scores(run, scores)
    return cast(Scores, scores)


def evaluate_agreement(
    store: Store, runs: Sequence[Run], dataset: Dataset, device: torch.device | None = None
) -> dict[str, Any] | None:
    """How far runs of one setting agree on their latents (UDR); None of a single run. Kept beside each run's scores."""
    if len(runs) < 2:
        return None
    rows = some_rows(dataset.size, ROWS_SCORED)
    x, models = dataset.x[rows], [store.model(run, dataset.x_scale, device) for run in runs]
    beside = [beside_of(run, dataset, rows) for run in runs]
    found = agreement([model.posterior(x, beside=known) for model, known in zip(models, beside)]).as_dict()
    found["of"] = [run.id for run in runs]
    for run in runs:
        store.save_scores(run, (store.scores(run) or {}) | {"udr": found})
    return found


def _posterior(
    model: Model, x: np.ndarray, beside: Beside, u: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Means and log-variances, these as far as an aggregated posterior can be made of them: an encoder that no KL holds
    back, a game's, may be surer than that."""
    mean, log_variance = model.posterior(x, u, beside)
    return mean, np.clip(log_variance, NARROWEST, WIDEST)


def _judged(
    groups: Groups,
    grouping: str,
    dataset: Dataset,
    rows: np.ndarray,
    metrics,
    device: torch.device | str,
    mean: np.ndarray,
    log_variance: np.ndarray,
    encode: Callable[[np.ndarray], np.ndarray],
) -> dict[str, Any]:
    """Alignment where the truth is known, correlation, and metrics where there are factors."""
    scores: dict[str, Any] = {"groups": [list(group) for group in groups]}
    if dataset.truth is not None:
        truth, truth_groups = dataset.truth[rows], as_groups(dataset.truth_groups, dataset.truth.shape[1])
        if all(len(group) == 1 for group in groups):
            groups, grouping = _grouped_afterwards(mean, log_variance, truth, truth_groups, scores, device)
        scores["alignment"] = _alignment(mean, truth, groups, truth_groups, grouping)
    scores["correlation"] = _correlation(mean, log_variance, groups, grouping, device)
    if dataset.factors is None or dataset.places is not None:  # where a pixel lies is no factor of its time course
        return scores | scored(mean, log_variance, None, metrics, groups, None)
    more = rows if len(rows) == dataset.size else some_rows(dataset.size, ROWS_ENCODED)
    everyone = Population(in_classes(dataset.factors[more]), lambda: mean if more is rows else encode(more))
    return scores | scored(mean, log_variance, dataset.factors[rows], metrics, groups, dataset.truth_groups, everyone)


def _codes(model: Model, dataset: Dataset, run: Run, rows: np.ndarray, u: np.ndarray | None = None) -> np.ndarray:
    """Means of the posteriors of these rows, which may be more than fit into memory at once."""
    parts = np.split(rows, range(ROWS_A_PASS, len(rows), ROWS_A_PASS))
    told = [None if u is None else u[part] for part in parts]
    codes = [model.posterior(dataset.x[p], known, beside_of(run, dataset, p))[0] for p, known in zip(parts, told)]
    return np.concatenate(codes)


def _one_draw(model: Model, x: np.ndarray, mean: np.ndarray, log_variance: np.ndarray, beside: Beside) -> np.ndarray:
    """One draw of z from the posterior of each row."""
    if model.recipe.architecture.posterior == "diagonal":
        return one_draw(mean, log_variance, 0)
    noise = np.random.default_rng(0).standard_normal(mean.shape)
    parts = [slice(start, start + ROWS_A_PASS) for start in range(0, len(x), ROWS_A_PASS)]
    with torch.no_grad():
        q = (model.encode(x[part], taken(beside, part)) for part in parts)
        drawn = [each.sample(torch.as_tensor(noise[part]).to(each.mean)).cpu() for part, each in zip(parts, q)]
    return torch.cat(drawn).numpy()


def _gaussian_tc(mean: np.ndarray, z: np.ndarray) -> dict[str, Any]:
    """TC_mean and TC_sample of RTC-VAE (Gaussian, from correlation matrices): the first can be large, or infinite
    (None), while the second is near 0. Latents whose mean hardly varies are `dropped` from the first."""
    dropped = int((mean.astype(np.float64).var(0) < DEAD_VARIANCE).sum())
    found = {name: gaussian_tc(codes) if len(codes) > 1 else 0.0 for name, codes in (("mean", mean), ("sample", z))}
    return {name: value if np.isfinite(value) else None for name, value in found.items()} | {
        "n": len(mean),
        "dropped": dropped,
    }


def _grouped_afterwards(
    mean, log_variance, truth, truth_groups: Groups, scores: dict, device: torch.device | str
) -> tuple[Groups, str]:
    """A method without groups is given the grouping that aligns best with the truth, which favours it. Beside that, in
    `scores`: neighbours grouped as they come, and the grouping with the smallest PC, which needs no truth."""
    from partita.structure import best_grouping

    sizes = group_sizes(mean.shape[1], truth_groups)
    found = regroup(*_sampled(mean, log_variance, device), sizes)
    as_they_come = as_groups(sizes, mean.shape[1])
    scores["alignment_fixed"] = _alignment(mean, truth, as_they_come, truth_groups, "neighbours together")
    scores["alignment_regrouped"] = _alignment(mean, truth, found, truth_groups, "smallest PC, no truth used")
    return best_grouping(mean, truth, sizes, truth_groups)[0], "best grouping by the truth"


def group_sizes(latents: int, truth_groups: Sequence) -> tuple[int, ...]:
    """Sizes for a grouping after the fact: the true ones where they fit, else as equal as can be."""
    sizes = tuple(len(group) for group in truth_groups)
    if sum(sizes) == latents:
        return sizes
    count = min(len(sizes), latents)
    return tuple(latents // count + (g < latents % count) for g in range(count))


def _reconstruction(model: Model, x: np.ndarray, x_scale: float, beside: Beside) -> dict[str, float]:
    observed = np.asarray(x, np.float64) * x_scale
    error = ((model.reconstruct(x, beside) - observed) ** 2).mean()
    bound = {}
    if model.has_bound:
        recon, kl = model.bound(x, beside=beside)
        bound = {"recon": float(recon.mean()), "kl": float(kl.mean()), "elbo": float(-(recon + kl).mean())}
    return bound | {
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


def _correlation(
    mean: np.ndarray, log_variance: np.ndarray, groups: Groups, grouping: str, device: torch.device | str
) -> dict[str, Any]:
    """Exact values for the aggregated posterior of at most ROWS_CORRELATED points, with the permutation null.

    `fixed_width` is the PC of the standardised means under one kernel width: PC itself falls when posteriors widen, so
    methods whose posteriors differ in width are compared by this (docs/glossary.md).
    """
    standardised = (mean - mean.mean(0)) / np.maximum(mean.std(0), 1e-12)
    z, means, log_variances = _sampled(mean, log_variance, device)
    found = correlation(z, means, log_variances, groups=groups)
    scores: dict[str, Any] = {name: getattr(found, name) for name in ("mi", "tc", "pc", "within_tc", "dim_kl", "kl")}
    null_tc = null_correlation(z, means, log_variances, draws=NULL_DRAWS)
    scores["null"] = {"pc": _null_pc(z, means, log_variances, groups), "tc": _spread(null_tc, "tc")}
    scores["fixed_width"] = _at_fixed_width(standardised, groups, device)
    return scores | {"by": "exact", "n": len(z), "groups": [list(group) for group in groups], "grouping": grouping}


def _joint(model: Model, x: np.ndarray, scores: dict[str, Any], beside: Beside) -> dict[str, Any]:
    """The same of a posterior whose latents are correlated given x, by its joint densities: they know what the product
    of single ones does not, so TC and PC hold the posterior's own correlation as well."""
    rows = some_rows(len(x), ROWS_JOINT)
    with torch.no_grad():
        q = model.encode(x[rows], taken(beside, rows))
        noise = np.random.default_rng(0).standard_normal(tuple(q.mean.shape))
        z = q.sample(torch.as_tensor(noise, dtype=q.mean.dtype, device=q.mean.device))
        groups = [tuple(group) for group in scores["correlation"]["groups"]]
        found = decompose(q, z, groups, by="naive", size=len(rows))
    return {name: float(found[name]) for name in ("mi", "tc", "pc", "within_tc", "dim_kl")} | {"n": len(rows)}


def _at_fixed_width(standardised: np.ndarray, groups: Groups, device: torch.device | str) -> dict[str, Any]:
    widths = np.full_like(standardised, 2 * np.log(KERNEL_WIDTH))
    smoothed = _sampled(standardised, widths, device)
    pc = correlation(*smoothed, groups=groups).pc
    return {"width": KERNEL_WIDTH, "pc": pc, "null": _null_pc(*smoothed, groups)}


def _sampled(mean: np.ndarray, log_variance: np.ndarray, device: torch.device | str) -> tuple[Tensor, Tensor, Tensor]:
    """One draw from each of at most ROWS_CORRELATED posteriors, their means and log-variances, in float64."""
    rows = some_rows(len(mean), ROWS_CORRELATED)
    means, log_variances = (torch.as_tensor(part[rows], dtype=torch.float64) for part in (mean, log_variance))
    noise = torch.as_tensor(np.random.default_rng(0).standard_normal(means.shape))
    z = DiagonalNormal(means, log_variances).sample(noise)
    return z.to(device), means.to(device), log_variances.to(device)


def _null_pc(z: Tensor, mean: Tensor, log_variance: Tensor, groups: Groups) -> dict[str, float]:
    return _spread(null_correlation(z, mean, log_variance, groups=groups, draws=NULL_DRAWS), "pc")


def _spread(null, name: str) -> dict[str, float]:
    return {"mean": float(null.mean[name]), "sd": float(null.sd[name])}
