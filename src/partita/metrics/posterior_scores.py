"""Scores of posteriors rather than codes: exact and Monte-Carlo total correlation, per-latent KL and activity."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from partita.distributions import Groups, as_groups
from partita.measures import correlation, null_correlation
from partita.measures._arrays import as_matrix
from partita.measures.mixture import one_draw
from partita.metrics._inputs import check_protocol, check_units
from partita.metrics.factorisation import against_null
from partita.metrics.score import Parts, Score, half_samples, scored, spread


def _posteriors(mean: Any, log_variance: Any) -> tuple[np.ndarray, np.ndarray]:
    mean, log_variance = as_matrix(mean, "mean"), as_matrix(log_variance, "log_variance")
    if mean.shape != log_variance.shape:
        raise ValueError(f"mean has shape {mean.shape}, log_variance {log_variance.shape}: they must agree")
    check_units(mean, "a score of posteriors", "means")
    return mean, log_variance


def exact_tc(
    mean: Any,
    log_variance: Any,
    *,
    protocol: str = "mixture-of-all-rows",
    seed: int = 0,
    groups: Sequence | None = None,
    draws: int = 3,
    interval: float | None = None,
    resamples: int = 20,
) -> Score:
    """TC of the aggregated posterior, the mixture of all n given posteriors, one draw z from each; nats.

    With `groups` the value is the correlation between groups (PC). Large even for independent factors when posteriors
    are narrow, so read it against `parts["null"]`, the same estimate after permuting (mean, log_variance) rows
    independently per latent or group, over `draws` permutations; `excess` is the comparable number.
    """
    check_protocol(protocol, ("mixture-of-all-rows",), "exact_tc")
    mean, log_variance = _posteriors(mean, log_variance)
    value, parts = _exact_tc(mean, log_variance, groups, draws, seed)
    settings = {"estimator": "exact mixture", "null_draws": draws}
    around = partial(_exact_tc, groups=groups, draws=0, seed=seed)
    return _with_interval(value, parts, around, (mean, log_variance), protocol, settings, interval, resamples, seed)


def _exact_tc(
    mean: np.ndarray, log_variance: np.ndarray, groups: Sequence | None, draws: int, seed: int
) -> tuple[float, Parts]:
    z = one_draw(mean, log_variance, seed)
    found = correlation(z, mean, log_variance, groups=groups)
    value = found.tc if groups is None else found.pc
    parts: Parts = {name: getattr(found, name) for name in ("tc", "pc", "mi", "within_tc", "dim_kl")}
    if draws > 0:
        null = null_correlation(z, mean, log_variance, groups=groups, draws=draws, seed=seed)
        parts |= against_null(value, null.values["tc" if groups is None else "pc"].tolist())
    return float(value), parts


def _with_interval(value, parts, compute, arrays, protocol, settings, interval, resamples, seed) -> Score:
    """The Score, with an interval from half-samples of the rows where a level is asked for; they need no null."""
    low_high = None
    if interval is not None:
        draws = [compute(*halves)[0] for halves in half_samples(arrays, resamples, seed)]
        low_high = spread(value, draws, interval)
        settings = {**settings, "resamples": resamples, "level": interval}
    return Score(value, parts, protocol, len(arrays[0]), low_high, settings)


def monte_carlo_tc(
    mean: Any,
    log_variance: Any,
    *,
    protocol: str = "mixture-of-64",
    seed: int = 0,
    groups: Sequence | None = None,
    components: int = 64,
    draws_each: int = 30,
    draws: int = 10,
    interval: float | None = None,
    resamples: int = 20,
) -> Score:
    """TC of a mixture of `components` random posteriors by `draws_each` draws from each, as papers log it; nats.

    This is the TC of the small mixture, bounded by (K-1) log(components), not of the data set's aggregated posterior:
    it follows the posteriors' width (17.6 nats at a true 0 for K=10, deviation 0.1). Use `excess` over the permutation
    null, at matched widths only.
    """
    check_protocol(protocol, ("mixture-of-64",), "monte_carlo_tc")
    mean, log_variance = _posteriors(mean, log_variance)
    compute = partial(_monte_carlo_tc, groups=groups, components=components, draws_each=draws_each, seed=seed)
    value, parts = compute(mean, log_variance, draws=draws)
    used = min(components, len(mean))
    settings = {"components": used, "draws_each": draws_each, "null_draws": draws}
    around = partial(compute, draws=0)
    score = _with_interval(value, parts, around, (mean, log_variance), protocol, settings, interval, resamples, seed)
    return replace(score, n=used)


def _monte_carlo_tc(
    mean: np.ndarray,
    log_variance: np.ndarray,
    groups: Sequence | None,
    components: int,
    draws_each: int,
    seed: int,
    draws: int,
) -> tuple[float, Parts]:
    blocks = as_groups(groups, mean.shape[1])
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(mean))[:components]
    mean, log_variance = mean[rows], log_variance[rows]
    value = _mixture_tc(mean, log_variance, blocks, draws_each, rng)
    null = []
    for _ in range(draws):
        shuffled = [_shuffle_rows((mean, log_variance), block, rng) for block in blocks]
        mu, log_var = np.empty_like(mean), np.empty_like(mean)
        for block, (m, lv) in zip(blocks, shuffled):
            mu[:, list(block)], log_var[:, list(block)] = m, lv
        null.append(_mixture_tc(mu, log_var, blocks, draws_each, rng))
    return value, against_null(value, null) if null else {}


def _shuffle_rows(arrays: tuple[np.ndarray, np.ndarray], block: tuple[int, ...], rng: np.random.Generator):
    order = rng.permutation(len(arrays[0]))
    return tuple(array[order][:, list(block)] for array in arrays)


def _mixture_tc(mean: np.ndarray, log_variance: np.ndarray, blocks: Groups, draws_each: int, rng) -> float:
    noise = rng.standard_normal((draws_each, *mean.shape))
    z = (mean + np.exp(0.5 * log_variance) * noise).reshape(-1, mean.shape[1])
    squared = (z[:, None, :] - mean) ** 2 * np.exp(-log_variance)
    log_density = -0.5 * (squared + log_variance + math.log(2 * math.pi))
    joint = _log_mean_exp(log_density.sum(2))
    apart = sum(_log_mean_exp(log_density[:, :, list(block)].sum(2)) for block in blocks)
    return float(np.mean(joint - apart))


def _log_mean_exp(values: np.ndarray) -> np.ndarray:
    top = values.max(1, keepdims=True)
    return top[:, 0] + np.log(np.exp(values - top).mean(1))


def latent_activity(
    mean: Any,
    log_variance: Any,
    *,
    protocol: str = "burda-2016",
    seed: int = 0,
    threshold: float = 0.01,
    interval: float | None = None,
    resamples: int = 100,
) -> Score:
    """How many latents are used: those whose posterior mean has a variance above `threshold` (Burda et al. 2016).

    `parts`: per-latent mean KL to the standard normal (`kl`), variance of the mean, mean posterior variance. These are
    properties of one latent at a time, so permuting rows per latent leaves them as they are: the null of every
    permutation is the score itself, and `parts["excess"]` is 0. It counts latents and says nothing of dependence.
    """
    check_protocol(protocol, ("burda-2016",), "latent_activity")
    mean, log_variance = _posteriors(mean, log_variance)
    return scored(
        partial(_activity, threshold=threshold),
        [mean, log_variance],
        protocol=protocol,
        settings={"threshold": threshold},
        seed=seed,
        interval=interval,
        resamples=resamples,
    )


def _activity(mean: np.ndarray, log_variance: np.ndarray, threshold: float) -> tuple[float, Parts]:
    variance = np.exp(log_variance)
    kl = 0.5 * (mean**2 + variance - 1 - log_variance).mean(0)
    spread_of_mean = mean.var(0)
    active = spread_of_mean > threshold
    parts = {"kl": kl, "mean_variance": spread_of_mean, "posterior_variance": variance.mean(0), "active": active}
    count = float(active.sum())
    return count, parts | against_null(count, [count])
