"""How tangled a group is: its least total correlation over all linear maps."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.measures._arrays import as_matrix
from partita.measures._neighbours import multi_information
from partita.structure._unmixing import least_dependent_rotation, spacing_entropy, whitening

MAX_ROWS = 5_000
MIN_SINE = np.sqrt(1 - 0.98**2)  # directions closer than correlation 0.98 count as one


@dataclass(frozen=True)
class Entanglement:
    """The least total correlation of a group, `codes @ transform` its least dependent coordinates.

    `value` is in nats, by nearest neighbours, never below 0; `null` is what the same estimate gives after permuting
    the transformed coordinates (its noise level). A value near `null` means that some linear map makes the coordinates
    independent; well above it, the group is irreducible.
    """

    value: float
    transform: np.ndarray
    null: float
    n: int


def min_total_correlation(codes: Any, *, neighbours: int = 5, seed: int = 0, null_draws: int = 5) -> Entanglement:
    """min over W in GL(H) of TC(codes W) (Fig. 3b of the PDisVAE paper).

    Whitens, finds the map with the least sum of one-dimensional entropies minus log |det| (for H = 2 over every pair
    of directions, 2 degrees apart, otherwise over rotations by restarts), and measures the total correlation there
    by nearest neighbours (Kraskov et al. 2004, `neighbours`). Coordinates without variance, or repeated ones, are
    dropped; at most 5,000 rows, drawn by `seed`, are used. Rotations alone give an upper bound for H > 2.

    Parameters
    ----------
    codes : (n, H), the latents of one group, one row an observation.
    neighbours : of the estimate of total correlation.
    seed : of the rows, the restarts and the permutations.
    null_draws : permutations that `null` is the mean of.

    Returns
    -------
    Entanglement
        The least total correlation in nats, the map that has it, and the noise level of the estimate.

    Examples
    --------
    Two independent numbers, mixed, come apart again; a point on a circle does not.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> mixed = min_total_correlation(rng.uniform(size=(300, 2)) @ [[1, 1], [1, -2]])
    >>> angle = rng.uniform(0, 2 * np.pi, 300)
    >>> circle = min_total_correlation(np.stack([np.cos(angle), np.sin(angle)], 1))
    >>> mixed.value < 0.1, circle.value > 1
    (True, True)
    """
    codes = as_matrix(codes, "codes")
    if len(codes) <= neighbours:
        raise ValueError(f"min_total_correlation needs more than {neighbours} rows, got {len(codes)}")
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(codes))[:MAX_ROWS]
    white = whitening(codes[rows])
    x = white(codes[rows])
    if x.shape[1] < 2:
        return Entanglement(0.0, white.matrix, 0.0, len(rows))
    maps = _pairs_of_directions(x) if x.shape[1] == 2 else [least_dependent_rotation(x, seed=seed, restarts=4)]
    columns = [(k,) for k in range(x.shape[1])]
    costs = [multi_information(x @ candidate, columns, neighbours=neighbours, seed=seed) for candidate in maps]
    best = maps[int(np.argmin(costs))]
    y = x @ best
    shuffled = [np.stack([rng.permutation(column) for column in y.T], 1) for _ in range(null_draws)]
    null = [multi_information(rows_, columns, neighbours=neighbours, seed=seed) for rows_ in shuffled]
    expected = max(float(np.mean(null)), 0.0) if null else 0.0
    return Entanglement(max(float(min(costs)), 0.0), white.matrix @ best, expected, len(rows))


def _pairs_of_directions(x: np.ndarray, step: float = 2.0, kept: int = 6) -> list[np.ndarray]:
    """The best pairs of directions, not nearly parallel, by h(u) + h(v) - log |sin(u, v)|, and the best rotation."""
    angles = np.deg2rad(np.arange(0, 180, step))
    directions = np.stack([np.cos(angles), np.sin(angles)])
    entropy = spacing_entropy((x @ directions).T)
    sine = np.abs(np.sin(angles[:, None] - angles))
    cost = entropy[:, None] + entropy - np.log(np.maximum(sine, 1e-12))
    cost[(sine < MIN_SINE) | np.tril(np.ones_like(sine, dtype=bool))] = np.inf
    order = np.argsort(cost, axis=None)[:kept]
    pairs = [np.unravel_index(i, cost.shape) for i in order]
    return [directions[:, list(pair)] for pair in pairs] + [least_dependent_rotation(x)]
