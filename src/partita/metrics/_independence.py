"""A statistic of dependence between codes beside its null: rows permuted, group by group."""

from collections.abc import Callable, Sequence

import numpy as np

from partita.distributions import Groups
from partita.metrics.score import Parts, Score, scored

Statistic = Callable[[np.ndarray, Groups], tuple[float, Parts]]


def unsupervised(compute, codes, protocol, draws, seed, interval, resamples) -> Score:
    settings = {"null_draws": draws, "estimator": "covariance"}
    return scored(
        compute, [codes], protocol=protocol, settings=settings, seed=seed, interval=interval, resamples=resamples
    )


def with_null(codes: np.ndarray, statistic: Statistic, blocks: Groups, draws: int, seed: int) -> tuple[float, Parts]:
    value, parts = statistic(codes, blocks)
    if draws < 1:
        return value, parts
    rng = np.random.default_rng(seed)
    null = [statistic(permuted(codes, blocks, rng), blocks)[0] for _ in range(draws)]
    return value, {**parts, **against_null(value, null)}


def against_null(value: float, null: Sequence[float]) -> Parts:
    """What permutations give, and how far the value exceeds it."""
    mean = float(np.mean(null))
    spread = float(np.std(null)) if np.isfinite(mean) else float("nan")
    return {"null": mean, "null_sd": spread, "excess": value - mean}


def permuted(codes: np.ndarray, blocks: Groups, rng: np.random.Generator) -> np.ndarray:
    """Rows shuffled independently per group: every group's distribution stays, their dependence goes."""
    shuffled = np.empty_like(codes)
    for block in blocks:
        columns = list(block)
        shuffled[:, columns] = codes[rng.permutation(len(codes))][:, columns]
    return shuffled
