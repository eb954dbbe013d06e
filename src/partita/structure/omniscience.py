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

    Parameters
    ----------
    mean, log_variance : (n, K), of the posteriors, one row an observation.
    seed : of the draws.

    Returns
    -------
    LatentReport
        Four arrays (K,).

    Examples
    --------
    The first latent tells observations apart, the second is the prior.

    >>> import numpy as np
    >>> mean = np.stack([np.linspace(-2, 2, 200), np.zeros(200)], 1)
    >>> report = latent_report(mean, np.tile([-6.0, 0.0], (200, 1)))
    >>> report.information.round(1).tolist(), report.kl.round(1).tolist()
    ([3.0, 0.0], [3.2, 0.0])
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

    Parameters
    ----------
    mean, log_variance : (n, K) of one model's posteriors, or (models, n, K), or lists.
    epsilon : entropy in nats below which a latent counts.
    delta : share of the models in which it need not.
    seed : of the draws.

    Returns
    -------
    array of int
        Indices of latents.

    Examples
    --------
    >>> import numpy as np
    >>> mean = np.random.default_rng(0).standard_normal((200, 2)) * [0.01, 1.0]
    >>> omniscient(mean, np.tile([-9.0, -2.0], (200, 1)))
    array([0])
    """
    several = np.ndim(mean) == 3 if not isinstance(mean, list | tuple) else np.ndim(mean[0]) == 2
    pairs = list(zip(mean, log_variance)) if several else [(mean, log_variance)]
    low = np.array([latent_report(mu, log_var, seed=seed).entropy < epsilon for mu, log_var in pairs])
    return np.flatnonzero(low.mean(0) >= 1 - delta)
