"""Where the best ELBO lies as capacity grows: grouping coefficients and the "V" of the beta-STCVAE paper."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


def grouping_factors(latents: int) -> tuple[int, ...]:
    """Group sizes H the paper considers for K latents: the divisors of K other than K itself.

    Parameters
    ----------
    latents : K, at least 2.

    Returns
    -------
    tuple of int
        From 1 upwards.

    Examples
    --------
    >>> grouping_factors(12)
    (1, 2, 3, 4, 6)
    """
    if latents < 2:
        raise ValueError(f"grouping factors need at least 2 latents, got {latents}")
    return tuple(h for h in range(1, latents) if latents % h == 0)


def grouping_coefficient(latents: int, size: int) -> float:
    """H over the largest grouping factor of K: 1/m for single latents (beta-TCVAE), 1 for the fewest groups.

    Parameters
    ----------
    latents : K, at least 2.
    size : H, one of `grouping_factors(latents)`.

    Returns
    -------
    float
        In (0, 1].

    Examples
    --------
    >>> grouping_coefficient(12, 3)
    0.5
    """
    factors = grouping_factors(latents)
    if size not in factors:
        raise ValueError(f"group size {size} is not a grouping factor of {latents}: choose from {factors}")
    return size / factors[-1]


@dataclass(frozen=True)
class Trajectory:
    """The grouping coefficient of the best ELBO at each capacity, and the parabola through it.

    `fit` is (a, b, d) of a + b c + d c^2 over the capacity index c = 0, 1, ...; `vertex` its turning point; `v_shaped`
    means d > 0 with the vertex inside the range. `v_share` is how often that holds when the seeds are resampled, and
    `vertex_interval` the middle `level` of the vertices of those resamples (None where none is V-shaped).
    """

    capacities: tuple[float, ...]
    coefficients: np.ndarray
    fit: tuple[float, float, float]
    vertex: float
    v_shaped: bool
    v_share: float
    vertex_interval: tuple[float, float] | None


def best_elbo_trajectory(
    capacity: Sequence[float],
    latents: Sequence[int],
    size: Sequence[int],
    seed: Sequence[int],
    elbo: Sequence[float],
    *,
    resamples: int = 500,
    level: float = 0.95,
    draw_seed: int = 0,
) -> Trajectory:
    """Best-ELBO analysis (beta-STCVAE paper, Fig. 2; docs/glossary.md), one row of the arguments a trained model.

    For each capacity and number of latents the group size with the best mean ELBO over seeds; its grouping coefficient
    averaged over the numbers of latents; a parabola over the capacity index. The seeds are resampled with replacement,
    jointly for all models. At least three capacities are needed.

    Parameters
    ----------
    capacity, latents, size, seed, elbo : one entry a model: its capacity, number of latents K, group size H, seed, and
        the ELBO it reached.
    resamples : of the seeds.
    level : share of the resamples' vertices that the interval holds.
    draw_seed : of the resamples.

    Returns
    -------
    Trajectory
        The coefficients, the parabola through them, and how sure its turning point is.

    Examples
    --------
    Groups of two are best at either end, single latents in between.

    >>> capacity, size = [1, 1, 2, 2, 3, 3], [1, 2, 1, 2, 1, 2]
    >>> elbo = [-10, -9, -8, -9, -10, -9]
    >>> found = best_elbo_trajectory(capacity, [4] * 6, size, [0] * 6, elbo, resamples=10)
    >>> found.coefficients.tolist(), round(found.vertex, 2), found.v_shaped
    ([1.0, 0.5, 1.0], 1.0, True)
    """
    table = _table(capacity, latents, size, seed, elbo)
    levels = np.unique(table[:, 0])
    if len(levels) < 3:
        raise ValueError(f"a parabola needs at least 3 capacities, got {len(levels)}")
    seeds = np.unique(table[:, 3])
    coefficients = _coefficients(table, levels, dict.fromkeys(seeds, 1.0))
    fit, vertex, v_shaped = _parabola(coefficients)
    rng = np.random.default_rng(draw_seed)
    vertices = []
    for _ in range(resamples):
        drawn, counts = np.unique(rng.choice(seeds, len(seeds)), return_counts=True)
        _, turning, bent = _parabola(_coefficients(table, levels, dict(zip(drawn, counts))))
        if bent:
            vertices.append(turning)
    interval = None
    if vertices:
        low, high = np.quantile(vertices, [(1 - level) / 2, (1 + level) / 2])
        interval = (float(low), float(high))
    share = len(vertices) / max(resamples, 1)
    return Trajectory(tuple(levels.tolist()), coefficients, fit, vertex, v_shaped, share, interval)


def _table(*columns: Sequence[float]) -> np.ndarray:
    lengths = {len(column) for column in columns}
    if len(lengths) != 1 or not lengths.copy().pop():
        raise ValueError(f"capacity, latents, size, seed and elbo need one entry a model each, got lengths {lengths}")
    table = np.stack([np.asarray(column, float) for column in columns], 1)
    if not np.isfinite(table).all():
        raise ValueError(
            "capacity, latents, size, seed and elbo must be finite: leave diverged runs out, and count them"
        )
    return table


def _coefficients(table: np.ndarray, levels: np.ndarray, weight_of_seed: dict) -> np.ndarray:
    weights = np.array([weight_of_seed.get(s, 0.0) for s in table[:, 3]])
    means = []
    for level in levels:
        at_level = table[:, 0] == level
        found = []
        for k in np.unique(table[at_level, 1]):
            here = at_level & (table[:, 1] == k)
            best, best_size = -np.inf, None
            for h in np.unique(table[here, 2]):
                rows = here & (table[:, 2] == h)
                if weights[rows].sum() > 0:
                    mean = np.average(table[rows, 4], weights=weights[rows])
                    if mean > best:
                        best, best_size = mean, h
            if best_size is not None:
                found.append(grouping_coefficient(int(k), int(best_size)))
        means.append(np.mean(found) if found else np.nan)
    return np.array(means)


def _parabola(coefficients: np.ndarray) -> tuple[tuple[float, float, float], float, bool]:
    index = np.arange(len(coefficients))
    there = np.isfinite(coefficients)
    if there.sum() < 3:
        return (float("nan"), float("nan"), float("nan")), float("nan"), False
    d, b, a = np.polyfit(index[there], coefficients[there], 2)
    vertex = float(-b / (2 * d)) if abs(d) > 1e-12 else float("nan")
    return (float(a), float(b), float(d)), vertex, bool(d > 1e-12 and 0 < vertex < len(coefficients) - 1)
