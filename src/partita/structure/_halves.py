"""Whether two halves of the rows, unmixed and grouped anew without a model, show the groups that all of them show."""

from typing import Any

import numpy as np

from partita.distributions import Groups
from partita.measures._arrays import as_matrix
from partita.structure.alignment import align
from partita.structure.unmixed import FEWEST_TO_BEND, unmixed

LINEAR = 0.97  # R2 of codes from rows, by linear regression: more is a linear model


def halves_agree(
    codes: np.ndarray,
    groups: Groups,
    judged: Groups,
    x: Any,
    sizes: tuple[int, ...] | None,
    time: bool,
    seed: int,
) -> float:
    """The least R2 of a judged group from the group of the same size that a half shows in its place; 0 where a half has
    none. Where codes are no linear function of rows, the halves are unbent, which takes seconds."""
    if not judged:
        return 0.0
    x = codes if x is None else as_matrix(x, "x")
    latents = codes.shape[1]
    if x.shape[1] < latents:
        x = codes
    bent = x is not codes and not _linear(x, codes)
    rows = len(x)
    if bent and rows < 2 * FEWEST_TO_BEND:
        x, bent = codes, False
    order = np.arange(rows) if time else np.random.default_rng(seed).permutation(rows)
    least = 1.0
    for half in (order[: rows // 2], order[rows // 2 :]):
        found = unmixed(x[half], latents, sizes, bends=bent, seed=seed)
        least = min(least, _least(found.codes(x), found.groups, codes, groups, judged))
    return least


def _least(shown: np.ndarray, parts: Groups, codes: np.ndarray, groups: Groups, judged: Groups) -> float:
    match = align(shown, codes, parts, groups)
    least = 1.0
    for g, group in enumerate(groups):
        if group in judged:
            part = match.assignment[g]
            same = part >= 0 and len(parts[part]) == len(group)
            least = min(least, float(match.matrix[g, part]) if same else 0.0)
    return least


def _linear(x: np.ndarray, codes: np.ndarray) -> bool:
    alive = np.ptp(codes, axis=0) > 0
    design = np.c_[x, np.ones(len(x))]
    rest = codes[:, alive] - design @ np.linalg.lstsq(design, codes[:, alive], rcond=None)[0]
    return bool((1 - rest.var(0) / codes[:, alive].var(0)).mean() > LINEAR)
