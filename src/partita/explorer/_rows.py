"""What a page shows of the rows of a data set: observations, and columns that colour their codes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from partita.data import Dataset
from partita.data._some_rows import some_rows
from partita.studies._diagnosing import in_time

MOST_POINTS = 100_000
MOST_NUMBERS = 1 << 26  # encoded for one view: of images of 64 x 64 pixels, 16,384
FEWEST_POINTS = 2_000
MOST_LEVELS = 12  # of what is coloured by class; of more, colours are in the order of the numbers

Posterior = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Column:
    """What is known of each row, by name: numbers, or class indices with the names of their levels."""

    name: str
    values: np.ndarray
    levels: tuple[str, ...] | None = None

    def as_json(self) -> dict[str, Any]:
        levels = None if self.levels is None else list(self.levels)
        return {"name": self.name, "kind": "continuous" if levels is None else "categorical", "levels": levels}


@dataclass(frozen=True, eq=False)
class Rows:
    """Observations `x` (n, *shape), how to encode some of them, and what is known of each."""

    x: Any
    encode: Callable[[np.ndarray], Posterior]
    columns: tuple[Column, ...] = ()
    factors: tuple[Column, ...] = ()  # class indices, which information is measured about
    truth: np.ndarray | None = None
    truth_groups: tuple[tuple[int, ...], ...] | None = None
    is_movie: bool = False  # rows are pixels, and what they hold are time courses
    in_time: bool = False
    at_most: int = field(default=MOST_POINTS)

    @cached_property
    def drawn(self) -> np.ndarray:
        """The rows that are points: all, or a random sample of them, in order."""
        fits = max(FEWEST_POINTS, MOST_NUMBERS // max(1, prod(self.x.shape[1:])))
        return some_rows(len(self.x), min(self.at_most, fits))

    def observed(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.x[rows], np.float32)


def rows_of(dataset: Dataset, encode: Callable[[np.ndarray], Posterior]) -> Rows:
    factors = tuple(
        _classes(name, dataset.factors[:, f], size, dataset.columns.get(name))
        for f, (name, size) in enumerate(zip(dataset.factor_names, dataset.factor_sizes))
        if dataset.factors is not None
    )
    known = {each.name for each in factors}
    others = [column_of(name, values) for name, values in dataset.columns.items() if name not in known]
    for what, table in (("label", dataset.labels), ("true latent", dataset.truth)):
        if table is not None and not (what == "label" and factors):
            others += [Column(f"{what} {k}", column) for k, column in enumerate(table.T)]
    return Rows(
        dataset.x,
        encode,
        (*factors, *others),
        () if dataset.places is not None else factors,  # where a pixel lies is no factor of its time course
        dataset.truth,
        dataset.truth_groups,
        dataset.places is not None,
        in_time(dataset),
    )


def _classes(name: str, values: np.ndarray, size: int, words: np.ndarray | None) -> Column:
    """A factor, whose levels are called what a column of the same name calls them."""
    if size > MOST_LEVELS and (words is None or words.dtype.kind in "biuf"):
        return Column(name, values)
    named = range(size) if words is None else np.unique(words).tolist()
    return Column(name, values, tuple(map(str, named if len(named) == size else range(size))))


def column_of(name: str, values: np.ndarray) -> Column:
    if values.dtype.kind in "biuf":
        return Column(name, values.astype(np.float64))
    levels, classes = np.unique(values.astype(str), return_inverse=True)
    return Column(name, classes.reshape(-1), tuple(map(str, levels)))
