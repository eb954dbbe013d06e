"""Quantities of a trace and of an aggregated posterior; a measure never sees a weight."""

from partita.measures.aggregate import aggregate, decompose
from partita.measures.weights import WEIGHTS, log_weights

__all__ = ["WEIGHTS", "aggregate", "decompose", "log_weights"]
