"""White coordinates unmixed by a rotation, in groups: by ICA from several starts, then turned to where their groups are
likeliest."""

from dataclasses import dataclass, replace

import numpy as np

from partita.distributions import Groups
from partita.measures._ica import unmixings
from partita.structure._bent_judges import cross_validated, left_over, worth_found
from partita.structure._principal import Principal
from partita.structure._turning import likeliest_turn
from partita.structure._unbending import Unbent, straight
from partita.structure._unmixing import rotation_of
from partita.structure.free_groups import Tie, grouped, ties
from partita.structure.sized_groups import LEAST_TIE, best_partition, block_values

WORK = 2e8  # products that all starts of ICA may take
BEST_ENDS = 6
MOST_TO_TURN, TURNS = 5000, 4  # rows, of more ICA is as good; and at most so many turns, each with groups of its own
VALUED = 0.3  # of what groups are worth, nats, counts beside the likelihood of rows that coordinates were turned by
ALIKE = 0.95  # mean cosine of the coordinates of two ends that are one
CUTS = (0.9, 1.0, 1.5, 2.2)  # times what ties: where groups are cut that are to be found
CLEARLY = 5.0  # over the root of rows: nats by which groups must be better than those that ICA shows
LEAST_SIGNAL = 0.5  # of the variance of a direction, by which it is scaled to be grouped


@dataclass(frozen=True)
class LinearGroups:
    """A rotation of white coordinates, their groups, all ties between them, and what groups of sizes are worth."""

    rotation: np.ndarray
    groups: Groups
    ties: list[Tie]
    value: float

    @property
    def left(self) -> float:
        return left_over(self.ties, self.groups)


def likeliest_end(
    principal: Principal, white: np.ndarray, ends: list[LinearGroups], sizes: tuple[int, ...] | None, seed: int
) -> LinearGroups:
    """The likeliest of what ends of ICA turn to; where no sizes are given, of its groups at several cuts."""
    alive = _alive(principal, white, sizes)
    if alive.sum() < 2:
        return ends[0]
    if sizes is None:
        return _likeliest_cut(principal, white, ends[0], alive, seed)
    if len(sizes) == 1 or len(white) > MOST_TO_TURN:
        return ends[0]
    told = [_turned_of_sizes(principal, white, end, alive, seed) for end in _unlike(ends)]
    return max(told, key=lambda each: each[0])[1]


def _likeliest_cut(
    principal: Principal, white: np.ndarray, end: LinearGroups, alive: np.ndarray, seed: int
) -> LinearGroups:
    """The coarsest groups, or finer ones that are better, where they are so clearly or leave nothing tied once they are
    turned: what ties groups that ICA left a little mixed goes when they are turned apart, what holds a group stays."""
    clearly, cuts = CLEARLY / np.sqrt(len(white)), cuts_of(end)
    if len(cuts) == 1 and (len(cuts[0]) == 1 or len(white) > MOST_TO_TURN):
        return replace(end, groups=cuts[0])
    coarsest, *finer = [_turned(principal, white, replace(end, groups=each), alive, None, seed)[1] for each in cuts]
    best, most = coarsest, _worth(white, coarsest, seed) if finer else 0.0
    line = most + clearly
    for each in finer:
        worth = _worth(white, each, seed)
        if worth > most and (worth > line or each.left < CUTS[0]):
            best, most = each, worth
    return best


def cuts_of(end: LinearGroups) -> list[Groups]:
    """The groups of its coordinates at several cuts of what ties them, which differ, the coarsest first."""
    return [*dict.fromkeys(grouped(end.ties, len(end.rotation), factor) for factor in CUTS)]


def ends_of_ica(
    principal: Principal, white: np.ndarray, sizes: tuple[int, ...] | None, seed: int
) -> list[LinearGroups]:
    """The least Gaussian end of ICA or, where sizes say what groups are worth, the best few, those first whose groups
    are worth the most; before them principal coordinates as they are, where these lead to clearly likelier groups: of a
    ring in the two largest every turn is one to ICA, and what is around it may turn it away."""
    (rows, latents), alive = white.shape, _alive(principal, white, sizes)
    starts = max(1, int(WORK / (rows * latents**2)))
    ends = [
        rotation_of(each, alive)
        for each in unmixings(white[:, alive], seed, starts)[: 1 if sizes is None else BEST_ENDS]
    ]
    found = sorted((in_groups(principal, white, each, sizes) for each in ends), key=lambda end: -end.value)
    if sizes is None or len(sizes) == 1:
        return found
    still = in_groups(principal, white, np.eye(latents), sizes)
    if still.value < found[0].value:
        return found
    some = white[:MOST_TO_TURN]
    one, other = (_turned(principal, some, end, alive, sizes, seed)[0] for end in (still, found[0]))
    return [still, *found] if one > other + CLEARLY / np.sqrt(len(some)) else found


def in_groups(
    principal: Principal, white: np.ndarray, rotation: np.ndarray, sizes: tuple[int, ...] | None
) -> LinearGroups:
    """The groups that rows show in these coordinates: of sizes, or as many as show."""
    codes, noise = _signal(principal, white, rotation)
    found = ties(codes, noise, least=LEAST_TIE)
    if sizes is None:
        return LinearGroups(rotation, grouped(found, len(rotation)), found, 0.0)
    best = best_partition(sizes, block_values(found, set(sizes), codes.shape))
    return LinearGroups(rotation, best.groups, found, best.value)


def _unlike(ends: list[LinearGroups]) -> list[LinearGroups]:
    """Those that are not nearly one before them."""
    found: list[LinearGroups] = []
    for end in ends:
        if not any(np.abs(end.rotation.T @ other.rotation).max(0).mean() > ALIKE for other in found):
            found.append(end)
    return found


def _turned_of_sizes(
    principal: Principal, white: np.ndarray, end: LinearGroups, alive: np.ndarray, seed: int
) -> tuple[float, LinearGroups]:
    """An end turned to where its groups are likeliest, after what it is worth there. It may show other groups there,
    and with these be clearly likelier still."""
    sizes, best = tuple(map(len, end.groups)), (-np.inf, end)
    turning = end
    for _ in range(TURNS):
        likelihood, turned = _turned(principal, white, turning, alive, sizes, seed)
        if likelihood <= best[0] + CLEARLY / np.sqrt(len(white)):
            break
        best = likelihood, replace(turned, groups=turning.groups)
        if {*turned.groups} == {*turning.groups}:
            break
        turning = turned
    return best[0] + VALUED * end.value, best[1]


def _turned(
    principal: Principal,
    white: np.ndarray,
    end: LinearGroups,
    alive: np.ndarray,
    sizes: tuple[int, ...] | None,
    seed: int,
) -> tuple[float, LinearGroups]:
    """Coordinates that are alive turned to where the groups of an end are likeliest, how likely these make the rows
    there, nats, and the groups of sizes that show there; where none are given, those of the end."""
    inside = (np.flatnonzero(np.isin(np.flatnonzero(alive), group)).tolist() for group in end.groups)
    rotation, block = end.rotation.copy(), np.ix_(alive, alive)
    groups = tuple(map(tuple, filter(None, inside)))
    rotation[block], likelihood = likeliest_turn(white[:, alive], rotation[block], groups, seed)
    shown = in_groups(principal, white, rotation, sizes)
    return likelihood, shown if sizes is not None else replace(shown, groups=end.groups)


def _worth(white: np.ndarray, found: LinearGroups, seed: int) -> float:
    start = straight(found.rotation, found.groups, bends=False)
    told = cross_validated(white, start.bend, found.groups, seed)
    return worth_found(white, Unbent(start, start.bend, told))


def _alive(principal: Principal, white: np.ndarray, sizes: tuple[int, ...] | None) -> np.ndarray:
    """Directions to be turned: where groups are to be found not those of nothing but noise, which turned with the
    others tie them weakly."""
    alive = np.asarray(white.any(0))
    if sizes is None:
        alive[principal.signals :] = False
    return alive


def _signal(principal: Principal, white: np.ndarray, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates whose signals, without the noise, are of unit variance; and the covariance of their noise. Directions
    that are mostly noise, where there are more latents than signals, stay as large as they are: blown up, a trace of
    them would drown what ties the others."""
    signal = np.maximum(principal.signal**2, LEAST_SIGNAL * principal.variance)
    codes = white * np.sqrt(principal.variance / signal) @ rotation
    return codes, rotation.T @ np.diag(principal.noise / signal) @ rotation
