"""Information between latents and factors under the mixture of posteriors (Chen et al. 2018, appendix C)."""

import numpy as np
import torch
from torch import Tensor

from partita.kernels import log_mixture


def mixture_information(mean: np.ndarray, log_variance: np.ndarray, labels: np.ndarray, seed: int) -> np.ndarray:
    """I(z_k; v_f) = H(z_k) - sum_v p(v) H(z_k | v) in nats, (K, F), float64.

    Entropies are -mean log q(z_k) over one draw z from each row's posterior, q the mixture of all rows (or of the rows
    with that factor value). Biased up slightly: a draw's own component is in its mixture.
    """
    z, mu, log_var = (torch.from_numpy(array) for array in (one_draw(mean, log_variance, seed), mean, log_variance))
    marginal = mixture_entropies(z, mu, log_var)
    matrix = np.empty((mean.shape[1], labels.shape[1]))
    for f, column in enumerate(labels.T):
        conditional = np.zeros(mean.shape[1])
        for value in np.unique(column):
            rows = torch.from_numpy(np.flatnonzero(column == value))
            conditional += len(rows) / len(mean) * mixture_entropies(z[rows], mu[rows], log_var[rows])
        matrix[:, f] = marginal - conditional
    return matrix


def one_draw(mean: np.ndarray, log_variance: np.ndarray, seed: int) -> np.ndarray:
    """One z from each row's posterior."""
    noise = np.random.default_rng(seed).standard_normal(mean.shape)
    return mean + np.exp(0.5 * log_variance) * noise


def mixture_entropies(z: Tensor, mean: Tensor, log_variance: Tensor) -> np.ndarray:
    """-mean_i log( (1/n) sum_j N(z_ik; mean_jk, variance_jk) ) for every latent k, nats."""
    singles = [(k,) for k in range(mean.shape[1])]
    own = torch.arange(len(z))
    return -log_mixture(z, mean, log_variance, singles, own=own, dtype=torch.float64).mean(0).numpy()
