"""The verdict on a run's groups, without labels, as JSON."""

from typing import Any

import numpy as np

from partita.data import Dataset
from partita.distributions import Groups
from partita.measures.gaussian import kl_of_latents

MOST_FEATURES = 1000  # of rows that are unmixed anew; of larger ones the codes are


def in_time(dataset: Dataset) -> bool:
    """Whether rows follow each other: frames of a movie, bins or samples of a recording."""
    options = dict(dataset.description.get("options", {}))
    return options.get("samples") == "frames" or bool({"bin", "neuropil"} & set(options))


def diagnosis(
    dataset: Dataset,
    rows: np.ndarray,
    mean: np.ndarray,
    log_variance: np.ndarray,
    groups: Groups,
    found: bool,
    bound: float | None,
    error: float,
) -> dict[str, Any] | None:
    """Of codes of these rows; None where every latent is a group of its own."""
    from partita.structure import diagnose_groups

    if all(len(group) == 1 for group in groups) or not np.isfinite(mean).all():
        return None
    order = np.argsort(rows)  # as they follow each other
    mean, log_variance = mean[order].astype(np.float64), log_variance[order]
    x = np.asarray(dataset.x[rows[order]], np.float64).reshape(len(rows), -1) * dataset.x_scale
    told: dict[str, Any] = {"bound": bound, "error": error} if x.shape[1] <= MOST_FEATURES else {}
    said = diagnose_groups(
        mean,
        groups,
        x if told else None,
        kl=kl_of_latents(mean, log_variance),
        found=found,
        time=in_time(dataset),
        **told,
    )
    numbers = {name: float(value) for name, value in said.numbers.items()}
    return {"verdict": said.verdict, "reasons": list(said.reasons), "numbers": numbers}
