"""Codes and factors in, scores out. Arrays only: no models, no training."""

from partita.metrics.factorisation import gaussian_tc, wasserstein_correlation
from partita.metrics.information_gaps import dcimig, jemmig, mig, mig_sup
from partita.metrics.registry import METRICS, Metric, evaluate
from partita.metrics.score import Score, over_runs

__all__ = [
    "METRICS",
    "Metric",
    "Score",
    "dcimig",
    "evaluate",
    "gaussian_tc",
    "jemmig",
    "mig",
    "mig_sup",
    "over_runs",
    "wasserstein_correlation",
]
