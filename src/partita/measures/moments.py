"""First and second moments of the posteriors of a batch."""

import torch
from torch import Tensor

from partita.trace import Trace


def posterior_variance(trace: Trace) -> dict[str, Tensor]:
    """posterior_variance = sum_k E_n[var(z_k|n)], the trace of the expected posterior covariance (RTC-VAE eq. 4).

    Parameters
    ----------
    trace : the forward pass of a batch.

    Returns
    -------
    dict of Tensor
        `posterior_variance`, a scalar.

    Examples
    --------
    >>> from partita.distributions import DiagonalNormal
    >>> from partita.trace import Batch, wake
    >>> mean = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
    >>> q = DiagonalNormal(mean, torch.zeros(2, 2))
    >>> trace = wake({"encoder": lambda x: q}, Batch(torch.zeros(2, 3), 2), {"z": torch.zeros(2, 2)}, {})
    >>> posterior_variance(trace)["posterior_variance"].item()
    2.0
    """
    return {"posterior_variance": torch.exp(trace.q.log_variance).sum(-1).mean()}


def covariance_of_means(trace: Trace) -> dict[str, Tensor]:
    """off_diagonal = sum_{i != j} C_ij^2 and diagonal = sum_i (C_ii - 1)^2 of C = Cov_n[mean(n)] (DIP-VAE-I).

    C over the batch with 1/M: low by a factor 1 - 1/M, and its squares high by what M points cannot average out.

    Parameters
    ----------
    trace : the forward pass of a batch.

    Returns
    -------
    dict of Tensor
        `off_diagonal` and `diagonal`, scalars.

    Examples
    --------
    Every covariance is 1.

    >>> from partita.distributions import DiagonalNormal
    >>> from partita.trace import Batch, wake
    >>> mean = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
    >>> q = DiagonalNormal(mean, torch.zeros(2, 2))
    >>> trace = wake({"encoder": lambda x: q}, Batch(torch.zeros(2, 3), 2), {"z": torch.zeros(2, 2)}, {})
    >>> {name: value.item() for name, value in covariance_of_means(trace).items()}
    {'off_diagonal': 2.0, 'diagonal': 0.0}
    """
    return _distance_from_identity(_covariance(trace.q.mean))


def covariance_of_samples(trace: Trace) -> dict[str, Tensor]:
    """The same with C = Cov_n[mean(n)] + E_n[covariance of q(z|n)], the covariance of q(z) (DIP-VAE-II).

    Parameters
    ----------
    trace : the forward pass of a batch.

    Returns
    -------
    dict of Tensor
        `off_diagonal` and `diagonal`, scalars.

    Examples
    --------
    Every covariance is 1, every variance 2.

    >>> from partita.distributions import DiagonalNormal
    >>> from partita.trace import Batch, wake
    >>> mean = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
    >>> q = DiagonalNormal(mean, torch.zeros(2, 2))
    >>> trace = wake({"encoder": lambda x: q}, Batch(torch.zeros(2, 3), 2), {"z": torch.zeros(2, 2)}, {})
    >>> {name: value.item() for name, value in covariance_of_samples(trace).items()}
    {'off_diagonal': 2.0, 'diagonal': 2.0}
    """
    return _distance_from_identity(_covariance(trace.q.mean) + trace.q.covariance.mean(0))


def _covariance(mean: Tensor) -> Tensor:
    centred = mean - mean.mean(0)
    return centred.T @ centred / len(mean)


def _distance_from_identity(c: Tensor) -> dict[str, Tensor]:
    variances = c.diagonal()
    return {
        "off_diagonal": c.square().sum() - variances.square().sum(),
        "diagonal": (variances - 1).square().sum(),
    }
