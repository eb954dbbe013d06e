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
from partita.measures.quantities import QUANTITIES, Quantity, quantity
from partita.measures.weights import WEIGHTS, log_weights

__all__ = [
    "QUANTITIES",
    "WEIGHTS",
    "Correlation",
    "NullCorrelation",
    "Quantity",
    "UninformativeEstimate",
    "aggregate",
    "correlation",
    "decompose",
    "gaussian_tc",
    "log_weights",
    "null_correlation",
    "quantity",
]
