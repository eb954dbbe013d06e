"""Whether two halves of the rows, unmixed and grouped anew without a model, show the groups that all of them show."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from partita.distributions import Groups
from partita.measures._arrays import as_matrix
from partita.structure.alignment import align
from partita.structure.unmixed import FEWEST_TO_BEND, unmixed

QUARTERS = 4


@dataclass(frozen=True)
class Agreement:
    """`least` R2 of a judged group from what a half of the rows shows in its place; `regrouped`, how many of `asked`
    parts of the rows fall into the same groups. `against`: why there was no need to ask on, in words."""

    least: float
    regrouped: int = 0
    asked: int = 0
    against: str | None = None


def halves_agree(
    codes: np.ndarray,
    groups: Groups,
    judged: Groups,
    x: Any,
    sizes: tuple[int, ...] | None,
    enough: float,
    firm: bool,
    time: bool,
    seed: int,
) -> Agreement:
    """Two halves of the rows are unmixed anew. Where a linear unmixing of all rows shows the groups (R2 `enough`), the
    halves must show the same coordinates; the groups, which half of the rows may be too few to see, must show again in
    all but a quarter, for each (groups that were found and whose ties are `firm`: at one of the cuts they are chosen
    from), and not fall apart in all rows when no sizes are told. Where it does not, and the ties inside groups are
    firm, the halves are unbent, on a surface of their own where rows are curved, which takes as long as a fit, in
    groups of their own: told the sizes that all rows show, they agree on wrong ones too."""
    if not judged:
        return Agreement(0.0)
    x = codes if x is None else as_matrix(x, "x")
    latents = codes.shape[1]
    if x.shape[1] < latents:
        x = codes
    rows = len(x)
    order = np.arange(rows) if time else np.random.default_rng(seed).permutation(rows)
    whole = unmixed(x, latents, sizes, bends=False, seed=seed)
    least = _least(whole.codes(x), whole.groups, codes, groups, judged)
    bent = least < enough
    if bent and not firm:
        return Agreement(least, against="the rows are bent, and a bend can tie a group as firmly as the weakest is")
    if bent and (x is codes or rows < 2 * FEWEST_TO_BEND):
        return Agreement(least)
    if not bent and sizes is not None:
        free = whole.grouped_anew(x, None)
        if any(not any(set(group) <= set(part) for part in free) for group in whole.groups):
            shown = ", ".join(str(size) for size in sorted(map(len, free), reverse=True))
            return Agreement(least, against=f"told no sizes, the rows show other groups: of {shown}")
    least = 1.0 if bent else least
    for half in (order[: rows // 2], order[rows // 2 :]):
        found = unmixed(x[half], latents, sizes, bends=bent, curves=bent, seed=seed)
        shown = found.codes(x)
        parts = found.groups if bent else _told(shown, codes, groups)
        least = min(least, _least(shown, parts, codes, groups, judged))
        if least < enough:
            return Agreement(least)
    if bent:
        return Agreement(least)
    others = (x[np.setdiff1d(order, quarter)] for quarter in np.array_split(order, QUARTERS))
    same = [whole.shown_by(each, sizes, cuts=firm) for each in others]
    return Agreement(least, sum(same), QUARTERS)


def _told(shown: np.ndarray, codes: np.ndarray, groups: Groups) -> Groups:
    """Each coordinate in the group of codes that explains it best, as many in each as there are."""
    known = np.empty((shown.shape[1], len(groups)))
    spread = np.maximum(shown.var(0), 1e-12)
    for number, group in enumerate(groups):
        design = np.c_[codes[:, list(group)], np.ones(len(codes))]
        known[:, number] = 1 - (shown - design @ np.linalg.lstsq(design, shown, rcond=None)[0]).var(0) / spread
    places = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    home = places[linear_sum_assignment(-known[:, places])[1]]
    return tuple(tuple(np.flatnonzero(home == number).tolist()) for number in range(len(groups)))


def _least(shown: np.ndarray, parts: Groups, codes: np.ndarray, groups: Groups, judged: Groups) -> float:
    match = align(shown, codes, parts, groups)
    least = 1.0
    for g, group in enumerate(groups):
        if group in judged:
            part = match.assignment[g]
            same = part >= 0 and len(parts[part]) == len(group)
            least = min(least, float(match.matrix[g, part]) if same else 0.0)
    return least
