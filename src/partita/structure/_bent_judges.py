"""Judges of bends: how likely they make rows, whether their groups are apart and hold, which of several are best."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from partita.distributions import Groups
from partita.measures._ica import jade, picard
from partita.structure._group_densities import components_of, densities_of, log_density
from partita.structure._unbending import Bend, Start, Unbent, held_out_rows, straight, unbend
from partita.structure._unmixing import turned, whitening_of_all
from partita.structure.alignment import align
from partita.structure.free_groups import Tie, pairs_of, threshold, ties
from partita.structure.sized_groups import LEAST_TIE, weakest_split

FOLDS, ROWS_TO_CROSS = 5, 4000
COMPONENTS_TRIED = (0.5, 1, 2)  # times as many as rows bear, for densities that are cross-validated
SPLITS_OF_ROWS = 2
# Of given sizes, and found: nats a row that the strongest tie between groups counts against them, beyond what ties two,
# in units of it; and times what the weakest splits of groups would cut, nats a row, counts for them. Groups that may be
# merged would be, as long as that counts much.
TIED, TIED_FOUND = 0.3, 0.1
HOLDS, HOLDS_FOUND = 1.0, 0.5
CLEARLY_TIED, LOOSE = 1.3, 1.0  # times what ties two; nats that a group counts which less would split
ROWS_TO_COMPARE, ALIKE = 500, 0.97  # R2 at which two sets of coordinates in groups are one

Worth = Callable[[np.ndarray, Unbent], float]


def cross_validated(y: np.ndarray, bend: Bend, groups: Groups, seed: int = 0) -> float:
    """The mean log-density of rows y (n, K) that a bend gives them, nats: each fold by densities of the others. Unlike
    the rows that a fit holds out it is of all rows, so that chance says less; but the bend has seen most of them."""
    some = np.random.default_rng(seed).permutation(len(y))[:ROWS_TO_CROSS]
    folds = np.array_split(some[: len(some) // FOLDS * FOLDS], FOLDS)
    others = [np.concatenate([fold for fold in folds if fold is not each]) for each in folds]
    return _told(y[np.stack(others)], y[np.stack(folds)], bend, groups, seed)


def of_rows_held_out(y: np.ndarray, bend: Bend, groups: Groups, seed: int = 0) -> float:
    """The mean log-density of the rows of y that a fit with this seed held out, nats, by densities of the others."""
    rows, judging = held_out_rows(len(y), seed)
    return _told(y[rows][None], y[judging][None], bend, groups, seed)


def _told(fitted: np.ndarray, asked: np.ndarray, bend: Bend, groups: Groups, seed: int) -> float:
    """The mean log-density of rows `asked` by densities of rows `fitted`, both (folds, rows, K), nats."""
    total = float(bend.log_volume(asked.reshape(-1, asked.shape[-1])).mean())
    codes, places = (torch.tensor(bend(rows), dtype=torch.float32) for rows in (fitted, asked))
    for group in map(list, groups):
        own, at = codes[..., group], places[..., group]
        # how many components fill a shape best depends on it: clusters need few, what has edges many
        borne = components_of(len(group), own.shape[1])
        tried = [densities_of(own, seed, max(1, int(borne * factor))) for factor in COMPONENTS_TRIED]
        total += max(float(log_density(at, *each).mean()) for each in tried)
    return total


def worth_of_sizes(white: np.ndarray, each: Unbent, tied: float = TIED, hold: float = HOLDS) -> float:
    """The likelihood, less what still ties groups, and with what would be cut if each fell apart where it is weakest.
    Likelihood alone takes parts of a large group for groups, and latents of one for those of another: a mixture of
    Gaussians fills it badly, and what it holds together a bend can imitate."""
    codes, groups = each.codes(white), each.start.groups
    holds = sum(_holds(codes[:, list(group)]) for group in groups if len(group) > 1)
    return each.likelihood - tied * max(0.0, left_over(ties(codes), groups) - 1) + hold * holds


def worth_found(white: np.ndarray, each: Unbent) -> float:
    return worth_of_sizes(white, each, TIED_FOUND, HOLDS_FOUND)


def worth_bent(white: np.ndarray, each: Unbent) -> float:
    """Of groups that are found where rows are bent: a group that nothing ties clearly is none. Two coordinates that
    share nothing are as likely together as apart, and a bend ties them a little."""
    rows, latents = white.shape
    least = (CLEARLY_TIED * threshold(2, latents)) ** 2 / (2 * rows) if latents > 1 else 0.0
    codes = each.codes(white)
    loose = sum(len(group) > 1 and _holds(codes[:, list(group)]) < least for group in each.start.groups)
    return worth_found(white, each) - LOOSE * loose


def _to_all_rows(each: Unbent, white: np.ndarray) -> Unbent:
    """With a likelihood of all rows, which takes a second: for the last decision."""
    return replace(each, likelihood=cross_validated(white, each.codes, each.start.groups))


def _to_rows_held_out(each: Unbent, white: np.ndarray, seed: int) -> Unbent:
    return replace(each, likelihood=of_rows_held_out(white, each.codes, each.start.groups, seed))


def _holds(codes: np.ndarray) -> float:
    """What would be cut if the group of these coordinates fell apart where it is weakest, nats: the least of several
    turns of them, since those of a group may be any turn of each other."""
    rows, latents = codes.shape
    centre, matrix = whitening_of_all(codes)
    inside = (codes - centre) @ matrix
    turns = [codes, *(inside @ turned(solve, inside) for solve in (partial(picard, seed=0), jade))]
    return min(weakest_split(ties(each, least=LEAST_TIE), tuple(range(latents)), rows)[0] for each in turns)


def left_over(found: list[Tie], groups: Groups) -> float:
    latents = sum(map(len, groups))
    apart = set(pairs_of(groups))
    strongest = max((tie.strength for tie in found if tie.members in apart), default=0.0)
    return strongest / threshold(2, latents) if latents > 1 else 0.0


def best_of(
    ended: Sequence[Unbent], white: np.ndarray, most: int = 1, worth: Worth | None = None, of_sizes: int | None = None
) -> list[Unbent]:
    """The best that differ, at most so many `of_sizes` that are the same; of groups that were found, where nothing else
    is said."""
    found: list[Unbent] = []
    for each in sorted(ended, key=partial(worth or worth_bent, white), reverse=True):
        same = [other for other in found if _sizes(other) == _sizes(each)]
        enough = len(found) >= most or (of_sizes is not None and len(same) >= of_sizes)
        if not enough and not any(_alike(each, other, white[:ROWS_TO_COMPARE]) for other in same):
            found.append(each)
    return found


def _sizes(each: Unbent) -> list[int]:
    return sorted(map(len, each.start.groups))


def _alike(one: Unbent, other: Unbent, white: np.ndarray) -> bool:
    return align(one.codes(white), other.codes(white), one.start.groups, other.start.groups).r2 > ALIKE


def judge(ended: Sequence[Unbent], white: np.ndarray, seed: int, worth: Worth) -> list[tuple[float, Unbent]]:
    """What two judges say of the groups of each, with the best of their bends: what that is worth to all rows, most of
    which it has seen, and what the groups are, fitted again from straight coordinates, to rows held out of that. The
    first is the surer, but a bend that went far to fit wrong groups has learnt rows by heart; the second knows none.
    Bends that are fitted again are bends as good."""
    starts = [straightened(each, white) for each in ended]
    again = [
        [_to_rows_held_out(each, white, seed + split) for each in fitted_again(starts, white, seed + split)]
        for split in range(SPLITS_OF_ROWS)
    ]
    found = []
    for bends in zip(ended, *again):
        told = [worth(white, _to_all_rows(each, white)) for each in bends]
        fresh = sum(worth(white, each) for each in bends[1:]) / SPLITS_OF_ROWS
        found.append((max(told) + fresh, bends[int(np.argmax(told))]))
    return found


def straightened(each: Unbent, white: np.ndarray) -> Start:
    """The same groups from the rotation that is nearest to the bend, which may have gone astray on its way."""
    codes = each.codes(white)
    left, _, right = np.linalg.svd(np.linalg.lstsq(white, codes / np.maximum(codes.std(0), 1e-9), rcond=None)[0])
    return straight(left @ right, each.start.groups)


def fitted_again(starts: Sequence[Start], white: np.ndarray, seed: int) -> list[Unbent]:
    """What becomes of each start; those whose groups have the same sizes are fitted side by side."""
    found: dict[int, Unbent] = {}
    sizes = [tuple(map(len, start.groups)) for start in starts]
    for same in dict.fromkeys(sizes):
        together = [start for start, each in zip(starts, sizes) if each == same]
        found |= {id(each.start): each for each in unbend(white, together, seed)}
    return [found[id(start)] for start in starts]
