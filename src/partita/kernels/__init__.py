"""Sums over all components of a mixture, streamed: never n x N in memory."""

from partita.kernels.mixture import Mixture, log_mixture

__all__ = ["Mixture", "log_mixture"]
