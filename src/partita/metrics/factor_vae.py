"""The FactorVAE score: which latent varies least while a factor is held?"""

from typing import Any

import numpy as np

from partita.metrics._inputs import check_protocol
from partita.metrics._interventions import Draw, Sampler, over_seeds, same_factor, sampler_of
from partita.metrics.score import Parts, Score


def factor_vae(
    codes: Any,
    factors: Any,
    *,
    protocol: str = "dlib-2019",
    seed: int = 0,
    draw: Draw | None = None,
    batch_size: int = 64,
    train: int = 10_000,
    test: int = 5_000,
    variance_rows: int = 10_000,
    threshold: float = 0.05,
    interval: float | None = None,
    resamples: int = 20,
) -> Score:
    """FactorVAE score (Kim and Mnih 2018): the latent that varies least while a factor is held names the factor.

    Variances in batches of `batch_size` with one factor fixed to one value, over the variance of `variance_rows` free
    draws; the least one votes, a majority vote a latent classifies, accuracy on `test` more batches. Latents with
    standard deviation below `threshold` are pruned. Observations as for `beta_vae`. Chance is 1 / factors.

    Parameters
    ----------
    codes : array (n, K)
        Latents, one row an observation: posterior means, say.
    factors : array (n, F)
        Class indices of the factors of variation, integers unless said.
    protocol : str
        Whose definition, by name: "dlib-2019".
    seed : int
        Of whatever is drawn: the same seed gives the same score.
    draw : function, optional
        `(fixed, n, rng)` -> codes (n, K), `fixed` a dict from a factor's index to its n values.
    batch_size : int
        Rows, or pairs, of one vote.
    train : int
        Votes that the classifier is trained on.
    test : int
        Votes that it is scored on.
    variance_rows : int
        Rows that variances are taken from.
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
    >>> factors = np.stack([column.ravel() for column in np.indices((4, 5))], 1)
    >>> codes = np.tile(factors, (20, 1)) * [1.0, -2.0]
    >>> score = factor_vae(codes, np.tile(factors, (20, 1)), train=500, test=200)
    >>> round(score.value, 1)
    1.0
    """
    check_protocol(protocol, ("dlib-2019",), "factor_vae")
    sampler = sampler_of(codes, factors, draw, "factor_vae")
    settings = {"batch_size": batch_size, "train": train, "test": test, "threshold": threshold}

    def compute(draw_seed: int) -> tuple[float, Parts]:
        rng = np.random.default_rng(draw_seed)
        variance = sampler.rows({}, variance_rows, rng).var(0, ddof=1)
        active = np.flatnonzero(np.sqrt(variance) >= max(threshold, 1e-300))
        if len(active) == 0:
            return 0.0, {"train_accuracy": 0.0, "active": 0}
        votes = _votes(sampler, train, batch_size, active, variance, rng)
        chosen = votes.argmax(1)
        fresh = _votes(sampler, test, batch_size, active, variance, rng)
        accuracy = [float(v[np.arange(len(v)), chosen].sum() / v.sum()) for v in (votes, fresh)]
        return accuracy[1], {"train_accuracy": accuracy[0], "active": len(active), "votes": votes}

    return over_seeds(compute, sampler.n, seed, interval, resamples, settings)


def _votes(sampler: Sampler, batches: int, size: int, active: np.ndarray, variance: np.ndarray, rng) -> np.ndarray:
    """How often each latent varied least while each factor was held, (K, F)."""
    votes = np.zeros((len(variance), sampler.factors), dtype=int)
    for factor, some in same_factor(rng.integers(sampler.factors, size=batches)):
        values = np.repeat(sampler.values(factor, len(some), rng), size)
        rows = sampler.rows({factor: values}, len(values), rng)[:, active].reshape(len(some), size, len(active))
        least = active[(rows.var(1, ddof=1) / variance[active]).argmin(1)]
        votes[:, factor] += np.bincount(least, minlength=len(variance))
    return votes
