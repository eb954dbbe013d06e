"""Latents whose aggregated posterior has almost no entropy, and what else is true of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from partita.measures._arrays import as_matrix
from partita.measures._mixture import mixture_entropies, one_draw
from partita.measures.gaussian import kl_of_latents


@dataclass(frozen=True)
class LatentReport:
    """Per latent: entropy of the aggregated posterior, its variance, I(z_k; n) and KL to the prior; all nats."""

    entropy: np.ndarray
    variance: np.ndarray
    information: np.ndarray
    kl: np.ndarray


def latent_report(mean: Any, log_variance: Any, *, seed: int = 0) -> LatentReport:
    """Entropy E[-log q(z_k)], unclipped, by one draw a row under the mixture of all rows (quadratic in the rows).

    It is a differential entropy: below 0 for any narrow marginal, 1.419 for the standard normal. The variance, the
    information with the data index and the KL beside it tell "narrow" from "carries everything".
    """
    mean, log_variance = as_matrix(mean, "mean"), as_matrix(log_variance, "log_variance")
    if mean.shape != log_variance.shape:
        raise ValueError(f"mean has shape {mean.shape}, log_variance {log_variance.shape}: they must agree")
    z = one_draw(mean, log_variance, seed)
    entropy = mixture_entropies(torch.from_numpy(z), torch.from_numpy(mean), torch.from_numpy(log_variance))
    own = 0.5 * (np.log(2 * np.pi * np.e) + log_variance).mean(0)
    kl = kl_of_latents(mean, log_variance)
    return LatentReport(entropy, mean.var(0) + np.exp(log_variance).mean(0), entropy - own, kl)


def omniscient(
    mean: Any, log_variance: Any, epsilon: float = 1e-3, delta: float = 1e-2, *, seed: int = 0
) -> np.ndarray:
    """Indices of omniscient latents (beta-STCVAE paper, eq. 9): P[E(-log q(z_k)) < epsilon] >= 1 - delta over models.

    `mean` and `log_variance` are (n, K) for one model, where a latent counts if its entropy is below `epsilon`, or
    (models, n, K), or lists, for several. Read `latent_report` beside it: low entropy alone is a statement about scale.
    """
    several = np.ndim(mean) == 3 if not isinstance(mean, list | tuple) else np.ndim(mean[0]) == 2
    pairs = list(zip(mean, log_variance)) if several else [(mean, log_variance)]
    low = np.array([latent_report(mu, log_var, seed=seed).entropy < epsilon for mu, log_var in pairs])
    return np.flatnonzero(low.mean(0) >= 1 - delta)
