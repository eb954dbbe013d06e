"""Groups of coordinates that are bent: the search for groups and a bend that together make rows held out likely."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter

import numpy as np

from partita.distributions import Groups
from partita.measures._ica import jade, picard
from partita.structure._bent_judges import (
    SPLITS_OF_ROWS,
    best_of,
    judge,
    straightened,
    worth_bent,
    worth_found,
    worth_of_sizes,
)
from partita.structure._group_densities import components_of
from partita.structure._unbending import Bend, Start, Unbent, straight, unbend
from partita.structure._unmixing import turned, whitening_of_all
from partita.structure.free_groups import Tie, grouped, threshold, ties
from partita.structure.sized_groups import LEAST_TIE, packed, partitions_of_sizes, splits_of

BENDS_BY = 0.02  # nats a row by which bending must be likelier, on rows held out
# ... and a first bend of groups nobody gave, before more is looked for: one of forty linear worlds gains as much, four
# gain BENDS_BY
LOOKS_BENT_BY = 0.04
PARTITIONS, PARTITIONS_OF_FEW = 5, 16  # at least, and less the number of latents: few have few partitions
SEARCH_STEPS = 200
TURNED_AGAIN, FINALISTS = 2, 4
FITTED_AGAIN = 4  # the best of those that end, to judge them
ALIKE_IN_SIZES = 2  # of them, where groups are found: a bend of one partition that went astray has many like it
LINEAR_FIRST = 5.0  # over the root of rows: nats by which groups of a bend must be better than linear ones
RANDOM = 2  # rotations to start from, beside those of ICA
FEWEST_COMPONENTS = 4  # of the mixture of a group that is unbent
SPLITS = 4  # of groups into two that are tried, those first that cut the least
CUTS = (1.0, 1.5, 2.2, 3.3, 5.0, 7.5)  # factors of what ties, at which groups are cut where none are given
FINER = CUTS[1]
PACKED_AT = (LEAST_TIE, 1.0, 1.5, 2.2)  # factors from which on ties count where groups are packed


@dataclass(frozen=True)
class BentGroups:
    """A bend, the groups of its coordinates, and by how many nats a row it is likelier than none."""

    groups: Groups
    bend: Bend
    gain: float


def bent_of_sizes(
    white: np.ndarray, rotation: np.ndarray, groups: Groups, stays: Start, seed: int
) -> BentGroups | None:
    """Searched twice: from linear coordinates, then from the likeliest bent ones turned and grouped again, which shows
    more once they are half unbent. The best of both go on to the end, those of the second search from where they are
    and from straight coordinates; the groups of the linear ones throughout. Kept where it is better than linear
    coordinates that stay as they are."""
    rng, latents, sizes = np.random.default_rng(seed), white.shape[1], tuple(map(len, groups))
    # where the rows are bent, ICA may turn away from the truth as one
    drawn = [np.linalg.qr(rng.standard_normal((latents, latents)))[0] for _ in range(RANDOM)]
    starts, many = [straight(rotation, groups)], max(PARTITIONS, PARTITIONS_OF_FEW - latents)
    for turn, most in ((rotation, many), (turned(jade, white), many), *((r, 1) for r in drawn)):
        # noise is the least of what makes groups of bent coordinates dependent
        groupings = partitions_of_sizes(white @ turn, sizes, None, most)
        starts += [straight(turn, each, len(starts) + number) for number, each in enumerate(groupings)]
    first, *others = unbend(white, starts, seed, SEARCH_STEPS, settle=False)
    early = best_of(others, white, FINALISTS, worth_of_sizes)
    starts = [first.on, *(each.on for each in others[:TURNED_AGAIN])]
    for each in best_of([first, *others], white, TURNED_AGAIN, worth_of_sizes):
        for solve in (partial(picard, seed=seed), jade):
            bend = _made_independent(each.codes, white, solve)
            starts += [Start(bend, found) for found in partitions_of_sizes(bend(white), sizes, None, 2)]
    first, *others = unbend(white, starts, seed, SEARCH_STEPS, settle=False)
    late = best_of(others, white, FINALISTS, worth_of_sizes)
    on = [first, *best_of([*early, *late], white, len(early) + len(late), worth_of_sizes)]
    last = [*(each.on for each in on), *(straightened(each, white) for each in late)]
    *ended, plain = unbend(white, [*last, stays], seed)
    judged = judge(best_of(ended, white, FITTED_AGAIN, worth_of_sizes), white, seed, worth_of_sizes)
    return _kept(max(judged, key=itemgetter(0))[1], plain)


def looks_bent(white: np.ndarray, stays: Start, seed: int) -> bool:
    """Whether a first bend already makes rows held out likelier than linear coordinates that stay as they are, each
    with their groups or with finer ones, since what a bend ties on straight coordinates may be two groups in one."""
    rotation, groups = stays.bend.rotation, stays.groups
    finer = [each for each in _cuts(white @ rotation, (FINER,)) if _parts_of(groups, each)]
    told = []
    for each in dict.fromkeys([groups, *finer]):
        starts = [straight(rotation, each), straight(rotation, each, bends=False)]
        fits = [unbend(white, starts, seed + split) for split in range(SPLITS_OF_ROWS)]
        told.append([sum(one.likelihood for one in ends) / SPLITS_OF_ROWS for ends in zip(*fits)])
    bent, plain = map(max, zip(*told))
    return bent - plain > LOOKS_BENT_BY


def bent_freely(
    white: np.ndarray, rotation: np.ndarray, stays: Start, seed: int, *, clearly: bool
) -> BentGroups | None:
    """Partitions by cuts and packings of what ties coordinates, of linear ones and then of those that are half unbent.
    The best is then merged where it is still tied, and split where that is better; and it has to be better, where
    linear coordinates leave nothing tied `clearly`, than these as they are."""
    turns = (rotation, turned(jade, white))
    cuts = [(turn, groups) for turn in turns for groups in _partitions(white @ turn, CUTS)]
    if all(len(groups) == 1 for _, groups in cuts):
        return None
    search = partial(unbend, white, seed=seed, steps=SEARCH_STEPS, settle=False)
    ended = [search([straight(turn, groups)])[0] for turn, groups in cuts]
    starts: dict[tuple, Start] = {}
    for each in best_of(ended, white, TURNED_AGAIN):
        for bend in (each.codes, _made_independent(each.codes, white, partial(picard, seed=seed))):
            for groups in _partitions(bend(white), CUTS[::2]):
                starts.setdefault((bend is each.codes, frozenset(groups)), Start(bend, groups))
    ended += [search([start])[0] for start in starts.values()]
    ended = [unbend(white, [each.on], seed)[0] for each in best_of(ended, white, FINALISTS)]
    ended += _merged(best_of(ended, white)[0], white, seed)
    ended += _split(best_of(ended, white)[0], white, seed)
    varied = best_of(ended, white, FITTED_AGAIN, of_sizes=ALIKE_IN_SIZES)
    judged = judge(varied, white, seed, worth_bent)
    if len(stays.groups) > 1 and _filled_well(stays.groups, white):
        ((told, own),) = judge(unbend(white, [stays], seed), white, seed, worth_found)
        judged.append((told + clearly * LINEAR_FIRST / np.sqrt(len(white)), own))
    best = max(judged, key=itemgetter(0))[1]
    if not best.start.bends:
        return None
    (plain,) = unbend(white, [replace(straightened(best, white), bends=False)], seed)
    return _kept(best, plain)


def _kept(best: Unbent, plain: Unbent) -> BentGroups | None:
    """The bend, where it gains enough over coordinates that are straight, `plain`."""
    gain = best.likelihood - plain.likelihood
    return None if gain < BENDS_BY else BentGroups(best.start.groups, best.codes, gain)


def _turned_inside(each: Unbent, white: np.ndarray) -> Bend:
    """Coordinates that are as independent as a turn inside each group makes them."""
    codes = each.codes(white)
    matrix = np.eye(codes.shape[1])
    for group in map(list, each.start.groups):
        if len(group) > 1:
            centre, inside = whitening_of_all(codes[:, group])
            turn = turned(partial(picard, seed=0), (codes[:, group] - centre) @ inside)
            matrix[np.ix_(group, group)] = inside @ turn
    return each.codes.mapped(matrix, codes.mean(0))


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
            tried += [each, *unbend(white, [straightened(each, white)], seed)]
        found += tried
        now = best_of([best, *tried], white)[0]
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


def _partitions(codes: np.ndarray, factors: Sequence[float]) -> list[Groups]:
    """Cuts, and packings of ties of several strengths."""
    found, latents = ties(codes, least=LEAST_TIE), codes.shape[1]
    packings = []
    for factor in PACKED_AT:
        strong = [tie for tie in found if tie.strength > factor * threshold(len(tie.members), latents)]
        packings.append(packed(strong, codes.shape))
    different = {frozenset(groups): groups for groups in (*_cuts(codes, factors), *packings)}
    return [*different.values()]


def _parts_of(groups: Groups, finer: Groups) -> bool:
    return all(any({*part} <= {*group} for group in groups) for part in finer)


def _filled_well(groups: Groups, rows: np.ndarray) -> bool:
    """Whether the rows bear enough components for the largest group."""
    return components_of(max(map(len, groups)), len(rows)) >= FEWEST_COMPONENTS


def _made_independent(bend: Bend, white: np.ndarray, solve: Callable[[np.ndarray], np.ndarray]) -> Bend:
    """Bent coordinates made white and turned by ICA, as rows are: half unbent they show more."""
    codes = bend(white)
    centre, matrix = whitening_of_all(codes)
    return bend.mapped(matrix @ turned(solve, (codes - centre) @ matrix), centre)
