"""How the rows of a data set are seen by the models of a run: their scale, and what is known beside them."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from partita.data import Dataset
from partita.data._nearest import listed, nearest
from partita.data._some_rows import spread_rows
from partita.distributions import as_likelihood
from partita.studies.run import Run
from partita.training.covariates import learn_covariates
from partita.training.effects import with_effects
from partita.training.scale import Scale, measure_scale, rows_to_measure

MOST_CLASSES = 50  # of a factor that stands for levels; of more, it is numbers in their order
TOTAL = "total"
ROWS_AT_ONCE = 4096


def learned_covariates(dataset: Dataset, names: Sequence[str]) -> list[dict[str, Any]]:
    """What a run keeps of the covariates of these names."""
    columns = columns_named(dataset, names)
    return json.loads(json.dumps(learn_covariates(columns, dataset.size).as_json())) if columns else []


def beside_of(run: Run, dataset: Dataset, rows: np.ndarray | slice = slice(None)) -> dict[str, np.ndarray]:
    """What is known beside these rows, by its name in a `Batch`."""
    found: dict[str, np.ndarray] = {}
    known = run.known_covariates
    if known is not None:
        table = {name: values[rows] for name, values in columns_named(dataset, known.names).items()}
        found["covariates"] = known.of(table, len(next(iter(table.values()))))
    if run.exposure is not None:
        found["exposure"] = exposures(dataset, run.exposure)[rows]
    return found


def scale_of(run: Run, dataset: Dataset) -> Scale:
    """Measured: the same for the same data."""
    family = as_likelihood(run.recipe.architecture.likelihood)
    given = None if run.exposure is None else exposures(dataset, run.exposure)
    needed = run.scale != "none" or run.covariates
    rows = rows_to_measure(dataset.x, dataset.x_scale) if needed else np.zeros((1, *dataset.shape))
    if given is not None and len(given) != len(rows):
        given = given[spread_rows(len(given), len(rows))]
    scale = measure_scale(run.scale, family, rows, given)
    if not run.covariates or (family.suits is not None and not family.counts):
        return scale
    chosen = spread_rows(dataset.size, len(rows))
    return with_effects(scale, rows, beside_of(run, dataset, chosen)["covariates"], given)


def exposures(dataset: Dataset, exposure: str) -> np.ndarray:
    """A positive number a row, 1 on average: a column of this name, else for "total" the sum of the row."""
    columns = dataset.columns
    if exposure in columns and columns[exposure].dtype.kind in "iuf":
        values = columns[exposure].astype(np.float64)
    elif exposure == TOTAL:
        parts = [np.asarray(dataset.x[i : i + ROWS_AT_ONCE], np.float64) for i in range(0, dataset.size, ROWS_AT_ONCE)]
        values = np.concatenate([part.reshape(len(part), -1).sum(1) for part in parts])
    else:
        raise ValueError(f"exposure must be {TOTAL!r} or a column of numbers of {dataset.name}, got {exposure!r}")
    if not (values > 0).all():
        raise ValueError(f"row {int(np.argmin(values > 0))} of {dataset.name} has no {exposure} above 0: leave it out")
    return values / values.mean()


def columns_named(dataset: Dataset, names: Sequence[str]) -> dict[str, np.ndarray]:
    """What is known of the rows by name: columns as they are; factors as levels, or where they are many, as numbers in
    their order."""
    columns = dataset.columns
    places = {name: place for place, name in enumerate(dataset.factor_names)}
    found = {}
    for name in names:
        if name not in columns and name not in places:
            known = [*places, *columns]
            there = f"it has {listed(known)}" if known else "it has no factors"
            raise ValueError(f"{dataset.name} has no column {name!r}{nearest(name, known)}; {there}")
        if name in columns:
            found[name] = columns[name]
        elif dataset.factors is not None:
            many = dataset.factor_sizes[places[name]] > MOST_CLASSES
            found[name] = np.asarray(dataset.factors[:, places[name]]).astype(np.float64 if many else str)
    return found
