"""Groups without sizes: coordinates that share information belong together, two, three or four at a time."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from partita.distributions import Groups
from partita.measures._arrays import as_matrix
from partita.structure._rank_bins import RankBins, entropy

PAIR_BINS = (4, 6, 12)
ANGLES = np.deg2rad(np.linspace(-12, 12, 17))
UNSURE = (4.0, 30.0)  # deviations of a pair between which a small turn is tried
PAIR = (5.0, 0.01)  # what makes two coordinates one group: deviations of the null, and nats
SHARE = 0.1  # and of the smaller of their strongest ties, because ICA leaves a little of a strong one behind
SEVERAL = (12.0, 0.04)  # the same for three and four coordinates
NULL_DRAWS = 4


def free_groups(codes: Any, seed: int = 0) -> Groups:
    """The partition of unmixed coordinates into groups that share nothing, number and sizes unknown.

    Two coordinates belong together where their information in 4, 6 or 12 rank bins is 5 deviations above the null, at
    least 0.01 nats and a tenth of the smaller of their largest ties. A pair that is neither clearly tied nor clearly
    not is judged at the best turn of its plane by up to 12 degrees: that removes what unmixing from finitely many rows
    left behind, and no true dependence. Then three coordinates (in 4 bins) and four (in 2) of different groups merge
    these, most significant first, where they share 12 deviations and 0.04 nats more than permuted rows.

    Fails for four or more coordinates that few rows cannot show to be dependent: below 1,500 rows bow-ties and shells
    of four dimensions fall apart.
    """
    codes = as_matrix(codes, "codes")
    if len(codes) < 60:
        raise ValueError(f"free_groups needs at least 60 rows, got {len(codes)}")
    ranked = RankBins(codes, seed)
    groups = _connected(_tied(codes, ranked, seed))
    for members, bins in ((3, 4), (4, 2)):
        groups = _merged(groups, ranked, members, bins, np.random.default_rng(seed))
    return groups


def pair_evidence(codes: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """Of two columns: the largest excess over the null in deviations, and the largest information, nats."""
    return _evidence(RankBins(codes, seed), (0, 1))


def _evidence(ranked: RankBins, pair: tuple[int, int]) -> tuple[float, float]:
    deviations = max(ranked.excess(pair, bins) for bins in PAIR_BINS)
    return deviations, max(0.0, *(ranked.information(pair, bins) for bins in PAIR_BINS))


def least_evidence(x: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """The same at the small turn of the plane that leaves the least."""
    c, s = np.cos(ANGLES), np.sin(ANGLES)
    turned = [x @ np.array([[a, -b], [b, a]]) for a, b in zip(c, s)]
    return min(pair_evidence(plane, seed) for plane in turned)


def _tied(codes: np.ndarray, ranked: RankBins, seed: int) -> np.ndarray:
    """Which two coordinates belong together, (K, K) truth values."""
    latents = codes.shape[1]
    deviations, nats = np.zeros((latents, latents)), np.zeros((latents, latents))
    for i, j in combinations(range(latents), 2):
        found = _evidence(ranked, (i, j))
        if UNSURE[0] < found[0] < UNSURE[1]:
            found = min(found, least_evidence(codes[:, [i, j]], seed))
        deviations[i, j], nats[i, j] = deviations[j, i], nats[j, i] = found
    strongest = nats.max(1)
    enough = np.maximum(PAIR[1], SHARE * np.minimum(strongest[:, None], strongest))
    return (deviations > PAIR[0]) & (nats > enough)


def _connected(tied: np.ndarray) -> Groups:
    from scipy.sparse.csgraph import connected_components

    label = connected_components(tied, directed=False)[1]
    return tuple(sorted(tuple(np.flatnonzero(label == g).tolist()) for g in range(label.max() + 1)))


def _merged(groups: Groups, ranked: RankBins, members: int, bins: int, rng: np.random.Generator) -> Groups:
    """Groups joined by the most significant `members` coordinates that span several, while there are such."""
    seen: dict[tuple[tuple[int, ...], ...], float] = {}
    while True:
        best, joined = SEVERAL[0], None
        for some in combinations(range(ranked.latents), members):
            parts = _split(some, groups)
            if len(parts) > 1:
                if parts not in seen:
                    seen[parts] = _excess_between(parts, ranked, bins, rng)
                if seen[parts] > best:
                    best, joined = seen[parts], some
        if joined is None:
            return groups
        met = [group for group in groups if set(group) & set(joined)]
        rest = [group for group in groups if group not in met]
        groups = tuple(sorted([*rest, tuple(sorted(k for group in met for k in group))]))


def _split(some: Sequence[int], groups: Groups) -> tuple[tuple[int, ...], ...]:
    return tuple(part for group in groups if (part := tuple(k for k in some if k in group)))


def _excess_between(parts: tuple[tuple[int, ...], ...], ranked: RankBins, bins: int, rng: np.random.Generator) -> float:
    """Information between the parts in deviations of permuted rows; 0 where it is less than asked for.

    The deviation of few permutations is uncertain, so it is at least that of the chi-square law with their mean:
    2 n I has mean df and variance 2 df.
    """
    cells = [ranked.cells(part, bins) for part in parts]
    shared = _between(cells)
    if shared < SEVERAL[1]:
        return 0.0
    drawn = [_between([cells[0], *(rng.permutation(cell) for cell in cells[1:])]) for _ in range(NULL_DRAWS)]
    mean = float(np.mean(drawn))
    sd = max(np.sqrt(max(mean, 1e-12) / ranked.rows), float(np.std(drawn)))
    return (shared - mean) / sd if shared - mean > SEVERAL[1] else 0.0


def _between(cells: list[np.ndarray]) -> float:
    joint = cells[0]
    for cell in cells[1:]:
        joint = joint * (cell.max() + 1) + cell
    return sum(entropy(cell) for cell in cells) - entropy(joint)
