"""Means and log-variances as scores take them, and intervals of what is made of them."""

from typing import Any

import numpy as np

from partita.measures._arrays import as_matrix
from partita.metrics._inputs import check_units
from partita.metrics.score import Score, half_samples, spread


def posteriors(mean: Any, log_variance: Any) -> tuple[np.ndarray, np.ndarray]:
    mean, log_variance = as_matrix(mean, "mean"), as_matrix(log_variance, "log_variance")
    if mean.shape != log_variance.shape:
        raise ValueError(f"mean has shape {mean.shape}, log_variance {log_variance.shape}: they must agree")
    check_units(mean, "a score of posteriors", "means")
    return mean, log_variance


def with_interval(value, parts, compute, arrays, protocol, settings, interval, resamples, seed) -> Score:
    """The Score, with an interval from half-samples of the rows where a level is asked for; they need no null."""
    low_high = None
    if interval is not None:
        draws = [compute(*halves)[0] for halves in half_samples(arrays, resamples, seed)]
        low_high = spread(value, draws, interval)
        settings = {**settings, "resamples": resamples, "level": interval}
    return Score(value, parts, protocol, len(arrays[0]), low_high, settings)
