"""Factor disintegration: several latents, independent of each other, that each hold a part of one factor."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.measures._arrays import as_pair
from partita.measures._neighbours import label_information, vector_information


@dataclass(frozen=True)
class Disintegration:
    """Who carries one factor.

    `latents` with normalised information above the threshold, best first, and that `information`; `gap` between the
    best two of all latents; `dependence` of those two on each other, nats (NaN with one latent); `disintegrated` by
    the rule of `disintegration`.
    """

    factor: int
    latents: tuple[int, ...]
    information: np.ndarray
    gap: float
    dependence: float
    disintegrated: bool


def disintegration(
    codes: Any,
    factors: Any,
    *,
    carried: float = 0.1,
    independent: float = 0.05,
    share: float = 0.5,
    neighbours: int = 10,
    seed: int = 0,
) -> tuple[Disintegration, ...]:
    """For each factor the latents that carry it and the gap (RTC-VAE paper, Sec. 5; docs/glossary.md).

    Normalised information I(z_k; v) / H(v) by nearest neighbours. A factor is disintegrated if its two best latents
    both carry more than `carried`, share less than `independent` nats with each other, and the gap between them is
    below `share` of the best. Integer factors are classes; real-valued ones are cut into 20 equal widths first.

    Parameters
    ----------
    codes : (n, K), the latents, one row an observation.
    factors : (n, F), the true factors.
    carried : normalised information above which a latent carries a factor.
    independent : nats below which two latents share nothing.
    share : of the best latent's information, below which the gap to the second is small.
    neighbours : of the estimates of information.
    seed : of the noise that keeps neighbours apart.

    Returns
    -------
    tuple of Disintegration
        One a factor.

    Examples
    --------
    A factor of four values whose two bits live in latents of their own.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> factor = np.arange(200) % 4
    >>> codes = np.stack([factor // 2, factor % 2], 1) + 0.1 * rng.standard_normal((200, 2))
    >>> [found] = disintegration(codes, factor[:, None])
    >>> found.disintegrated, sorted(found.latents), found.information.round(1).tolist()
    (True, [0, 1], [0.5, 0.5])
    """
    codes, factors = as_pair(codes, factors)
    return tuple(
        _of_one_factor(codes, _classes(column), f, carried, independent, share, neighbours, seed)
        for f, column in enumerate(factors.T)
    )


def _classes(column: np.ndarray) -> np.ndarray:
    if not np.array_equal(np.rint(column), column):
        column = np.searchsorted(np.histogram_bin_edges(column, 20)[:-1], column, side="right")
    return np.unique(column, return_inverse=True)[1]


def _of_one_factor(codes, labels, f: int, carried, independent, share, neighbours: int, seed: int) -> Disintegration:
    p = np.bincount(labels) / len(labels)
    entropy = float(-(p * np.log(p)).sum())
    known = [label_information(codes[:, [k]], labels, neighbours=neighbours, seed=seed) for k in range(codes.shape[1])]
    information = np.array(known) / entropy if entropy > 0 else np.zeros(codes.shape[1])
    order = np.argsort(-information, kind="stable")
    best, second = information[order[0]], information[order[1]] if len(order) > 1 else 0.0
    dependence = np.nan
    if len(order) > 1 and len(codes) > 5:
        dependence = vector_information(codes[:, [order[0]]], codes[:, [order[1]]], seed=seed)
    split = second > carried and dependence < independent and best - second < share * best
    carriers = tuple(int(k) for k in order if information[k] > carried)
    return Disintegration(f, carriers, information, float(best - second), float(dependence), bool(split))
