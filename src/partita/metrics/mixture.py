"""Information between latents and factors under the mixture of posteriors (Chen et al. 2018, appendix C)."""

import math

import numpy as np
import torch
from torch import Tensor

ROWS_AT_ONCE = 2_000_000


def mixture_information(mean: np.ndarray, log_variance: np.ndarray, labels: np.ndarray, seed: int) -> np.ndarray:
    """I(z_k; v_f) = H(z_k) - sum_v p(v) H(z_k | v) in nats, (K, F), float64.

    Entropies are -mean log q(z_k) over one draw z from each row's posterior, q the mixture of all rows (or of the rows
    with that factor value). Biased up slightly: a draw's own component is in its mixture.
    """
    noise = np.random.default_rng(seed).standard_normal(mean.shape)
    z = torch.from_numpy(mean + np.exp(0.5 * log_variance) * noise)
    mu, log_var = torch.from_numpy(mean), torch.from_numpy(log_variance)
    marginal = mixture_entropies(z, mu, log_var)
    matrix = np.empty((mean.shape[1], labels.shape[1]))
    for f, column in enumerate(labels.T):
        conditional = np.zeros(mean.shape[1])
        for value in range(column.max() + 1):
            rows = torch.from_numpy(np.flatnonzero(column == value))
            conditional += len(rows) / len(mean) * mixture_entropies(z[rows], mu[rows], log_var[rows])
        matrix[:, f] = marginal - conditional
    return matrix


def mixture_entropies(z: Tensor, mean: Tensor, log_variance: Tensor) -> np.ndarray:
    """-mean_i log( (1/n) sum_j N(z_ik; mean_jk, variance_jk) ) for every latent k."""
    n, latents = mean.shape
    step = max(1, ROWS_AT_ONCE // n)
    entropy = np.empty(latents)
    for k in range(latents):
        precision = torch.exp(-log_variance[:, k])
        constant = -0.5 * (log_variance[:, k] + math.log(2 * math.pi)) - math.log(n)
        total = 0.0
        for start in range(0, len(z), step):
            distance = (z[start : start + step, k, None] - mean[:, k]).square() * precision
            total += float(torch.logsumexp(constant - 0.5 * distance, 1).sum())
        entropy[k] = -total / len(z)
    return entropy
