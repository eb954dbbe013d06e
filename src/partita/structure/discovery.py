"""Which latents belong together, found without labels: unmix, test for dependence, merge, confirm on other rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from partita.distributions import Groups
from partita.measures._arrays import as_matrix, unit_scale
from partita.measures._mixture import one_draw
from partita.structure._unmixing import least_dependent_rotation, spacing_entropy, whitening
from partita.structure.merging import (
    Information,
    Merge,
    Splitter,
    merged_groups,
    neighbour_information,
    posterior_information,
)

MAX_ROWS = 4_000
MAX_POSTERIORS = 2_000
# Deviation of the information between two independent coordinates, times the root of the rows: 0.22 to 0.31 for
# Gaussian, skewed, heavy-tailed, two-peaked and discrete ones, at 100 to 2,700 rows.
PAIR_NOISE = 0.3
Basis = tuple[np.ndarray, np.ndarray, bool]


@dataclass(frozen=True)
class Discovery:
    """Groups with their evidence; iterating gives the groups.

    `groups` partition the columns of `coordinates(codes)`: the codes themselves, or, where `unmixed`, their least
    dependent linear combinations `(codes - centre) @ transform`, ordered to resemble the codes. `dummies` are the
    members of single groups that pass as Gaussian: they carry no shape. `merges` were accepted, `refused` is the best
    merge that was not; `dependence` holds the pairwise information of the coordinates, nats.
    """

    groups: Groups
    dummies: tuple[int, ...]
    merges: tuple[Merge, ...]
    refused: Merge | None
    dependence: np.ndarray
    transform: np.ndarray
    centre: np.ndarray
    unmixed: bool

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def coordinates(self, codes: Any) -> np.ndarray:
        return (as_matrix(codes, "codes") - self.centre) @ self.transform


def discover_groups(
    codes_or_estimator: Any,
    max_rank: int | None = None,
    seed: int = 0,
    *,
    X: Any = None,
    unmix: bool | None = None,
    level: float = 0.01,
    minimum: float = 0.02,
) -> Discovery:
    """The partition of the latents into independent groups, their number, sizes and dummies, without labels.

    Codes, or a fitted estimator with `X` to encode. `unmix` rotates whitened codes to their least dependent
    coordinates first (independent subspace analysis: a solution of ICA is one of ISA up to order); None keeps the codes
    as they are unless the unmixed ones fall into more groups or are less dependent across groups by more than chance,
    which grows with the number of pairs of coordinates. Then single
    coordinates are merged: the two coordinates of different groups most dependent on a third of the rows are tested on
    the others against permutations, at `level` divided by the number of candidates; where no two pass, whole groups,
    then triples of single coordinates. They must also share `minimum` nats more than the null, because unmixing from
    finitely many rows leaves a little dependence behind. This ends when none passes or every merge would exceed
    `max_rank`. At most 4,000 rows are used. Information is by nearest neighbours; for a model with posteriors and
    `unmix=False` it is the exact PC of the aggregated posterior of at most 2,000 rows.

    Fails where four or more coordinates are dependent only all together, where a group is close to Gaussian, and after
    a nonlinear mixing, which no rotation undoes.

    Parameters
    ----------
    codes_or_estimator : (n, K), or a fitted estimator.
    max_rank : size of the largest group allowed; None for any.
    seed : of the rows, rotations and permutations.
    X : the observations an estimator encodes.
    unmix : whether to rotate the codes first; None to see whether it helps.
    level : of the tests, all candidates together.
    minimum : nats that two groups must share more than the null to be merged.

    Returns
    -------
    Discovery
        The groups, and what was found on the way to them.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 200)
    >>> codes = np.stack([np.cos(angle), rng.uniform(size=200), np.sin(angle)], 1)
    >>> discover_groups(codes, unmix=False).groups
    ((0, 2), (1,))
    """
    codes = _codes(codes_or_estimator, X)
    if len(codes) < 60:
        raise ValueError(f"discover_groups needs at least 60 rows, got {len(codes)}")
    if max_rank is not None and max_rank < 1:
        raise ValueError(f"max_rank must be at least 1, got {max_rank}")
    rows = np.random.default_rng(seed).permutation(len(codes))[:MAX_ROWS]
    if unmix is False and hasattr(codes_or_estimator, "posterior"):
        some = rows[:MAX_POSTERIORS]
        drawn = _drawn(codes_or_estimator, X, some, seed)
        splitter = _splitter(drawn, seed, (level, minimum), posterior_information)
        return _agglomerated(splitter, codes[some], _plain(codes), max_rank)
    if unmix is not None:
        basis = _unmixed(codes, rows, seed) if unmix else _plain(codes)
        return _discovered(codes, rows, basis, max_rank, seed, (level, minimum))
    plain = _discovered(codes, rows, _plain(codes), max_rank, seed, (level, minimum))
    separated = _discovered(codes, rows, _unmixed(codes, rows, seed), max_rank, seed, (level, minimum))
    return separated if _worth_turning(plain, separated, codes[rows]) else plain


def _codes(source: Any, X: Any) -> np.ndarray:
    if not hasattr(source, "transform") or hasattr(source, "__array__"):
        return as_matrix(source, "codes")
    if X is None:
        raise ValueError("discover_groups(estimator) needs the observations to encode: give X")
    return as_matrix(source.transform(X), "codes")


def _plain(codes: np.ndarray) -> Basis:
    return codes.mean(0), np.eye(codes.shape[1]), False


def _unmixed(codes: np.ndarray, rows: np.ndarray, seed: int) -> Basis:
    """Least dependent coordinates, in the order and orientation in which they resemble the codes most."""
    from scipy.optimize import linear_sum_assignment

    white = whitening(codes[rows])
    x = white(codes[rows])
    rotation = least_dependent_rotation(x, seed=seed)
    likeness = ((codes[rows] - white.mean) / unit_scale(codes[rows])).T @ (x @ rotation) / len(rows)
    taken, order = linear_sum_assignment(np.abs(likeness), maximize=True)
    sign = np.where(likeness[taken, order] < 0, -1.0, 1.0)
    return white.mean, (white.matrix @ rotation)[:, order] * sign, True


def _discovered(
    codes: np.ndarray,
    rows: np.ndarray,
    basis: Basis,
    max_rank: int | None,
    seed: int,
    thresholds: tuple[float, float],
) -> Discovery:
    centre, transform, _ = basis
    y = (codes[rows] - centre) @ transform
    return _agglomerated(_splitter(y, seed, thresholds, neighbour_information), y, basis, max_rank)


def _splitter(y: np.ndarray, seed: int, thresholds: tuple[float, float], information: Information) -> Splitter:
    return Splitter(y[: len(y) // 3], y[len(y) // 3 :], np.random.default_rng(seed), *thresholds, information)


def _agglomerated(splitter: Splitter, y: np.ndarray, basis: Basis, max_rank: int | None) -> Discovery:
    centre, transform, unmixed = basis
    groups, merges, refused = merged_groups(splitter, max_rank or y.shape[1])
    dependence = splitter.pairwise()
    return Discovery(groups, _dummies(y, groups), merges, refused, dependence, transform, centre, unmixed)


def _drawn(estimator: Any, X: Any, rows: np.ndarray, seed: int) -> np.ndarray:
    """(n, K, 3): a draw z from each posterior, its mean, its log variance."""
    mean, log_variance = (np.asarray(part, np.float64)[rows] for part in estimator.posterior(X))
    z = one_draw(mean, log_variance, seed)
    return np.stack([z, mean, log_variance], -1)


def _worth_turning(plain: Discovery, separated: Discovery, codes: np.ndarray) -> bool:
    """More groups, or less information between groups by at least 0.1 nats and more than independent codes show.

    The sum over pairs of coordinates is noise of PAIR_NOISE each. Where the codes fall into no groups, all their total
    correlation is between groups, and what turning saves of it follows from entropies of single coordinates, which see
    more in many dimensions; turning independent Gaussians seems to save 3 to 8 nats a pair and row.
    """
    if len(separated.groups) > len(plain.groups):
        return True
    rows, pairs = len(codes), codes.shape[1] * (codes.shape[1] - 1) / 2
    chance = 3 * PAIR_NOISE * np.sqrt(2 * pairs / (rows - rows // 3))
    if _between(plain) - _between(separated) > max(0.1, chance):
        return True
    alone = all(len(group) == 1 for group in plain.groups)
    square = separated.transform.shape[0] == separated.transform.shape[1]
    return alone and square and _tc_saved(codes, separated) > 0.1 + 8 * pairs / rows


def _tc_saved(codes: np.ndarray, turned: Discovery) -> float:
    """TC(codes) - TC(y) of y = codes T, nats: sum_k h(codes_k) - sum_k h(y_k) + log |det T|."""
    before, after = spacing_entropy(codes.T).sum(), spacing_entropy(turned.coordinates(codes).T).sum()
    return float(before - after + np.linalg.slogdet(turned.transform)[1])


def _between(discovery: Discovery) -> float:
    """Summed pairwise information across groups, nats."""
    home = {k: g for g, group in enumerate(discovery.groups) for k in group}
    return sum(float(discovery.dependence[i, j]) for i, j in combinations(sorted(home), 2) if home[i] != home[j])


def _dummies(y: np.ndarray, groups: Sequence[Sequence[int]]) -> tuple[int, ...]:
    from scipy.stats import normaltest

    single = [group[0] for group in groups if len(group) == 1]
    return tuple(k for k in single if normaltest(y[:, k]).pvalue > 0.05)
