"""What runs that are paired by seed and data say of one another: differences, ranks, shares, each with its doubt."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from partita.data._switch import Switch

LEVEL = 0.95
ALPHA = 0.05
RESAMPLES = 5000
MOST_EXACT = 50  # pairs whose signs are all gone through by scipy's own table; with ties, MOST_SIGNS of them
MOST_SIGNS = 13


@contextmanager
def _without_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        yield


degenerate_is_no_news = Switch(_without_warnings)  # another kind of interval is taken then


@dataclass(frozen=True)
class Spread:
    """A number and an interval around it; None where a single value says nothing of how others would lie."""

    value: float
    low: float | None
    high: float | None


def bootstrapped(values: ArrayLike, statistic=np.mean) -> Spread:
    """A statistic with its 95% bootstrap interval (BCa; percentile where all resamples but a few agree)."""
    x = np.asarray(values, float)
    found = float(statistic(x))
    if len(x) < 2:
        return Spread(found, None, None)
    if _level(x):
        return Spread(found, found, found)
    for method in ("BCa", "percentile"):
        with degenerate_is_no_news, np.errstate(all="ignore"):
            interval = stats.bootstrap(
                (x,),
                statistic,
                n_resamples=RESAMPLES,
                confidence_level=LEVEL,
                method=method,
                rng=np.random.default_rng(0),
            ).confidence_interval
        if np.isfinite([interval.low, interval.high]).all():
            break
    return Spread(found, float(interval.low), float(interval.high))


def _level(x: np.ndarray) -> bool:
    """Whether all values are one, but for rounding."""
    return bool(np.ptp(x) <= 1e-12 * max(1.0, float(np.abs(x).max())))


def interquartile_mean(values, axis: int = -1):
    """The mean without the lowest and the highest quarter (Agarwal et al. 2021): surer than a mean where a few runs
    fail, and it hears more runs than a median does."""
    return stats.trim_mean(values, 0.25, axis=axis)


def signed_ranks(differences: ArrayLike) -> float:
    """The p-value of Wilcoxon's signed-rank test that differences are symmetric around 0; exact for few pairs."""
    d = np.asarray(differences, float)
    d = d[d != 0]
    if len(d) == 0:
        return 1.0
    untied = len(np.unique(np.abs(d))) == len(d)
    method: Any = "asymptotic"
    if untied and len(d) <= MOST_EXACT:
        method = "exact"
    elif len(d) <= MOST_SIGNS:
        method = stats.PermutationMethod(n_resamples=2**MOST_SIGNS)
    result: Any = stats.wilcoxon(d, method=method)
    return float(result.pvalue)


def smallest_p(pairs: int) -> float:
    """What Wilcoxon's test gives when all differences have one sign: with so few pairs it cannot say more."""
    return 2.0 ** (1 - pairs)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values made larger for their number: with all of them, one below 0.05 is false in 5% of studies (Holm 1979)."""
    p = np.asarray(p_values, float)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted.tolist()


def equivalence(differences: ArrayLike, margin: float) -> float | None:
    """The p-value of two one-sided t tests (Schuirmann 1987): small where the mean difference is surely within the
    margin, on either side. None of a single pair."""
    d = np.asarray(differences, float)
    if len(d) < 2:
        return None
    if _level(d):
        return 0.0 if abs(d.mean()) < margin else 1.0
    above: Any = stats.ttest_1samp(d, -margin, alternative="greater")
    below: Any = stats.ttest_1samp(d, margin, alternative="less")
    return float(max(above.pvalue, below.pvalue))


@cache
def share(successes: int, runs: int) -> Spread:
    """A share of runs with Wilson's 95% interval (1927), which stays between 0 and 1 and is not empty at either."""
    interval = stats.binomtest(successes, runs).proportion_ci(LEVEL, method="wilson")
    return Spread(successes / runs, float(interval.low), float(interval.high))


@dataclass(frozen=True)
class Ranked:
    """Mean ranks of contenders over blocks, 1 the best; Friedman's p-value (None of two contenders), the critical
    difference of Nemenyi, and the contenders that it does not tell apart, by position."""

    ranks: tuple[float, ...]
    blocks: int
    friedman: float | None
    critical: float
    alike: tuple[tuple[int, ...], ...]


def ranked(values: np.ndarray, *, lower: bool = False) -> Ranked:
    """`values` are (blocks, contenders); a block is what all of them were tried on, here data and seed."""
    blocks, count = values.shape
    ranks = stats.rankdata(values if lower else -values, axis=1).mean(0)
    friedman = None
    if count > 2:
        told_apart = any(np.ptp(row) > 0 for row in values)
        friedman = float(stats.friedmanchisquare(*values.T).pvalue) if told_apart else 1.0
    critical = critical_difference(count, blocks)
    return Ranked(tuple(ranks.tolist()), blocks, friedman, critical, _alike(ranks, critical))


def critical_difference(contenders: int, blocks: int) -> float:
    """By how much mean ranks must differ: q sqrt(k (k + 1) / (6 N)), q of the studentised range over the root of 2
    (Demšar 2006, eq. for the Nemenyi test)."""
    q = stats.studentized_range.ppf(1 - ALPHA, contenders, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(contenders * (contenders + 1) / (6 * blocks)))


def _alike(ranks: np.ndarray, critical: float) -> tuple[tuple[int, ...], ...]:
    """The largest sets of contenders whose ranks lie within the critical difference, of two and more."""
    order = np.argsort(ranks, kind="stable")
    sets: list[tuple[int, ...]] = []
    reached = 0
    for start in range(len(order)):
        within = [int(i) for i in order[start:] if ranks[i] - ranks[order[start]] < critical]
        if len(within) > 1 and start + len(within) > reached:
            reached = start + len(within)
            sets.append(tuple(within))
    return tuple(sets)
