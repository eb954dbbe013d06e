"""A score with everything needed to read it: protocol, sample size, settings, interval."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np

Parts = dict[str, Any]
Compute = Callable[..., tuple[float, Parts]]
PICKS_AT_ONCE = 10**7  # of a bootstrap over very many runs, which memory would not bear at once


@dataclass(frozen=True)
class Score:
    """One metric's answer. `float(score)` is `.value`; `.parts` holds what it was made of.

    `protocol` names whose definition it is, `settings` the bins, neighbours, estimator and library versions behind it,
    `interval` is (low, high) where one was asked for.
    """

    value: float
    parts: Parts = field(default_factory=dict)
    protocol: str = ""
    n: int = 0
    interval: tuple[float, float] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __float__(self) -> float:
        return self.value

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and strings, fit for JSON."""
        return {
            "value": _plain(self.value),
            "parts": _plain(self.parts),
            "protocol": self.protocol,
            "n": self.n,
            "interval": _plain(self.interval),
            "settings": _plain(self.settings),
        }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def versions(*packages: str) -> dict[str, str]:
    return {package: version(package) for package in packages}


def scored(
    compute: Compute,
    arrays: Sequence[np.ndarray],
    *,
    protocol: str,
    settings: Mapping[str, Any],
    seed: int = 0,
    interval: float | None = None,
    resamples: int = 100,
) -> Score:
    """`compute(*arrays)` as a Score, with an interval from half-samples of the rows when `interval` (a level) is given.

    Half of the rows, drawn without replacement, vary around the full-sample value exactly as the full sample varies
    around the truth: Var = sigma^2 (2/n - 1/n), the delete-half jackknife (Shao and Wu 1989). Unlike rows drawn with
    replacement they contain no ties, which would break nearest-neighbour estimates and inflate histogram information.
    The spread is centred on the value, so that the bias of the smaller sample does not move the interval.
    """
    value, parts = compute(*arrays)
    n = len(arrays[0])
    low_high = None
    if interval is not None:
        draws = [compute(*halves)[0] for halves in half_samples(arrays, resamples, seed)]
        low_high = spread(value, draws, interval)
        settings = {**settings, "resamples": resamples, "level": interval}
    return Score(float(value), parts, protocol, n, low_high, dict(settings))


def half_samples(arrays: Sequence[np.ndarray], resamples: int, seed: int):
    rng = np.random.default_rng(seed)
    n = len(arrays[0])
    if n < 4:
        raise ValueError(f"an interval needs at least 4 rows, got {n}")
    for _ in range(resamples):
        rows = np.sort(rng.permutation(n)[: n // 2])
        yield [array[rows] for array in arrays]


def spread(value: float, draws: Sequence[float], level: float) -> tuple[float, float]:
    """Quantiles of the draws around their mean, moved to `value`."""
    if not 0 < level < 1:
        raise ValueError(f"interval is a level between 0 and 1 such as 0.95, got {level}")
    deviations = np.asarray(draws) - np.mean(draws)
    low, high = np.quantile(deviations, [(1 - level) / 2, (1 + level) / 2])
    return float(value + min(low, 0.0)), float(value + max(high, 0.0))


def over_runs(
    scores: Sequence[Score | float], *, interval: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Score:
    """The mean over runs with a bootstrap interval that resamples the runs (seeds), not the rows.

    Parameters
    ----------
    scores : sequence of Score or float
        One of each run; Scores must be of one protocol.
    interval : float
        Level of the interval, between 0 and 1.
    resamples : int
        Draws that the interval is made from.
    seed : int
        Of the draws: the same seed gives the same interval.

    Returns
    -------
    Score
        `.n` is the number of runs; `.parts` has their values, "runs", and their standard deviation, "sd".

    Examples
    --------
    >>> score = over_runs([0.5, 0.6, 0.7])
    >>> round(score.value, 3), round(score.parts["sd"], 3), score.n
    (0.6, 0.1, 3)
    """
    values = np.array([float(score) for score in scores])
    if len(values) == 0:
        raise ValueError("no runs to summarise")
    if not 0 < interval < 1:
        raise ValueError(f"interval is a level between 0 and 1 such as 0.95, got {interval}")
    protocols = sorted({score.protocol for score in scores if isinstance(score, Score)})
    if len(protocols) > 1:
        raise ValueError(f"runs scored by different protocols cannot be averaged: {', '.join(protocols)}")
    rng, at_once = np.random.default_rng(seed), max(1, PICKS_AT_ONCE // len(values))
    sizes = [min(at_once, resamples - done) for done in range(0, resamples, at_once)]
    means = [values[rng.integers(len(values), size=(size, len(values)))].mean(1) for size in sizes]
    low, high = np.quantile(np.concatenate(means), [(1 - interval) / 2, (1 + interval) / 2])
    parts = {"runs": values, "sd": float(values.std(ddof=1)) if len(values) > 1 else 0.0}
    settings = {"resampled": "runs", "resamples": resamples, "level": interval}
    protocol = protocols[0] if protocols else ""
    return Score(float(values.mean()), parts, protocol, len(values), (float(low), float(high)), settings)
