"""Information of several coordinates counted in bins of equal rank: quick, and the same for any monotone rescaling.

TC_b(S) = |S| ln b - H(cells), H the entropy of the b^|S| cells that the rows fall into. Independent coordinates do not
give 0 but a null that depends only on the number of rows, b and |S|; it is drawn once and kept.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np

NULL_DRAWS = 60


class RankBins:
    """The ranks of codes (n, K), and what any of their coordinates share."""

    def __init__(self, codes: np.ndarray, seed: int = 0) -> None:
        self.rows, self.latents = codes.shape
        self._ranks = _ranks(codes, np.random.default_rng(seed))
        self._cut: dict[int, np.ndarray] = {}

    def cells(self, members: Sequence[int], bins: int) -> np.ndarray:
        """Which of the bins^|members| cells each row falls into."""
        if bins not in self._cut:
            self._cut[bins] = self._ranks * bins // self.rows
        cut = self._cut[bins]
        cell = cut[:, members[0]]
        for k in members[1:]:
            cell = cell * bins + cut[:, k]
        return cell

    def information(self, members: Sequence[int], bins: int) -> float:
        """Total correlation of the members in nats, less what independent coordinates give."""
        return self._raw(members, bins) - null(self.rows, bins, len(members))[0]

    def excess(self, members: Sequence[int], bins: int) -> float:
        """The same in deviations of the null."""
        mean, sd = null(self.rows, bins, len(members))
        return (self._raw(members, bins) - mean) / sd

    def pairs(self, bins: int) -> np.ndarray:
        """Information of every two coordinates, (K, K), 0 on the diagonal."""
        table = np.zeros((self.latents, self.latents))
        for i in range(self.latents):
            for j in range(i):
                table[i, j] = table[j, i] = self.information((i, j), bins)
        return table

    def _raw(self, members: Sequence[int], bins: int) -> float:
        return len(members) * np.log(bins) - entropy(self.cells(members, bins))


def entropy(cells: np.ndarray) -> float:
    """Plug-in entropy of cell numbers, nats."""
    counts = np.bincount(cells)
    p = counts[counts > 0] / len(cells)
    return float(-(p * np.log(p)).sum())


@cache
def null(rows: int, bins: int, members: int) -> tuple[float, float]:
    """Mean and deviation of TC_b of independent coordinates, nats.

    Close to those of a chi-square law, df / 2n and sqrt(2 df) / 2n with df = b^d - 1 - d (b - 1), where cells hold many
    rows; drawn because with few they do not.
    """
    if members < 2:
        return 0.0, 1.0
    rng = np.random.default_rng(5)
    ranks = np.arange(rows)
    drawn = [
        RankBins(np.stack([rng.permutation(ranks) for _ in range(members)], 1))._raw(range(members), bins)
        for _ in range(NULL_DRAWS)
    ]
    return float(np.mean(drawn)), max(float(np.std(drawn)), 1e-12)


def _ranks(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """0 to n - 1 in each column. Ties in random order: in the order of the rows they would tie the columns together."""
    ranks = np.empty(codes.shape, np.int64)
    for k, column in enumerate(codes.T):
        order = rng.permutation(len(column))
        ranks[order[np.argsort(column[order], kind="stable")], k] = np.arange(len(column))
    return ranks
