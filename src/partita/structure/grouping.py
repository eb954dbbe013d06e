"""The grouping of latents that aligns best with known groups: an exact search with a bound."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from partita.distributions import Groups, as_groups
from partita.measures._arrays import as_pair
from partita.structure.alignment import Alignment, align, coordinate_r2, variances

MAX_SUBSETS = 200_000
MAX_NODES = 300_000


def best_grouping(
    codes: Any, truth: Any, sizes: Sequence[int], truth_groups: Sequence | None
) -> tuple[Groups, Alignment]:
    """The partition of the latents into groups of `sizes` with the best alignment, and that alignment.

    Post-hoc grouping for methods without groups. It favours them: report a fixed grouping beside it. The optimum over
    all K!/(G!(H!)^G) groupings is found exactly by branch and bound (a true group cannot be predicted better than by
    its best free subset). Where the search is cut short (`exact` False) the best one found comes with `bound`, the
    most any grouping could reach. Groups are listed in the order of the true groups they match, the others after them.

    Parameters
    ----------
    codes : (n, K), the learned latents, one row an observation.
    truth : (n, L), the true ones.
    sizes : of the groups of latents; they add up to K.
    truth_groups : sizes or tuples of indices of the true latents; None takes every one by itself.

    Returns
    -------
    groups : tuple of tuples of latents.
    alignment : Alignment
        As `align` gives it for these groups, with `bound` and `exact`.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.random.default_rng(0).standard_normal((100, 4))
    >>> groups, alignment = best_grouping(truth[:, [0, 2, 1, 3]], truth, sizes=(2, 2), truth_groups=(2, 2))
    >>> groups
    ((0, 2), (1, 3))
    >>> round(alignment.r2, 3), alignment.exact
    (1.0, True)
    """
    codes, truth = as_pair(codes, truth, ("codes", "truth"))
    sizes = _checked_sizes(sizes, codes.shape[1])
    true = as_groups(truth_groups, truth.shape[1])
    subsets = sum(comb(codes.shape[1], size) for size in set(sizes))
    if subsets > MAX_SUBSETS:
        raise ValueError(
            f"{codes.shape[1]} latents have {subsets} subsets of sizes {sorted(set(sizes))}: too many to compare"
            f" (at most {MAX_SUBSETS}); use smaller groups, or discover_groups"
        )
    search = _Search(_subset_scores(codes, truth, true, sizes), Counter(sizes), len(true))
    search.run()
    groups = _completed(search.best_choice, sizes, codes.shape[1])
    alignment = align(codes, truth, groups, true)
    bound = alignment.r2 if search.finished else search.root_bound / len(true)
    return groups, replace(alignment, bound=bound, exact=search.finished)


def _checked_sizes(sizes: Sequence[int], latents: int) -> tuple[int, ...]:
    return tuple(len(group) for group in as_groups(tuple(sizes), latents))


@dataclass(frozen=True)
class _Candidates:
    """Every subset for one true group, best first."""

    scores: np.ndarray
    subsets: list[tuple[int, ...]]
    masks: list[int]


def _subset_scores(codes: np.ndarray, truth: np.ndarray, true: Groups, sizes: Sequence[int]) -> list[_Candidates]:
    latents = codes.shape[1]
    joint = np.cov(codes, truth, rowvar=False, bias=True)
    inside, across, variance = joint[:latents, :latents], joint[:latents, latents:], variances(truth)
    subsets: list[tuple[int, ...]] = []
    r2 = []
    for size in sorted(set(sizes)):
        some = list(combinations(range(latents), size))
        index = np.array(some)
        blocks = inside[index[:, :, None], index[:, None, :]]
        explained = across[index]
        weights = np.linalg.pinv(blocks, rcond=1e-12, hermitian=True) @ explained
        error = variance - (explained * weights).sum(1)
        r2.append(coordinate_r2(error, variance))
        subsets += some
    table = np.concatenate(r2)
    masks = [sum(1 << k for k in subset) for subset in subsets]
    candidates = []
    for group in true:
        varies = [k for k in group if not np.isnan(table[0, k])]
        scores = table[:, varies].mean(1) if varies else np.zeros(len(table))
        order = np.argsort(-scores, kind="stable")
        candidates.append(_Candidates(scores[order], [subsets[i] for i in order], [masks[i] for i in order]))
    return candidates


@dataclass
class _Search:
    """Depth-first over the true groups, best subsets first, cut where even the best free subsets cannot win."""

    candidates: list[_Candidates]
    sizes: Counter
    true: int
    best_value: float = -np.inf
    best_choice: dict[int, tuple[int, ...]] = field(default_factory=dict)
    root_bound: float = 0.0
    nodes: int = 0
    skips: int = 0
    finished: bool = True
    seen: dict = field(default_factory=dict)

    def run(self) -> None:
        self.skips = max(0, self.true - sum(self.sizes.values()))
        self.root_bound = sum(max(c.scores[0], 0.0) for c in self.candidates)
        self._descend(0, 0, 0.0, {}, self.skips)

    def _descend(self, depth: int, used: int, value: float, choice: dict[int, tuple[int, ...]], skips: int) -> None:
        if depth == self.true:
            if value > self.best_value:
                self.best_value, self.best_choice = value, dict(choice)
            return
        self.nodes += 1
        if self.nodes > MAX_NODES and self.best_choice:
            self.finished = False
            return
        state = (depth, used, skips, *sorted(self.sizes.items()))
        if self.seen.get(state, -np.inf) >= value or value + self._bound(depth, used) <= self.best_value:
            return
        self.seen[state] = value
        rest = self._bound(depth + 1, used)
        here = self.candidates[depth]
        for score, subset, mask in zip(here.scores.tolist(), here.subsets, here.masks):
            if value + score + rest <= self.best_value:
                break
            if not mask & used and self.sizes[len(subset)] > 0:
                self.sizes[len(subset)] -= 1
                self._descend(depth + 1, used | mask, value + score, {**choice, depth: subset}, skips)
                self.sizes[len(subset)] += 1
        if skips:
            self._descend(depth + 1, used, value, choice, skips - 1)

    def _bound(self, depth: int, used: int) -> float:
        total = 0.0
        for candidates in self.candidates[depth:]:
            free = (i for i, mask in enumerate(candidates.masks) if not mask & used)
            first = next(free, None)
            total += max(float(candidates.scores[first]), 0.0) if first is not None else 0.0
        return total


def _completed(choice: dict[int, tuple[int, ...]], sizes: Sequence[int], latents: int) -> Groups:
    """The chosen groups, and the unchosen latents in order cut into the sizes that are left."""
    chosen = [choice[a] for a in sorted(choice)]
    left = Counter(sizes) - Counter(len(group) for group in chosen)
    free = iter(sorted(set(range(latents)) - {k for group in chosen for k in group}))
    rest = [tuple(next(free) for _ in range(size)) for size in sorted(left.elements(), reverse=True)]
    return tuple(chosen + rest)
