"""IRS: does a latent stay put while factors other than its own are changed?"""

from functools import partial
from typing import Any

import numpy as np

from partita.metrics._inputs import check_protocol, codes_and_labels, jointly_scaled
from partita.metrics.score import Parts, Score, scored

# Each with the quantile that its code takes by default.
QUANTILES = {"dlib-2019": 0.99, "ubisoft-2020": 1.0}
IRS_PROTOCOLS = tuple(QUANTILES)


def irs(
    codes: Any,
    factors: Any,
    *,
    protocol: str = "dlib-2019",
    seed: int = 0,
    quantile: float | None = None,
    interval: float | None = None,
    resamples: int = 100,
) -> Score:
    """Interventional robustness score (Suter et al. 2019): 1 - E_v[deviation of a latent at fixed v] / its largest.

    The deviation at a factor value v is the `quantile` of |z - E[z|v]| over the rows with that value; every latent
    takes its best factor and weighs by its largest deviation from its mean. Reads a data set as if its rows were
    interventions, so it needs factors that vary independently. Both protocols agree at equal `quantile`, which is
    0.99 by default in "dlib-2019" and 1 in "ubisoft-2020".

    Parameters
    ----------
    codes : array (n, K)
        Latents, one row an observation: posterior means, say.
    factors : array (n, F)
        Class indices of the factors of variation, integers unless said.
    protocol : str
        Whose definition, by name: "dlib-2019", "ubisoft-2020".
    seed : int
        Of whatever is drawn: the same seed gives the same score.
    quantile : float, optional
        Of the deviations; the protocol's own unless given.
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
    >>> score = irs(codes, np.tile(factors, (20, 1)))
    >>> round(score.value, 1)
    1.0
    """
    check_protocol(protocol, IRS_PROTOCOLS, "irs")
    quantile = QUANTILES[protocol] if quantile is None else quantile
    if not 0 < quantile <= 1:
        raise ValueError(f"quantile must be above 0 and at most 1, got {quantile}")
    codes, labels = codes_and_labels(codes, factors, "irs", scaled=jointly_scaled)
    return scored(
        partial(_irs, quantile=quantile),
        [codes, labels],
        protocol=protocol,
        settings={"quantile": quantile},
        seed=seed,
        interval=interval,
        resamples=resamples,
    )


def _irs(codes: np.ndarray, labels: np.ndarray, quantile: float) -> tuple[float, Parts]:
    alive = np.flatnonzero(np.ptp(codes, axis=0) > 0)
    if len(alive) == 0:
        return 0.0, {"per_latent": np.zeros(0), "parents": np.zeros(0, int), "matrix": np.zeros((0, labels.shape[1]))}
    codes = codes[:, alive]
    largest = np.abs(codes - codes.mean(0)).max(0)
    deviation = np.zeros((len(alive), labels.shape[1]))
    for f, column in enumerate(labels.T):
        order = np.argsort(column, kind="stable")
        cuts = np.flatnonzero(np.diff(column[order])) + 1
        for rows in np.split(order, cuts):
            here = codes[rows]
            deviation[:, f] += np.quantile(np.abs(here - here.mean(0)), quantile, axis=0)
        deviation[:, f] /= len(cuts) + 1
    matrix = 1 - deviation / largest[:, None]
    per_latent = matrix.max(1)
    parts = {
        "per_latent": per_latent,
        "parents": matrix.argmax(1),
        "matrix": matrix,
        "largest_deviation": largest,
        "latents": alive,
    }
    return float(np.average(per_latent, weights=largest)), parts
