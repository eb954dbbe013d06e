"""Scores that hold a factor fixed and let the others vary: BetaVAE and FactorVAE."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from partita.measures._arrays import as_matrix
from partita.metrics._inputs import check_protocol, check_units, class_counts, codes_and_labels, in_own_units
from partita.metrics.modular_explicit import quietly
from partita.metrics.score import Parts, Score, spread, versions

BATCHES_AT_ONCE = 2_000
Draw = Callable[[dict[int, np.ndarray], int, np.random.Generator], Any]


@dataclass(frozen=True)
class FactorGrid:
    """A data set with every combination of factor values: observations are drawn by looking rows up."""

    codes: np.ndarray
    sizes: np.ndarray
    order: np.ndarray
    first: np.ndarray
    count: np.ndarray

    @property
    def factors(self) -> int:
        return len(self.sizes)

    @property
    def n(self) -> int:
        return len(self.codes)

    def values(self, factor: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.integers(self.sizes[factor], size=n)

    def rows(self, fixed: dict[int, np.ndarray], n: int, rng: np.random.Generator) -> np.ndarray:
        columns = [fixed[f] if f in fixed else rng.integers(size, size=n) for f, size in enumerate(self.sizes)]
        cell = np.ravel_multi_index(columns, tuple(self.sizes))
        repeats = self.count[cell]
        chosen = self.first[cell] + (rng.integers(repeats) if repeats.max() > 1 else 0)
        return self.codes[self.order[chosen]]


def factor_grid(codes: np.ndarray, labels: np.ndarray, metric: str) -> FactorGrid:
    sizes = class_counts(labels)
    cells = math.prod(sizes.tolist())
    # numbered only where there are rows enough for every combination
    enough = cells <= len(labels)
    cell = np.asarray(np.ravel_multi_index(tuple(labels.T), tuple(sizes))) if enough else np.zeros(0, int)
    count = np.bincount(cell, minlength=cells if enough else 1)
    if count.min() == 0:
        seen = len(np.unique(labels, axis=0))
        shape = " x ".join(map(str, sizes))
        raise ValueError(
            f"{metric} needs every combination of factor values, but {seen} of {shape} are present:"
            " give a complete grid, or draw=f(fixed, n, rng) that makes observations"
        )
    return FactorGrid(codes, sizes, np.argsort(cell, kind="stable"), np.cumsum(count) - count, count)


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


Sampler = FactorGrid | DrawnRows


def _sampler(codes: Any, factors: Any, draw: Draw | None, metric: str) -> Sampler:
    if draw is not None:
        return DrawnRows(draw, as_matrix(factors, "factors"))
    scaled = partial(in_own_units, metric=metric)
    return factor_grid(*codes_and_labels(codes, factors, metric, scaled=scaled), metric)


def _over_seeds(
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


def beta_vae(
    codes: Any,
    factors: Any,
    *,
    protocol: str = "dlib-2019",
    seed: int = 0,
    draw: Draw | None = None,
    batch_size: int = 64,
    train: int = 10_000,
    test: int = 5_000,
    interval: float | None = None,
    resamples: int = 20,
) -> Score:
    """BetaVAE score (Higgins et al. 2017): which factor do pairs share, guessed from their mean code difference.

    Feature: mean |z - z'| over `batch_size` pairs that agree in one random factor; a logistic regression trained on
    `train` features names the factor; test accuracy on `test` more. Observations come from a complete factor grid, or
    from `draw(fixed, n, rng)` -> codes (n, K), `fixed` a dict from factor index to its n values. Rotation is forgiven
    nearly completely; the chance level is 1 / factors.
    """
    check_protocol(protocol, ("dlib-2019",), "beta_vae")
    sampler = _sampler(codes, factors, draw, "beta_vae")
    settings = {"batch_size": batch_size, "train": train, "test": test, **versions("scikit-learn")}

    def compute(draw_seed: int) -> tuple[float, Parts]:
        from sklearn.linear_model import LogisticRegression

        rng = np.random.default_rng(draw_seed)
        x, y = _paired_differences(sampler, train, batch_size, rng)
        if len(np.unique(y)) < 2:
            return 1.0, {"train_accuracy": 1.0}
        model = quietly(LogisticRegression().fit, x, y)
        accuracy = float(model.score(*_paired_differences(sampler, test, batch_size, rng)))
        return accuracy, {"train_accuracy": float(model.score(x, y))}

    return _over_seeds(compute, sampler.n, seed, interval, resamples, settings)


def _paired_differences(sampler: Sampler, batches: int, size: int, rng: np.random.Generator):
    """One feature a batch, and the factor its pairs share."""
    shared = rng.integers(sampler.factors, size=batches)
    features: np.ndarray | None = None
    for factor, some in _same_factor(shared):
        fixed = {factor: sampler.values(factor, len(some) * size, rng)}
        one, two = (sampler.rows(fixed, len(some) * size, rng) for _ in range(2))
        means = np.abs(one - two).reshape(len(some), size, -1).mean(1)
        features = np.empty((batches, means.shape[1])) if features is None else features
        features[some] = means
    return features, shared


def _same_factor(factor_of_batch: np.ndarray):
    for factor in np.unique(factor_of_batch):
        batches = np.flatnonzero(factor_of_batch == factor)
        for start in range(0, len(batches), BATCHES_AT_ONCE):
            yield int(factor), batches[start : start + BATCHES_AT_ONCE]


def factor_vae(
    codes: Any,
    factors: Any,
    *,
    protocol: str = "dlib-2019",
    seed: int = 0,
    draw: Draw | None = None,
    batch_size: int = 64,
    train: int = 10_000,
    test: int = 5_000,
    variance_rows: int = 10_000,
    threshold: float = 0.05,
    interval: float | None = None,
    resamples: int = 20,
) -> Score:
    """FactorVAE score (Kim and Mnih 2018): the latent that varies least while a factor is held names the factor.

    Variances in batches of `batch_size` with one factor fixed to one value, over the variance of `variance_rows` free
    draws; the least one votes, a majority vote a latent classifies, accuracy on `test` more batches. Latents with
    standard deviation below `threshold` are pruned. Observations as for `beta_vae`. Chance is 1 / factors.
    """
    check_protocol(protocol, ("dlib-2019",), "factor_vae")
    sampler = _sampler(codes, factors, draw, "factor_vae")
    settings = {"batch_size": batch_size, "train": train, "test": test, "threshold": threshold}

    def compute(draw_seed: int) -> tuple[float, Parts]:
        rng = np.random.default_rng(draw_seed)
        variance = sampler.rows({}, variance_rows, rng).var(0, ddof=1)
        active = np.flatnonzero(np.sqrt(variance) >= max(threshold, 1e-300))
        if len(active) == 0:
            return 0.0, {"train_accuracy": 0.0, "active": 0}
        votes = _votes(sampler, train, batch_size, active, variance, rng)
        chosen = votes.argmax(1)
        fresh = _votes(sampler, test, batch_size, active, variance, rng)
        accuracy = [float(v[np.arange(len(v)), chosen].sum() / v.sum()) for v in (votes, fresh)]
        return accuracy[1], {"train_accuracy": accuracy[0], "active": len(active), "votes": votes}

    return _over_seeds(compute, sampler.n, seed, interval, resamples, settings)


def _votes(sampler: Sampler, batches: int, size: int, active: np.ndarray, variance: np.ndarray, rng) -> np.ndarray:
    """How often each latent varied least while each factor was held, (K, F)."""
    votes = np.zeros((len(variance), sampler.factors), dtype=int)
    for factor, some in _same_factor(rng.integers(sampler.factors, size=batches)):
        values = np.repeat(sampler.values(factor, len(some), rng), size)
        rows = sampler.rows({factor: values}, len(values), rng)[:, active].reshape(len(some), size, len(active))
        least = active[(rows.var(1, ddof=1) / variance[active]).argmin(1)]
        votes[:, factor] += np.bincount(least, minlength=len(variance))
    return votes
