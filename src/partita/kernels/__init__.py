"""Sums over the components of a mixture: all of them streamed, those of a minibatch, those of a bank.

Who calls them does not know who computes them: Triton, C or plain torch (`kernels.dispatch`).
"""

from partita.kernels.bank import bank_log_sums
from partita.kernels.batch import batch_log_sums
from partita.kernels.mixture import Mixture, log_mixture

__all__ = ["Mixture", "bank_log_sums", "batch_log_sums", "log_mixture"]
