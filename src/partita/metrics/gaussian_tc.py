"""Total correlation of a Gaussian with the codes' covariance."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from partita.distributions import Groups, as_groups
from partita.measures import gaussian_tc as closed_form_tc
from partita.measures._arrays import as_matrix
from partita.measures.gaussian import DEAD_VARIANCE
from partita.metrics._independence import unsupervised, with_null
from partita.metrics._inputs import check_protocol, in_own_units
from partita.metrics.score import Parts, Score


def gaussian_tc(
    codes: Any,
    factors: Any = None,
    *,
    protocol: str = "dlib-2019",
    seed: int = 0,
    groups: Sequence | None = None,
    draws: int = 10,
    interval: float | None = None,
    resamples: int = 100,
) -> Score:
    """Total correlation of a Gaussian with the codes' covariance: -1/2 log det R, nats; 0 is best.

    TC_mean where codes are posterior means, TC_sample where they are draws. With `groups` the correlation between
    groups, 1/2 (sum_g log det S_gg - log det S). Blind to nonlinear dependence; for independent codes it is about
    K(K-1)/4n. Latents with variance below 1e-8 are left out (`parts["dropped"]`). `parts["null"]` is its mean over
    `draws` permutations of the rows, independently per latent (or group), `excess` the difference. `factors` are
    accepted and ignored, so that every metric is called alike.

    Parameters
    ----------
    codes : array (n, K)
        Latents, one row an observation: posterior means, say.
    factors : ignored
        So that every metric is called alike.
    protocol : str
        Whose definition, by name: "dlib-2019".
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
    >>> rng = np.random.default_rng(0)
    >>> codes = rng.standard_normal((500, 1)) + rng.standard_normal((500, 2))
    >>> score = gaussian_tc(codes)
    >>> round(score.value, 1)
    0.2
    """
    check_protocol(protocol, ("dlib-2019",), "gaussian_tc")
    codes = in_own_units(as_matrix(codes, "codes"), "gaussian_tc")
    blocks = as_groups(groups, codes.shape[1])
    compute = partial(with_null, statistic=_gaussian_tc, blocks=blocks, draws=draws, seed=seed)
    return unsupervised(compute, codes, protocol, draws, seed, interval, resamples)


def _gaussian_tc(codes: np.ndarray, blocks: Groups) -> tuple[float, Parts]:
    parts = {"dropped": int((codes.var(0) < DEAD_VARIANCE).sum())}
    return (closed_form_tc(codes, blocks) if len(codes) > 1 else 0.0), parts
