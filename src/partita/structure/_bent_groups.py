"""Groups of coordinates that are bent: the search for groups and a bend that together make rows held out likely."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter

import numpy as np

from partita.distributions import Groups
from partita.measures._ica import jade, picard
from partita.structure._gaussian_mixtures import components_of
from partita.structure._unbending import Bend, Start, Unbent, cross_validated, unbend
from partita.structure.alignment import align
from partita.structure.free_groups import Tie, grouped, pairs_of, threshold, ties
from partita.structure.sized_groups import LEAST_TIE, partitions_of_sizes, splits_of, weakest_split

BENDS_BY = 0.02  # nats a row by which bending must be likelier, on rows held out
PARTITIONS, PARTITIONS_OF_FEW = 5, 16  # at least, and less the number of latents: few have few partitions
SEARCH_STEPS, STEPS_TO_SEE = 200, 100
TURNED_AGAIN, FINALISTS = 2, 4
FITTED_AGAIN, SPLITS_OF_ROWS = 4, 2  # the best of those that end, to judge them
LINEAR_FIRST = 10.0  # over the root of rows: nats by which groups of a bend must be better than linear ones
# Of given sizes, and found: nats a row that the strongest tie between groups counts against them, beyond what ties two,
# in units of it; and times what the weakest splits of groups would cut, nats a row, counts for them. Groups that may be
# merged would be, as long as that counts much.
TIED, TIED_FOUND = 0.3, 0.1
HOLDS, HOLDS_FOUND = 1.0, 0.5
ROWS_TO_COMPARE, ALIKE = 500, 0.97  # R2 at which two sets of coordinates in groups are one
RANDOM = 2  # rotations to start from, beside those of ICA
FEWEST_COMPONENTS = 4  # of the mixture of a group that is unbent
SPLITS = 4  # of groups into two that are tried, those first that cut the least
CUTS = (1.0, 1.5, 2.2, 3.3, 5.0, 7.5)  # factors of what ties, at which groups are cut where none are given

Worth = Callable[[np.ndarray, Unbent], float]


@dataclass(frozen=True)
class BentGroups:
    """A bend, the groups of its coordinates, and by how many nats a row it is likelier than none."""

    groups: Groups
    bend: Bend
    gain: float


def bent_of_sizes(
    white: np.ndarray, rotation: np.ndarray, groups: Groups, sizes: tuple[int, ...], seed: int
) -> BentGroups | None:
    """Searched twice: from linear coordinates, then from the likeliest bent ones turned and grouped again, which shows
    more once they are half unbent. The best of both go on to the end, those of the second search from where they are
    and from straight coordinates; the groups of the linear ones throughout."""
    rng, latents = np.random.default_rng(seed), white.shape[1]
    # where the rows are bent, ICA may turn away from the truth as one
    drawn = [np.linalg.qr(rng.standard_normal((latents, latents)))[0] for _ in range(RANDOM)]
    starts, many = [_straight(rotation, groups)], max(PARTITIONS, PARTITIONS_OF_FEW - latents)
    for turn, most in ((rotation, many), (turned(jade, white), many), *((r, 1) for r in drawn)):
        # noise is the least of what makes groups of bent coordinates dependent
        groupings = partitions_of_sizes(white @ turn, sizes, None, most)
        starts += [_straight(turn, each, len(starts) + number) for number, each in enumerate(groupings)]
    first, *others = unbend(white, starts, seed, SEARCH_STEPS, settle=False)
    early = _best(others, white, FINALISTS, _worth)
    starts = [first.on, *(each.on for each in others[:TURNED_AGAIN])]
    for each in _best([first, *others], white, TURNED_AGAIN, _worth):
        for solve in (partial(picard, seed=seed), jade):
            bend = _made_independent(each.codes, white, solve)
            starts += [Start(bend, found) for found in partitions_of_sizes(bend(white), sizes, None, 2)]
    first, *others = unbend(white, starts, seed, SEARCH_STEPS, settle=False)
    late = _best(others, white, FINALISTS, _worth)
    on = [first, *_best([*early, *late], white, len(early) + len(late), _worth)]
    last = [*(each.on for each in on), *(_straightened(each, white) for each in late)]
    *ended, straight = unbend(white, [*last, _straight(rotation, groups, bends=False)], seed)
    judged = _judged(_best(ended, white, FITTED_AGAIN, _worth), white, seed, _worth)
    return _kept(max(judged, key=itemgetter(0))[1], straight)


def looks_bent(white: np.ndarray, rotation: np.ndarray, groups: Groups, seed: int) -> bool:
    """Whether a first bend already makes rows held out likelier with these groups: where a bend ties what is
    independent, groups that were found on straight coordinates may be two in one."""
    gained = 0.0
    for split in range(SPLITS_OF_ROWS):
        for sign, bends in ((1, True), (-1, False)):
            start = _straight(rotation, groups, bends=bends)
            gained += sign * unbend(white, [start], seed + split, STEPS_TO_SEE, settle=False)[0].likelihood
    return gained / SPLITS_OF_ROWS > BENDS_BY


def bent_freely(white: np.ndarray, rotation: np.ndarray, linear: Groups, seed: int) -> BentGroups | None:
    """Partitions at several cuts of what ties coordinates, of linear ones and then of those that are half unbent. The
    best is then merged where it is still tied, and split where that is better; and it has to be clearly better than the
    groups of `linear` coordinates."""
    turns = (rotation, turned(jade, white))
    cuts = [(turn, groups) for turn in turns for groups in _cuts(white @ turn, CUTS)]
    if all(len(groups) == 1 for _, groups in cuts):
        return None
    search = partial(unbend, white, seed=seed, steps=SEARCH_STEPS, settle=False)
    ended = [search([_straight(turn, groups)])[0] for turn, groups in cuts]
    starts: dict[tuple, Start] = {}
    for each in _best(ended, white, TURNED_AGAIN):
        for bend in (each.codes, _made_independent(each.codes, white, partial(picard, seed=seed))):
            for groups in _cuts(bend(white), CUTS[::2]):
                starts.setdefault((bend is each.codes, frozenset(groups)), Start(bend, groups))
    ended += [search([start])[0] for start in starts.values()]
    ended = [unbend(white, [each.on], seed)[0] for each in _best(ended, white, FINALISTS)]
    ended += _merged(_best(ended, white)[0], white, seed)
    ended += _split(_best(ended, white)[0], white, seed)
    judged = _judged(_best(ended, white, FITTED_AGAIN), white, seed, _worth_found)
    if len(linear) > 1 and _filled_well(linear, white):
        stayed = unbend(white, [_straight(rotation, linear, bends=False)], seed)
        ((told, own),) = _judged(stayed, white, seed, _worth_found)
        judged.append((told + LINEAR_FIRST / np.sqrt(len(white)), own))
    best = max(judged, key=itemgetter(0))[1]
    (straight,) = unbend(white, [_straight(rotation, best.start.groups, bends=False)], seed)
    return _kept(best, straight)


def _kept(best: Unbent, straight: Unbent) -> BentGroups | None:
    """The bend, where it gains enough over coordinates that are `straight`."""
    gain = best.likelihood - straight.likelihood
    return None if gain < BENDS_BY else BentGroups(best.start.groups, best.codes, gain)


def _straight(rotation: np.ndarray, groups: Groups, seed: int = 0, *, bends: bool = True) -> Start:
    return Start(Bend.straight(rotation, seed), groups, bends)


def _fitted(starts: Sequence[Start], white: np.ndarray, seed: int) -> list[Unbent]:
    """What becomes of each start; those whose groups have the same sizes are fitted side by side."""
    found: dict[int, Unbent] = {}
    sizes = [tuple(map(len, start.groups)) for start in starts]
    for same in dict.fromkeys(sizes):
        together = [start for start, each in zip(starts, sizes) if each == same]
        found |= {id(each.start): each for each in unbend(white, together, seed)}
    return [found[id(start)] for start in starts]


def _straightened(each: Unbent, white: np.ndarray) -> Start:
    """The same groups from the rotation that is nearest to the bend, which may have gone astray on its way."""
    codes = each.codes(white)
    left, _, right = np.linalg.svd(np.linalg.lstsq(white, codes / np.maximum(codes.std(0), 1e-9), rcond=None)[0])
    return _straight(left @ right, each.start.groups)


def _judged(ended: Sequence[Unbent], white: np.ndarray, seed: int, worth: Worth) -> list[tuple[float, Unbent]]:
    """What two judges say of the groups of each, with the best of their bends: what that is worth to all rows, most of
    which it has seen, and what the groups are, fitted again from straight coordinates, to rows held out of that. The
    first is the surer, but a bend that went far to fit wrong groups has learnt rows by heart; the second knows none.
    Bends that are fitted again are bends as good."""
    starts = [_straightened(each, white) for each in ended]
    again = [_fitted(starts, white, seed + split) for split in range(SPLITS_OF_ROWS)]
    found = []
    for bends in zip(ended, *again):
        told = [worth(white, _to_all_rows(each, white)) for each in bends]
        fresh = sum(worth(white, each) for each in bends[1:]) / SPLITS_OF_ROWS
        found.append((max(told) + fresh, bends[int(np.argmax(told))]))
    return found


def _best(ended: Sequence[Unbent], white: np.ndarray, most: int = 1, worth: Worth | None = None) -> list[Unbent]:
    """The best that differ; of groups that were found, where nothing else is said."""
    found: list[Unbent] = []
    for each in sorted(ended, key=partial(worth or _worth_found, white), reverse=True):
        if len(found) < most and not any(_alike(each, other, white[:ROWS_TO_COMPARE]) for other in found):
            found.append(each)
    return found


def _worth(white: np.ndarray, each: Unbent, tied: float = TIED, hold: float = HOLDS) -> float:
    """The likelihood, less what still ties groups, and with what would be cut if each fell apart where it is weakest.
    Likelihood alone takes parts of a large group for groups, and latents of one for those of another: a mixture of
    Gaussians fills it badly, and what it holds together a bend can imitate."""
    codes, groups = each.codes(white), each.start.groups
    holds = sum(_holds(codes[:, list(group)]) for group in groups if len(group) > 1)
    return each.likelihood - tied * max(0.0, left_over(ties(codes), groups) - 1) + hold * holds


def _worth_found(white: np.ndarray, each: Unbent) -> float:
    return _worth(white, each, TIED_FOUND, HOLDS_FOUND)


def _to_all_rows(each: Unbent, white: np.ndarray) -> Unbent:
    """With a likelihood of all rows, which takes a second: for the last decision."""
    return replace(each, likelihood=cross_validated(white, each.codes, each.start.groups))


def _holds(codes: np.ndarray) -> float:
    """What would be cut if the group of these coordinates fell apart where it is weakest, nats: the least of several
    turns of them, since those of a group may be any turn of each other."""
    rows, latents = codes.shape
    centre, matrix = _whitening(codes)
    inside = (codes - centre) @ matrix
    turns = [codes, *(inside @ turned(solve, inside) for solve in (partial(picard, seed=0), jade))]
    return min(weakest_split(ties(each, least=LEAST_TIE), tuple(range(latents)), rows)[0] for each in turns)


def _turned_inside(each: Unbent, white: np.ndarray) -> Bend:
    """Coordinates that are as independent as a turn inside each group makes them."""
    codes = each.codes(white)
    matrix = np.eye(codes.shape[1])
    for group in map(list, each.start.groups):
        if len(group) > 1:
            centre, inside = _whitening(codes[:, group])
            turn = turned(partial(picard, seed=0), (codes[:, group] - centre) @ inside)
            matrix[np.ix_(group, group)] = inside @ turn
    return each.codes.mapped(matrix, codes.mean(0))


def _alike(one: Unbent, other: Unbent, white: np.ndarray) -> bool:
    if sorted(map(len, one.start.groups)) != sorted(map(len, other.start.groups)):
        return False
    return align(one.codes(white), other.codes(white), one.start.groups, other.start.groups).r2 > ALIKE


def _merged(ended: Unbent, white: np.ndarray, seed: int) -> list[Unbent]:
    """What becomes of groups that are still tied when they are one, as long as any are."""
    found = []
    while True:
        groups = _joined(ties(ended.codes(white)), ended.start.groups)
        if groups is None or not _filled_well(groups, white):
            return found
        (ended,) = unbend(white, [Start(ended.codes, groups)], seed, SEARCH_STEPS)
        found.append(ended)


def _split(best: Unbent, white: np.ndarray, seed: int) -> list[Unbent]:
    """All that was tried: what groups become that fall apart where they are weakest, as long as that is better."""
    found = []
    while True:
        groups, bend = best.start.groups, _turned_inside(best, white)
        tied = ties(bend(white), least=LEAST_TIE)
        splits = sorted(split for group in groups for split in splits_of(tied, group, len(white)))
        tried = []
        for _, *parts in splits[:SPLITS]:
            others = [group for group in groups if not set(group) & set(parts[0])]
            (each,) = unbend(white, [Start(bend, (*others, *parts))], seed, SEARCH_STEPS)
            tried += [each, *unbend(white, [_straightened(each, white)], seed)]
        found += tried
        now = _best([best, *tried], white)[0]
        if now is best:
            return found
        best = now


def _joined(found: list[Tie], groups: Groups) -> Groups | None:
    """The groups with those that the strongest tie between any joined, two if any ties two; None where none does."""
    joins = []
    for tie in found:
        met = [group for group in groups if set(group) & set(tie.members)]
        if len(met) > 1 and tie.strength > threshold(len(tie.members), sum(map(len, groups))):
            joins.append(met)
    if not joins:
        return None
    met = min(joins, key=len)  # the first of them is the strongest
    return (*(group for group in groups if group not in met), tuple(sorted(k for group in met for k in group)))


def _cuts(codes: np.ndarray, factors: Sequence[float]) -> list[Groups]:
    """Partitions at these factors of what ties, without groups so large that a bend would have to do what their
    mixtures cannot: to make Gaussians of them."""
    found = ties(codes)
    cuts = dict.fromkeys(grouped(found, codes.shape[1], factor) for factor in factors)
    return [groups for groups in cuts if _filled_well(groups, codes)]


def _filled_well(groups: Groups, rows: np.ndarray) -> bool:
    """Whether the rows bear enough components for the largest group."""
    return components_of(max(map(len, groups)), len(rows)) >= FEWEST_COMPONENTS


def _made_independent(bend: Bend, white: np.ndarray, solve: Callable[[np.ndarray], np.ndarray]) -> Bend:
    """Bent coordinates made white and turned by ICA, as rows are: half unbent they show more."""
    codes = bend(white)
    centre, matrix = _whitening(codes)
    return bend.mapped(matrix @ turned(solve, (codes - centre) @ matrix), centre)


def _whitening(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = np.linalg.eigh(np.cov(codes.T, bias=True))
    return codes.mean(0), vectors / np.sqrt(np.maximum(values, 1e-9))


def turned(solve: Callable[[np.ndarray], np.ndarray], white: np.ndarray) -> np.ndarray:
    """The rotation that `solve` finds for white coordinates. Those that are 0 stay as they are: turned with the others,
    they would tie them all."""
    alive = np.asarray(white.any(0))
    return rotation_of(solve(white[:, alive]), alive)


def rotation_of(unmixing: np.ndarray, alive: np.ndarray) -> np.ndarray:
    """The rotation of all coordinates that unmixes those that are alive."""
    rotation = np.eye(len(alive))
    rotation[np.ix_(alive, alive)] = unmixing.T
    return rotation


def left_over(found: list[Tie], groups: Groups) -> float:
    latents = sum(map(len, groups))
    apart = set(pairs_of(groups))
    strongest = max((tie.strength for tie in found if tie.members in apart), default=0.0)
    return strongest / threshold(2, latents) if latents > 1 else 0.0
