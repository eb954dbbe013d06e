"""The verdict on a run's groups, without labels, as JSON."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from partita.data import Dataset
from partita.measures.gaussian import kl_of_latents
from partita.studies.run import Run
from partita.training import Model

MOST_FEATURES = 1000  # of rows that are unmixed anew; of larger ones the codes are


def in_time(dataset: Dataset) -> bool:
    """Whether rows follow each other: frames of a movie, bins or samples of a recording."""
    options = dict(dataset.description.get("options", {}))
    return options.get("samples") == "frames" or bool({"bin", "neuropil"} & set(options))


def diagnosis(
    run: Run,
    model: Model,
    dataset: Dataset,
    rows: np.ndarray,
    mean: np.ndarray,
    log_variance: np.ndarray,
    scores: Mapping[str, Any],
    restarts: Sequence[float] = (),
) -> dict[str, Any] | None:
    """Of codes of these rows; None where every latent is a group of its own. Rows, bound and error are in the units
    that the model sees; of counts, and of rows with covariates, the codes alone are looked at."""
    from partita.structure import diagnose_groups

    groups, scale, told = model.recipe.groups, model.scale, {}
    if all(len(group) == 1 for group in groups) or not np.isfinite(mean).all():
        return None
    order = np.argsort(rows)  # as they follow each other
    mean, log_variance = mean[order].astype(np.float64), log_variance[order]
    if prod(dataset.shape) <= MOST_FEATURES and not scale.counts and not run.covariates:
        seen, error = model.seen_and_error(np.asarray(dataset.x[rows[order]]), mean)
        gaussian = str(model.recipe.architecture.likelihood).startswith("gaussian") and "elbo" in scores
        bound = scores["elbo"] - float(scale.log_jacobian(tuple(dataset.shape))) if gaussian else None
        told = {"x": seen, "bound": bound, "error": error}
    said = diagnose_groups(
        mean,
        groups,
        told.pop("x", None),
        kl=kl_of_latents(mean, log_variance),
        restarts=restarts,
        found=run.program.finds_groups,
        time=in_time(dataset),
        **told,
    )
    numbers = {name: float(value) for name, value in said.numbers.items()}
    return {"verdict": said.verdict, "reasons": list(said.reasons), "numbers": numbers}
