"""Total correlation of the aggregated posterior."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from partita.measures import correlation, null_correlation
from partita.measures._mixture import one_draw
from partita.metrics._independence import against_null
from partita.metrics._inputs import check_protocol
from partita.metrics._posteriors import posteriors, with_interval
from partita.metrics.score import Parts, Score


def exact_tc(
    mean: Any,
    log_variance: Any,
    *,
    protocol: str = "mixture-of-all-rows",
    seed: int = 0,
    groups: Sequence | None = None,
    draws: int = 3,
    interval: float | None = None,
    resamples: int = 20,
) -> Score:
    """TC of the aggregated posterior, the mixture of all n given posteriors, one draw z from each; nats.

    With `groups` the value is the correlation between groups (PC). Large even for independent factors when posteriors
    are narrow, so read it against `parts["null"]`, the same estimate after permuting (mean, log_variance) rows
    independently per latent or group, over `draws` permutations; `excess` is the comparable number.

    Parameters
    ----------
    mean : array (n, K)
        Means of the posteriors, one row an observation.
    log_variance : array (n, K)
        Log-variances of the posteriors.
    protocol : str
        Whose definition, by name: "mixture-of-all-rows".
    seed : int
        Of whatever is drawn: the same seed gives the same score.
    groups : sequence, optional
        Sizes or tuples of indices: latents that belong together.
    draws : int
        Permutations of rows for the null.
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
    >>> score = exact_tc(mean, np.full((200, 2), -2.0))
    >>> round(score.value, 1)
    0.0
    """
    check_protocol(protocol, ("mixture-of-all-rows",), "exact_tc")
    mean, log_variance = posteriors(mean, log_variance)
    value, parts = _exact_tc(mean, log_variance, groups, draws, seed)
    settings = {"estimator": "exact mixture", "null_draws": draws}
    around = partial(_exact_tc, groups=groups, draws=0, seed=seed)
    return with_interval(value, parts, around, (mean, log_variance), protocol, settings, interval, resamples, seed)


def _exact_tc(
    mean: np.ndarray, log_variance: np.ndarray, groups: Sequence | None, draws: int, seed: int
) -> tuple[float, Parts]:
    z = one_draw(mean, log_variance, seed)
    found = correlation(z, mean, log_variance, groups=groups)
    value = found.tc if groups is None else found.pc
    parts: Parts = {name: getattr(found, name) for name in ("tc", "pc", "mi", "within_tc", "dim_kl")}
    if draws > 0:
        null = null_correlation(z, mean, log_variance, groups=groups, draws=draws, seed=seed)
        parts |= against_null(value, null.values["tc" if groups is None else "pc"].tolist())
    return float(value), parts
