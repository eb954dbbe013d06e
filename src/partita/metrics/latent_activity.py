"""How many latents are used, and the KL of each."""

from functools import partial
from typing import Any

import numpy as np

from partita.measures.gaussian import kl_of_latents
from partita.metrics._independence import against_null
from partita.metrics._inputs import check_protocol
from partita.metrics._posteriors import posteriors
from partita.metrics.score import Parts, Score, scored


def latent_activity(
    mean: Any,
    log_variance: Any,
    *,
    protocol: str = "burda-2016",
    seed: int = 0,
    threshold: float = 0.01,
    interval: float | None = None,
    resamples: int = 100,
) -> Score:
    """How many latents are used: those whose posterior mean has a variance above `threshold` (Burda et al. 2016).

    `parts`: per-latent mean KL to the standard normal (`kl`), variance of the mean, mean posterior variance. These are
    properties of one latent at a time, so permuting rows per latent leaves them as they are: the null of every
    permutation is the score itself, and `parts["excess"]` is 0. It counts latents and says nothing of dependence.

    Parameters
    ----------
    mean : array (n, K)
        Means of the posteriors, one row an observation.
    log_variance : array (n, K)
        Log-variances of the posteriors.
    protocol : str
        Whose definition, by name: "burda-2016".
    seed : int
        Of whatever is drawn: the same seed gives the same score.
    threshold : float
        Standard deviation below which a latent is left out.
    interval : float, optional
        Level of an interval, 0.95 say; none unless given.
    resamples : int
        Draws that the interval is made from.

    Returns
    -------
    Score
        `float(score)` is its value; `.parts` has what it was made of.

    Examples
    --------
    >>> import numpy as np
    >>> mean = np.random.default_rng(0).standard_normal((200, 2))
    >>> score = latent_activity(mean, np.full((200, 2), -2.0))
    >>> round(score.value, 1)
    2.0
    """
    check_protocol(protocol, ("burda-2016",), "latent_activity")
    mean, log_variance = posteriors(mean, log_variance)
    return scored(
        partial(_activity, threshold=threshold),
        [mean, log_variance],
        protocol=protocol,
        settings={"threshold": threshold},
        seed=seed,
        interval=interval,
        resamples=resamples,
    )


def _activity(mean: np.ndarray, log_variance: np.ndarray, threshold: float) -> tuple[float, Parts]:
    variance = np.exp(log_variance)
    kl = kl_of_latents(mean, log_variance)
    spread_of_mean = mean.var(0)
    active = spread_of_mean > threshold
    parts = {"kl": kl, "mean_variance": spread_of_mean, "posterior_variance": variance.mean(0), "active": active}
    count = float(active.sum())
    return count, parts | against_null(count, [count])
