"""Sums over all components of a mixture, streamed: never n x N in memory."""

from partita.kernels.mixture import log_mixture

__all__ = ["log_mixture"]
