"""Agglomeration by tested dependence: candidates are ranked on some rows and confirmed on others."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb

import numpy as np
import torch

from partita.distributions import Groups
from partita.kernels import log_mixture
from partita.measures._neighbours import information_of_rows
from partita.structure._background import Background, Pairs, background_of, rows_that_count, shared_by_pairs, shuffled
from partita.structure.free_groups import ties

Group = tuple[int, ...]
Members = tuple[Group, ...]
# What each row says of KL(p(y) || prod_m p(y_m)) between members, whose mean is that in nats, from rows (n, K) of
# coordinates, or (n, K, 3) of posteriors.
Information = Callable[[np.ndarray, Members], np.ndarray]
TRIED = 4  # how many of the most dependent candidates are tested before a round gives up
LOOKED_AT = 300  # pairs of whole groups whose information is estimated, where there are more
FEWEST_FOR_TIES = 60
LEAST_TIE = 0.55  # of what joins three or four coordinates by polynomials of their ranks: to be tested
DRAWS = (12, 48)  # permutations of every test, and more of them where a p-value is open
OPEN = (1e-5, 0.05)
SKEWNESS = (
    0.2,
    1.0,
)  # of a null, at least and at most: by nearest neighbours it is 0.3, which few draws cannot tell from 0
BLOCKS = 20  # of rows in time, for the deviation of a mean over them


@dataclass(frozen=True)
class Merge:
    """Why groups became one: the information their members share on rows not used to choose them, against its null.

    `groups` are those that meet, `members` the coordinates that betray it: one of each group, or whole groups.
    `information` in nats between the `members` on the confirming rows, `null` and `null_sd` of the same estimate after
    permuting all but one of them (in time: shifting them), `p_value` the larger of that of `exceedance` and of the
    chance that a pair of the background shares as much. Accepted where `p_value` is below `needed` and the excess over
    the null above `minimum`. `interval` is that of `shared`, 95 %.
    """

    groups: Groups
    members: Members
    information: float
    null: float
    null_sd: float
    p_value: float
    needed: float
    minimum: float
    sd: float = 0.0
    candidates: int = 1

    @property
    def accepted(self) -> bool:
        return self.p_value < self.needed and self.shared > self.minimum

    @property
    def shared(self) -> float:
        """The information less its null, nats."""
        return self.information - self.null

    @property
    def interval(self) -> tuple[float, float]:
        return self.shared - 1.96 * self.sd, self.shared + 1.96 * self.sd

    @property
    def corrected(self) -> float:
        """The p-value times the number of candidates this was the best of."""
        return min(1.0, self.p_value * self.candidates)

    def __str__(self) -> str:
        low, high = self.interval
        who = " and ".join(", ".join(map(str, group)) for group in self.groups)
        return f"{who}: {self.shared:.3f} nats ({low:.3f} to {high:.3f}), corrected p {self.corrected:.2g}"


def neighbour_information(y: np.ndarray, members: Members) -> np.ndarray:
    """By nearest neighbours. Many of them: less resolution, but far less noise, which is what a test wants."""
    columns = [k for group in members for k in group]
    ends = np.cumsum([len(group) for group in members])
    blocks = [range(end - len(group), end) for group, end in zip(members, ends)]
    return information_of_rows(y[:, columns], blocks, neighbours=min(20, len(y) // 10))


def posterior_information(y: np.ndarray, members: Members) -> np.ndarray:
    """The exact PC of the aggregated posterior of these rows: y[..., 0] is z, y[..., 1:] its posterior's mean and log
    variance."""
    z, mean, log_variance = torch.as_tensor(y).unbind(-1)
    blocks = [tuple(sorted(k for group in members for k in group)), *members]
    logs = log_mixture(z, mean, log_variance, blocks, own=torch.arange(len(z)))
    return (logs[:, 0] - logs[:, 1:].sum(1)).numpy()


def exceedance(value: float, null: Sequence[float]) -> float:
    """The probability that one more draw of the null is at least `value`, from `null`, m independent draws of it.

    The null of an information is skewed to the right: a Pearson III distribution with its moments, which Wilson and
    Hilferty's cube root makes normal. Mean and deviation are themselves estimated from m draws, so Student's t with
    m - 1 degrees, at sqrt(1 + 1/m) deviations, takes the place of the normal.
    """
    from scipy.stats import t

    m, draws = len(null), np.asarray(null)
    centred = draws - draws.mean()
    sd = max(float(centred.std()), 1e-12)
    skew = float(np.clip(np.mean((centred / sd) ** 3), *SKEWNESS))
    z = (value - draws.mean()) / (sd * np.sqrt(m / (m - 1)))
    normal = 6 / skew * (np.cbrt(max(1 + skew * z / 2, 0.0)) - 1) + skew / 6
    return float(t.sf(normal / np.sqrt(1 + 1 / m), m - 1))


@dataclass
class Splitter:
    """The rows to choose on, the rows to confirm on, and what was already measured on either. With `time` rows follow
    each other: both are in order, and nulls shift them."""

    choose: np.ndarray
    confirm: np.ndarray
    rng: np.random.Generator
    level: float
    minimum: float
    information: Information = neighbour_information
    time: bool = False
    background: Background | None = None  # that of the confirming rows
    strengths: dict[Members, float] = field(default_factory=dict)
    tests: dict[Members, Merge] = field(default_factory=dict)
    pairs: Pairs | None = None  # of the choosing rows
    confirmed: Pairs | None = None  # of the confirming ones
    joint: list[tuple[float, Group]] | None = None

    def look_for_background(self) -> Pairs:
        """What pairs of the confirming rows share, and the background they show."""
        y = _values(self.confirm)
        self.confirmed = shared_by_pairs(y, np.random.default_rng(1), self.time)
        self.background = background_of(self.confirmed, rows_that_count(y) if self.time else len(y))
        return self.confirmed

    def strength(self, members: Members) -> float:
        """On the choosing rows: of two coordinates in bins, else by `information`."""
        if len(members) == 2 and len(members[0]) == len(members[1]) == 1:
            if self.pairs is None:
                self.pairs = shared_by_pairs(_values(self.choose), np.random.default_rng(0), self.time)
            return float(self.pairs.shared[members[0][0], members[1][0]])
        if members not in self.strengths:
            self.strengths[members] = float(np.mean(self.information(self.choose, members)))
        return self.strengths[members]

    def tied(self) -> list[tuple[float, Group]]:
        """Three or four coordinates that polynomials of ranks tie on the choosing rows, the strongest first."""
        if self.joint is None:
            y = _values(self.choose)
            enough = len(y) >= FEWEST_FOR_TIES and y.shape[1] > 2
            found = ties(y, least=LEAST_TIE) if enough else []
            self.joint = [(tie.strength, tie.members) for tie in found if len(tie.members) > 2]
        return self.joint

    def test(self, groups: Groups, members: Members, candidates: int) -> Merge:
        """Against permutations: few first, many more where those leave it open."""
        needed = self.level / candidates
        known = self.tests.get(members)
        if known is not None:
            return replace(known, groups=groups, needed=needed, candidates=candidates)
        rows = np.asarray(self.information(self.confirm, members))
        information = float(rows.mean())
        null: list[float] = []
        ordinary, p_value = 0.0, 1.0
        for more in DRAWS:
            null += [self._permuted(members) for _ in range(more)]
            ordinary = self._in_background(members, information - float(np.mean(null)))
            p_value = exceedance(information, null)
            # shifts by a few rows are nearly the same draw, so in time few draws prove nothing
            if ordinary >= needed or not (0.0 if self.time else OPEN[0]) < p_value < OPEN[1]:
                break
        mean, null_sd = float(np.mean(null)), float(np.std(null, ddof=1))
        sd = float(np.hypot(_deviation_of_mean(rows, self.time), null_sd))
        p_value = max(p_value, ordinary)
        found = Merge(groups, members, information, mean, null_sd, p_value, needed, self.minimum, sd, candidates)
        self.tests[members] = found
        return found

    def _in_background(self, members: Members, shared: float) -> float:
        """Of two coordinates in bins, as the background is; else of what is shared for each pair across members."""
        if self.background is None or self.confirmed is None:
            return 0.0
        across = [(i, j) for a, b in combinations(members, 2) for i in a for j in b]
        if len(across) == 1:
            shared = float(self.confirmed.shared[across[0]])
        return self.background.p_value(across, shared / len(across))

    def _permuted(self, members: Members) -> float:
        moved = self.confirm.copy()
        for group in members[1:]:
            columns = list(group)
            moved[:, columns] = shuffled(moved[:, columns], self.rng, self.time)
        return float(np.mean(self.information(moved, members)))


def merged_groups(splitter: Splitter, limit: int) -> tuple[Groups, tuple[Merge, ...], Merge | None]:
    """Single coordinates merged while a merge passes: groups, accepted merges, the best refused one."""
    groups: list[Group] = [(k,) for k in range(splitter.choose.shape[1])]
    merges: list[Merge] = []
    while True:
        found, refused = _next_merge(splitter, groups, limit)
        if found is None:
            return tuple(sorted(groups)), tuple(merges), refused
        merges.append(found)
        groups = after(groups, found)


def after(groups: list[Group], merge: Merge) -> list[Group]:
    whole = tuple(sorted(k for group in merge.groups for k in group))
    return sorted([group for group in groups if group not in merge.groups] + [whole])


def _next_merge(splitter: Splitter, groups: list[Group], limit: int) -> tuple[Merge | None, Merge | None]:
    """The first candidate that passes, and the most significant one that did not."""
    refused: Merge | None = None
    for witnesses, chosen_from in candidates_among(splitter, groups, limit):
        for members in _strongest(splitter, witnesses):
            merge = splitter.test(witnesses[members], members, chosen_from)
            if merge.accepted:
                return merge, refused
            if refused is None or merge.p_value < refused.p_value:
                refused = merge
    return None, refused


def _strongest(splitter: Splitter, witnesses: dict[Members, Groups]) -> list[Members]:
    if any(len(members) > 2 for members in witnesses):
        return list(witnesses)[:TRIED]  # in the order of their ties
    whole = any(len(member) > 1 for members in witnesses for member in members)
    if whole and len(witnesses) > LOOKED_AT:
        # those with two coordinates that share most: estimating all would take minutes
        shown = {m: max(splitter.strength(((i,), (j,))) for i in m[0] for j in m[1]) for m in witnesses}
        witnesses = {m: witnesses[m] for m in sorted(shown, key=lambda m: -shown[m])[:LOOKED_AT]}
    return sorted(witnesses, key=splitter.strength, reverse=True)[:TRIED]


def candidates_among(
    splitter: Splitter, groups: list[Group], limit: int
) -> Iterator[tuple[dict[Members, Groups], int]]:
    """What could betray that groups belong together, and of how many this is looked for: two coordinates, two whole
    groups, three or four single coordinates.

    Coordinates come first: in many dimensions nearest neighbours see little of a dependence that two coordinates show.
    """
    pairs = [pair for pair in combinations(groups, 2) if sum(map(len, pair)) <= limit]
    coordinates: dict[Members, Groups] = {((i,), (j,)): (a, b) for a, b in pairs for i in a for j in b}
    yield coordinates, len(coordinates)
    whole: dict[Members, Groups] = {(a, b): (a, b) for a, b in pairs if len(a) + len(b) > 2}
    yield whole, len(whole)
    single = {group[0] for group in groups if len(group) == 1}
    several = [tuple((k,) for k in tie) for _, tie in splitter.tied() if len(tie) <= limit and single.issuperset(tie)]
    yield {members: members for members in several}, comb(len(single), 3) + comb(len(single), 4)


def _values(y: np.ndarray) -> np.ndarray:
    return y if y.ndim == 2 else y[..., 0]


def _deviation_of_mean(rows: np.ndarray, time: bool) -> float:
    """Of the mean over rows; in time, from means over blocks."""
    if rows.ndim == 0:
        return 0.0
    if time:
        rows = np.array([block.mean() for block in np.array_split(rows, min(BLOCKS, len(rows)))])
    return float(rows.std(ddof=1) / np.sqrt(len(rows))) if len(rows) > 1 else 0.0
