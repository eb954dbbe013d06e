"""Quantities of a trace and of an aggregated posterior; a measure never sees a weight."""

from partita.measures.aggregate import aggregate, decompose
from partita.measures.correlation import (
    Correlation,
    NullCorrelation,
    UninformativeEstimate,
    correlation,
    null_correlation,
)
from partita.measures.gaussian import gaussian_tc
from partita.measures.weights import WEIGHTS, log_weights

__all__ = [
    "WEIGHTS",
    "Correlation",
    "NullCorrelation",
    "UninformativeEstimate",
    "aggregate",
    "correlation",
    "decompose",
    "gaussian_tc",
    "log_weights",
    "null_correlation",
]
