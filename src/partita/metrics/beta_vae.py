"""The BetaVAE score: which factor do pairs share?"""

from typing import Any

import numpy as np

from partita.metrics._inputs import check_protocol, quietly
from partita.metrics._interventions import Draw, Sampler, over_seeds, same_factor, sampler_of
from partita.metrics.score import Parts, Score, versions


def beta_vae(
    codes: Any,
    factors: Any,
    *,
    protocol: str = "dlib-2019",
    seed: int = 0,
    draw: Draw | None = None,
    batch_size: int = 64,
    train: int = 10_000,
    test: int = 5_000,
    interval: float | None = None,
    resamples: int = 20,
) -> Score:
    """BetaVAE score (Higgins et al. 2017): which factor do pairs share, guessed from their mean code difference.

    Feature: mean |z - z'| over `batch_size` pairs that agree in one random factor; a logistic regression trained on
    `train` features names the factor; test accuracy on `test` more. Observations come from a complete factor grid, or
    from `draw(fixed, n, rng)` -> codes (n, K), `fixed` a dict from factor index to its n values. Rotation is forgiven
    nearly completely; the chance level is 1 / factors.

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
    >>> score = beta_vae(codes, np.tile(factors, (20, 1)), train=500, test=200)
    >>> round(score.value, 1)
    1.0
    """
    check_protocol(protocol, ("dlib-2019",), "beta_vae")
    sampler = sampler_of(codes, factors, draw, "beta_vae")
    settings = {"batch_size": batch_size, "train": train, "test": test, **versions("scikit-learn")}

    def compute(draw_seed: int) -> tuple[float, Parts]:
        from sklearn.linear_model import LogisticRegression

        rng = np.random.default_rng(draw_seed)
        x, y = _paired_differences(sampler, train, batch_size, rng)
        if len(np.unique(y)) < 2:
            return 1.0, {"train_accuracy": 1.0}
        model = quietly(LogisticRegression().fit, x, y)
        accuracy = float(model.score(*_paired_differences(sampler, test, batch_size, rng)))
        return accuracy, {"train_accuracy": float(model.score(x, y))}

    return over_seeds(compute, sampler.n, seed, interval, resamples, settings)


def _paired_differences(sampler: Sampler, batches: int, size: int, rng: np.random.Generator):
    """One feature a batch, and the factor its pairs share."""
    shared = rng.integers(sampler.factors, size=batches)
    features: np.ndarray | None = None
    for factor, some in same_factor(shared):
        fixed = {factor: sampler.values(factor, len(some) * size, rng)}
        one, two = (sampler.rows(fixed, len(some) * size, rng) for _ in range(2))
        means = np.abs(one - two).reshape(len(some), size, -1).mean(1)
        features = np.empty((batches, means.shape[1])) if features is None else features
        features[some] = means
    return features, shared
