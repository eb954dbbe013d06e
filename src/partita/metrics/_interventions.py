"""Observations with a factor held fixed while the others vary, for the scores that ask for them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from partita.data import FactorGrid
from partita.measures._arrays import as_matrix
from partita.metrics._inputs import check_units, class_counts, codes_and_labels, in_own_units
from partita.metrics.score import Parts, Score, spread

BATCHES_AT_ONCE = 2_000


Draw = Callable[[dict[int, np.ndarray], int, np.random.Generator], Any]


@dataclass(frozen=True)
class GridRows:
    """A data set with every combination of factor values: observations are drawn by looking rows up."""

    codes: np.ndarray
    grid: FactorGrid
    order: np.ndarray
    first: np.ndarray
    count: np.ndarray

    @property
    def factors(self) -> int:
        return len(self.grid.sizes)

    @property
    def n(self) -> int:
        return len(self.codes)

    def values(self, factor: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.integers(self.grid.sizes[factor], size=n)

    def rows(self, fixed: dict[int, np.ndarray], n: int, rng: np.random.Generator) -> np.ndarray:
        columns = [fixed[f] if f in fixed else rng.integers(size, size=n) for f, size in enumerate(self.grid.sizes)]
        cell = self.grid.to_index(np.stack(columns, 1))
        repeats = self.count[cell]
        chosen = self.first[cell] + (rng.integers(repeats) if repeats.max() > 1 else 0)
        return self.codes[self.order[chosen]]


def grid_rows(codes: np.ndarray, labels: np.ndarray, metric: str) -> GridRows:
    """The rows by their combination of factor values; ValueError where one is missing."""
    sizes = class_counts(labels)
    # numbered only where there are rows enough for every combination
    if math.prod(sizes.tolist()) <= len(labels):
        grid = FactorGrid(tuple(map(str, range(len(sizes)))), tuple(sizes))
        cell = grid.to_index(labels)
        count = np.bincount(cell, minlength=grid.size)
        if count.min() > 0:
            return GridRows(codes, grid, np.argsort(cell, kind="stable"), np.cumsum(count) - count, count)
    seen = len(np.unique(labels, axis=0))
    raise ValueError(
        f"{metric} needs every combination of factor values, but {seen} of {' x '.join(map(str, sizes))} are present:"
        " give a complete grid, or draw=f(fixed, n, rng) that makes observations"
    )


@dataclass(frozen=True)
class DrawnRows:
    """Observations made by a function of the caller."""

    draw: Draw
    table: np.ndarray

    @property
    def factors(self) -> int:
        return self.table.shape[1]

    @property
    def n(self) -> int:
        return len(self.table)

    def values(self, factor: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.choice(self.table[:, factor], size=n)

    def rows(self, fixed: dict[int, np.ndarray], n: int, rng: np.random.Generator) -> np.ndarray:
        codes = as_matrix(self.draw(fixed, n, rng), "draw's codes")
        check_units(codes, "a score of interventions")
        if len(codes) != n:
            raise ValueError(f"draw was asked for {n} observations and returned {len(codes)}")
        return codes


Sampler = GridRows | DrawnRows


def sampler_of(codes: Any, factors: Any, draw: Draw | None, metric: str) -> Sampler:
    if draw is not None:
        return DrawnRows(draw, as_matrix(factors, "factors"))
    scaled = partial(in_own_units, metric=metric)
    return grid_rows(*codes_and_labels(codes, factors, metric, scaled=scaled), metric)


def over_seeds(
    compute: Callable[[int], tuple[float, Parts]],
    n: int,
    seed: int,
    interval: float | None,
    repeats: int,
    settings: dict,
) -> Score:
    """The rows are the population here and the draws are what varies, so an interval repeats them with other seeds."""
    value, parts = compute(seed)
    low_high = None
    if interval is not None:
        low_high = spread(value, [compute(seed + 1 + repeat)[0] for repeat in range(repeats)], interval)
        settings = {**settings, "resampled": "draws", "resamples": repeats, "level": interval}
    return Score(value, parts, "dlib-2019", n, low_high, settings)


def same_factor(factor_of_batch: np.ndarray):
    for factor in np.unique(factor_of_batch):
        batches = np.flatnonzero(factor_of_batch == factor)
        for start in range(0, len(batches), BATCHES_AT_ONCE):
            yield int(factor), batches[start : start + BATCHES_AT_ONCE]
