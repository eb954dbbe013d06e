"""Agglomeration by tested dependence: candidates are ranked on some rows and confirmed on others."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
import torch

from partita.distributions import Groups
from partita.kernels import log_mixture
from partita.measures._neighbours import multi_information

Group = tuple[int, ...]
Members = tuple[Group, ...]
# KL(p(y) || prod_m p(y_m)) in nats between members, from rows (n, K) of coordinates, or (n, K, 3) of posteriors.
Information = Callable[[np.ndarray, Members], float]
TRIED = 4  # how many of the most dependent candidates are tested before a round gives up
DRAWS = (12, 48)  # permutations of every test, and more of them where a p-value is open
OPEN = (1e-5, 0.05)
SKEWNESS = (
    0.2,
    1.0,
)  # of a null, at least and at most: by nearest neighbours it is 0.3, which few draws cannot tell from 0


@dataclass(frozen=True)
class Merge:
    """Why groups became one: the information their members share on rows not used to choose them, against its null.

    `groups` are those that meet, `members` the coordinates that betray it: one of each group, or whole groups.
    `information` in nats between the `members` on the confirming rows, `null` and `null_sd` of the same estimate after
    permuting all but one of them, `p_value` that of `exceedance`. Accepted where `p_value` is below `needed` and the
    excess over the null above `minimum`.
    """

    groups: Groups
    members: Members
    information: float
    null: float
    null_sd: float
    p_value: float
    needed: float
    minimum: float

    @property
    def accepted(self) -> bool:
        return self.p_value < self.needed and self.information - self.null > self.minimum


def neighbour_information(y: np.ndarray, members: Members) -> float:
    """By nearest neighbours. Many of them: less resolution, but far less noise, which is what a test wants."""
    columns = [k for group in members for k in group]
    ends = np.cumsum([len(group) for group in members])
    blocks = [range(end - len(group), end) for group, end in zip(members, ends)]
    return multi_information(y[:, columns], blocks, neighbours=min(20, len(y) // 10))


def posterior_information(y: np.ndarray, members: Members) -> float:
    """The exact PC of the aggregated posterior of these rows: y[..., 0] is z, y[..., 1:] its posterior's mean and log
    variance."""
    z, mean, log_variance = torch.as_tensor(y).unbind(-1)
    blocks = [tuple(sorted(k for group in members for k in group)), *members]
    logs = log_mixture(z, mean, log_variance, blocks, own=torch.arange(len(z)))
    return float((logs[:, 0] - logs[:, 1:].sum(1)).mean())


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
    """The rows to choose on, the rows to confirm on, and what was already measured on either."""

    choose: np.ndarray
    confirm: np.ndarray
    rng: np.random.Generator
    level: float
    minimum: float
    information: Information = neighbour_information
    strengths: dict[Members, float] = field(default_factory=dict)
    tests: dict[Members, Merge] = field(default_factory=dict)

    def strength(self, members: Members) -> float:
        if members not in self.strengths:
            self.strengths[members] = self.information(self.choose, members)
        return self.strengths[members]

    def test(self, groups: Groups, members: Members, candidates: int) -> Merge:
        """Against permutations: few first, many more where those leave it open."""
        needed = self.level / candidates
        known = self.tests.get(members)
        if known is not None:
            return replace(known, groups=groups, needed=needed)
        information = self.information(self.confirm, members)
        null: list[float] = []
        for more in DRAWS:
            null += [self._permuted(members) for _ in range(more)]
            if not OPEN[0] < exceedance(information, null) < OPEN[1]:
                break
        mean, sd, p_value = float(np.mean(null)), float(np.std(null, ddof=1)), exceedance(information, null)
        self.tests[members] = Merge(groups, members, information, mean, sd, p_value, needed, self.minimum)
        return self.tests[members]

    def _permuted(self, members: Members) -> float:
        shuffled = self.confirm.copy()
        for group in members[1:]:
            columns = list(group)
            shuffled[:, columns] = shuffled[self.rng.permutation(len(shuffled))][:, columns]
        return self.information(shuffled, members)

    def pairwise(self) -> np.ndarray:
        """Information between every two coordinates on the confirming rows."""
        latents = self.confirm.shape[1]
        table = np.zeros((latents, latents))
        for i, j in combinations(range(latents), 2):
            table[i, j] = table[j, i] = self.information(self.confirm, ((i,), (j,)))
        return table


def merged_groups(splitter: Splitter, limit: int) -> tuple[Groups, tuple[Merge, ...], Merge | None]:
    """Single coordinates merged while a merge passes: groups, accepted merges, the best refused one."""
    groups: list[Group] = [(k,) for k in range(splitter.choose.shape[1])]
    merges: list[Merge] = []
    refused: Merge | None = None
    while True:
        found, refused = _next_merge(splitter, groups, limit)
        if found is None:
            return tuple(sorted(groups)), tuple(merges), refused
        merges.append(found)
        joined = tuple(sorted(k for group in found.groups for k in group))
        groups = sorted([group for group in groups if group not in found.groups] + [joined])


def _next_merge(splitter: Splitter, groups: list[Group], limit: int) -> tuple[Merge | None, Merge | None]:
    """The first candidate that passes, and the most significant one that did not."""
    refused: Merge | None = None
    for witnesses in _candidates(groups, limit):
        strongest = sorted(witnesses, key=splitter.strength, reverse=True)[:TRIED]
        for members in strongest:
            merge = splitter.test(witnesses[members], members, len(witnesses))
            if merge.accepted:
                return merge, refused
            if refused is None or merge.p_value < refused.p_value:
                refused = merge
    return None, refused


def _candidates(groups: list[Group], limit: int) -> Iterator[dict[Members, Groups]]:
    """What could betray that groups belong together: two coordinates, two whole groups, three single coordinates.

    Coordinates come first: in many dimensions nearest neighbours see little of a dependence that two coordinates show.
    """
    pairs = [pair for pair in combinations(groups, 2) if sum(map(len, pair)) <= limit]
    yield {((i,), (j,)): (a, b) for a, b in pairs for i in a for j in b}
    yield {(a, b): (a, b) for a, b in pairs if len(a) + len(b) > 2}
    single = [group for group in groups if len(group) == 1]
    yield {triple: triple for triple in combinations(single, 3)} if limit >= 3 else {}
