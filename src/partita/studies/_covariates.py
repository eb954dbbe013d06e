"""How much each group of latents knows of each covariate, which the networks saw so that latents need not."""

from typing import Any

import numpy as np

from partita.data import Dataset
from partita.distributions import Groups
from partita.metrics.leakage import known_of
from partita.studies._seen import columns_named
from partita.studies.run import Run


def covariate_leakage(run: Run, dataset: Dataset, rows: np.ndarray, mean: np.ndarray, groups: Groups) -> dict[str, Any]:
    """Names, `known` (covariates, groups), shares of each covariate's information that a group has, and `null`, the
    same with rows permuted. `groups` are the run's own."""
    known = run.known_covariates
    assert known is not None
    table = {name: values[rows] for name, values in columns_named(dataset, known.names).items()}
    classes = known.classes(table, len(rows))
    found, null = known_of(mean, classes, groups)
    return {
        "names": list(known.names),
        "known": found.tolist(),
        "null": null.tolist(),
        "groups": [list(group) for group in groups],
        "n": len(rows),
    }
