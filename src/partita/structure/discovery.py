"""Which latents belong together, found without labels: unmix, test for dependence, merge, confirm on other rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from partita.distributions import Groups
from partita.measures._arrays import as_matrix, unit_scale
from partita.measures._ica import picard
from partita.measures._mixture import one_draw
from partita.structure._background import rows_that_count
from partita.structure._tree import in_words, joined, rest_of_tree
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
MOST_TO_TURN = 16  # coordinates: pairs of more are not turned one by one, which takes minutes
Basis = tuple[np.ndarray, np.ndarray, bool]


@dataclass(frozen=True)
class Discovery:
    """Groups with their evidence; iterating gives the groups, printing says them in words.

    `groups` partition the columns of `coordinates(codes)`: the codes themselves, or, where `unmixed`, their least
    dependent linear combinations `(codes - centre) @ transform`, ordered to resemble the codes. `dummies` are the
    members of single groups that pass as Gaussian: they carry no shape. `merges` were accepted, `refused` is the best
    merge that was not; `tree` has the accepted ones and then those that would follow, up to one group (or `max_rank`).
    `dependence` holds the pairwise information of the coordinates less its null, nats, and `background` what a pair
    shares that nothing singles out (0 of fewer than 6 coordinates).
    """

    groups: Groups
    dummies: tuple[int, ...]
    merges: tuple[Merge, ...]
    refused: Merge | None
    dependence: np.ndarray
    transform: np.ndarray
    centre: np.ndarray
    unmixed: bool
    tree: tuple[Merge, ...] = ()
    background: float = 0.0

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def coordinates(self, codes: Any) -> np.ndarray:
        return (as_matrix(codes, "codes") - self.centre) @ self.transform

    def cut(self, at: float | None = None) -> Groups:
        """The groups that merges of at least `at` nats more than their null make; None: those that were accepted."""
        kept = [merge for merge in self.tree if (merge.accepted if at is None else merge.shared >= at)]
        return joined(len(self.dependence), kept)

    def __str__(self) -> str:
        return in_words(self.groups, self.tree, self.background)


def discover_groups(
    codes_or_estimator: Any,
    max_rank: int | None = None,
    seed: int = 0,
    *,
    X: Any = None,
    unmix: bool | None = None,
    level: float = 0.01,
    minimum: float = 0.02,
    at: float | None = None,
    time: bool = False,
) -> Discovery:
    """The partition of the latents into independent groups, their number, sizes and dummies, without labels.

    Codes, or a fitted estimator with `X` to encode. `unmix` rotates whitened codes to their least dependent
    coordinates first (independent subspace analysis: a solution of ICA is one of ISA up to order); None keeps the codes
    as they are unless the unmixed ones fall into more groups or are less dependent across groups by more than chance,
    which grows with the number of pairs of coordinates. Then single
    coordinates are merged: the two coordinates of different groups most dependent on a third of the rows are tested on
    the others, at `level` divided by the number of candidates; where no two pass, whole groups,
    then three or four single coordinates. A merge must be more than permutations show, more than the background (what
    the pairs of at least 6 coordinates share that nothing singles out: real codes are weakly dependent everywhere), and
    more than the null by `minimum` nats, because unmixing from
    finitely many rows leaves a little dependence behind. This ends when none passes or every merge would exceed
    `max_rank`; `tree` goes on to the end. At most 4,000 rows are used. Information is by nearest neighbours; for a
    model with posteriors and
    `unmix=False` it is the exact PC of the aggregated posterior of at most 2,000 rows.

    Fails where five or more coordinates are dependent only all together, where a group is close to Gaussian, and after
    a nonlinear mixing, which no rotation undoes.

    Parameters
    ----------
    codes_or_estimator : (n, K), or a fitted estimator.
    max_rank : size of the largest group allowed; None for any.
    seed : of the rows, rotations and permutations.
    X : the observations an estimator encodes.
    unmix : whether to rotate the codes first; None to see whether it helps.
    level : of the tests, all candidates of a step together: the chance of a false merge.
    minimum : nats that two groups must share more than the null to be merged.
    at : cut the tree at so many nats instead: what shares less is apart, whatever the tests say.
    time : whether rows follow each other in time. They stay in order then, and every null shifts them around a circle:
        of series that change slowly, permuted rows are no null.

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
    >>> found = discover_groups(codes, unmix=False)
    >>> found.groups
    ((0, 2), (1,))
    >>> found.cut(at=5.0)
    ((0,), (1,), (2,))
    >>> print(discover_groups(rng.standard_normal((200, 6)), unmix=False, max_rank=1))
    nothing stands out: 6 coordinates, each by itself
    """
    codes = _codes(codes_or_estimator, X)
    if len(codes) < 60:
        raise ValueError(f"discover_groups needs at least 60 rows, got {len(codes)}")
    if max_rank is not None and max_rank < 1:
        raise ValueError(f"max_rank must be at least 1, got {max_rank}")
    if at is not None and not at >= 0:
        raise ValueError(f"at is a number of nats, at least 0, got {at}")
    search = _Search(max_rank or codes.shape[1], seed, level, minimum, time)
    rows = search.rows(len(codes), MAX_ROWS)
    if unmix is False and hasattr(codes_or_estimator, "posterior"):
        some = search.rows(len(codes), MAX_POSTERIORS)
        drawn = _drawn(codes_or_estimator, X, some, seed)
        found = search(drawn, codes[some], _plain(codes), posterior_information)
    elif unmix is not None:
        found = search.along(codes, rows, _unmixed(codes, rows, seed) if unmix else _plain(codes))
    else:
        plain = search.along(codes, rows, _plain(codes))
        separated = search.along(codes, rows, _unmixed(codes, rows, seed))
        counted = rows_that_count(codes[rows]) if time else float(len(rows))
        found = separated if _worth_turning(plain[0], separated[0], codes[rows], counted) else plain
    discovery, splitter = found
    whole = replace(discovery, tree=(*discovery.merges, *rest_of_tree(splitter, discovery.groups, search.limit)))
    return whole if at is None else replace(whole, groups=whole.cut(at))


@dataclass(frozen=True)
class _Search:
    """What is asked for, of whatever basis."""

    limit: int
    seed: int
    level: float
    minimum: float
    time: bool

    def rows(self, n: int, most: int) -> np.ndarray:
        """Some of n, in random order; in time every second, third, ... of them, in order."""
        if self.time:
            return np.arange(0, n, -(-n // most))
        return np.random.default_rng(self.seed).permutation(n)[:most]

    def along(self, codes: np.ndarray, rows: np.ndarray, basis: Basis) -> tuple[Discovery, Splitter]:
        y = (codes[rows] - basis[0]) @ basis[1]
        return self(y, y, basis, neighbour_information)

    def __call__(
        self, y: np.ndarray, codes: np.ndarray, basis: Basis, information: Information
    ) -> tuple[Discovery, Splitter]:
        """`y` are the rows that are tested, `codes` their coordinates."""
        centre, transform, unmixed = basis
        cut, rng = len(y) // 3, np.random.default_rng(self.seed)
        splitter = Splitter(y[:cut], y[cut:], rng, self.level, self.minimum, information, self.time)
        found = splitter.look_for_background().shared
        groups, merges, refused = merged_groups(splitter, self.limit)
        background = 0.0 if splitter.background is None else splitter.background.nats
        discovery = Discovery(
            groups, _dummies(codes, groups), merges, refused, found, transform, centre, unmixed, merges, background
        )
        return discovery, splitter


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
    many = x.shape[1] > MOST_TO_TURN
    rotation = picard(x, seed).T if many else least_dependent_rotation(x, seed=seed)
    likeness = ((codes[rows] - white.mean) / unit_scale(codes[rows])).T @ (x @ rotation) / len(rows)
    taken, order = linear_sum_assignment(np.abs(likeness), maximize=True)
    sign = np.where(likeness[taken, order] < 0, -1.0, 1.0)
    return white.mean, (white.matrix @ rotation)[:, order] * sign, True


def _drawn(estimator: Any, X: Any, rows: np.ndarray, seed: int) -> np.ndarray:
    """(n, K, 3): a draw z from each posterior, its mean, its log variance."""
    mean, log_variance = (np.asarray(part, np.float64)[rows] for part in estimator.posterior(X))
    z = one_draw(mean, log_variance, seed)
    return np.stack([z, mean, log_variance], -1)


def _worth_turning(plain: Discovery, separated: Discovery, codes: np.ndarray, rows: float) -> bool:
    """More groups, or less information between groups by at least 0.1 nats and more than independent codes show.

    The sum over pairs of coordinates is noise of PAIR_NOISE each. What turning saves between groups is what it saves in
    all, by entropies of single coordinates, which see more in many dimensions, less what it saves inside groups;
    turning independent Gaussians seems to save 3 to 8 nats a pair and row. `rows` are those that count: fewer than
    there are, where they follow each other in time.
    """
    if len(separated.groups) > len(plain.groups):
        return True
    pairs = codes.shape[1] * (codes.shape[1] - 1) / 2
    chance = 3 * PAIR_NOISE * np.sqrt(2 * pairs / (rows * 2 / 3))
    if _between(plain) - _between(separated) > max(0.1, chance):
        return True
    square = separated.transform.shape[0] == separated.transform.shape[1]
    if len(plain.groups) == 1 or not square:
        return False
    inside = _inside(plain, codes) - _inside(separated, codes)
    return _tc_saved(codes, separated) - inside > 0.1 + 8 * pairs / rows


def _inside(discovery: Discovery, codes: np.ndarray) -> float:
    """The summed total correlation of the groups, nats."""
    several = [group for group in discovery.groups if len(group) > 1]
    y = discovery.coordinates(codes)
    return sum(float(neighbour_information(y, tuple((k,) for k in group)).mean()) for group in several)


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
