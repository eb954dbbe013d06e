"""Which parts of rows vary independently: principal coordinates unmixed, grouped, and unbent where that helps.

Nothing here knows labels or models: an array in, coordinates and their groups out, with what was looked at on the way.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from partita.distributions import Groups, as_groups
from partita.measures._arrays import as_matrix
from partita.measures._neighbours import multi_information
from partita.structure._bent_groups import bent_freely, bent_of_sizes, looks_bent
from partita.structure._curving import CURVED, Surface, curvature, surfaces_of
from partita.structure._linear_groups import LinearGroups, cuts_of, ends_of_ica, in_groups, likeliest_end
from partita.structure._principal import Principal
from partita.structure._unbending import Bend, straight

FEWEST_ROWS = 60
FEWEST_TO_BEND, FEWEST_A_LATENT = 400, 40
LEFT_OVER = 1.0  # times what ties two coordinates: more between groups is not left by a linear mixing
LARGEST = 4  # a larger group that was found may be several that are bent together
NEIGHBOURS, ROWS_TO_COMPARE = 20, 3000  # by which surfaces are compared


@dataclass(frozen=True)
class Unmixed:
    """Coordinates z of rows, `rotation` of white ones or `bend` where that was likelier by `gain` nats a row, and their
    groups. `left` is the strongest tie between two groups of the linear coordinates, in units of what ties two."""

    principal: Principal
    rotation: np.ndarray
    groups: Groups
    bend: Bend | None
    gain: float
    left: float
    surface: Surface | None = None  # on which rows lie that are curved: `principal` is then of places on it

    def codes(self, x: Any) -> np.ndarray:
        """The coordinates of rows (n, D), (n, K)."""
        x = as_matrix(x, "x")
        white = self.principal.white(x if self.surface is None else self.surface(x))
        return white @ self.rotation if self.bend is None else self.bend(white)

    def grouped_anew(self, x: np.ndarray, sizes: tuple[int, ...] | None) -> Groups:
        """The groups that rows show in these linear coordinates: of `sizes`, or as many as show."""
        return self._grouped(x, sizes).groups

    def shown_by(self, x: np.ndarray, sizes: tuple[int, ...] | None, cuts: bool) -> bool:
        """Whether rows show these groups in these linear coordinates: of `sizes`, or as many as show; with `cuts`, at
        any of the cuts of what ties them that groups are chosen from."""
        end = self._grouped(x, sizes)
        found = cuts_of(end) if cuts and sizes is None else [end.groups]
        return {*map(frozenset, self.groups)} in ({*map(frozenset, each)} for each in found)

    def _grouped(self, x: np.ndarray, sizes: tuple[int, ...] | None) -> LinearGroups:
        return in_groups(self.principal, self.principal.white(x), self.rotation, sizes)


@threadpool_limits.wrap(limits=1, user_api="blas")  # of so few columns threads cost three times what they save
def unmixed(
    x: Any,
    latents: int,
    sizes: tuple[int, ...] | None = None,
    *,
    bends: bool = True,
    curves: bool = False,
    seed: int = 0,
) -> Unmixed:
    """Coordinates of rows in groups that are as independent as rows held out can tell.

    Principal coordinates, as many as latents, are made independent by Picard-O (Ablin et al. 2018); coordinates that
    stay dependent are grouped, into groups of `sizes` or, where these are None, into as many as show, and of up to
    5,000 rows turned to where these groups are likeliest. Where none are given and weaker and stronger ties show
    different groups, each of these is turned to, and finer ones are taken where they are clearly likelier or leave
    nothing tied. What no linear map unties, because the rows are bent, shows as dependence between groups; then groups
    and a bend are fitted together by likelihood from several starts (Picard-O and JADE, the best partitions), and kept
    where rows held out are likelier by 0.02 nats.

    Principal coordinates cut through rows that lie on a curved surface, a ring of tuning curves say. Where rows off
    their plane can be predicted from places on it, coordinates on the surface by small autoencoders take their place:
    of six, those whose groups share the least information.

    Parameters
    ----------
    x : (n, D), at least 60 rows.
    latents : number of coordinates, at most D.
    sizes : of the groups, which come in this order; None: number and sizes are found.
    bends : whether to look for a bend at all, which takes seconds, at least 400 rows, and 40 a latent.
    curves : whether to look for a curved surface too, where sizes are given; minutes where there is one.
    seed : of all that is drawn.

    Returns
    -------
    found : Unmixed, with `groups` of the columns of `codes(x)`.

    Examples
    --------
    >>> from partita.data import load
    >>> data = load("groups", size=1000)
    >>> found = unmixed(data.x, 6, (2, 2, 2))
    >>> found.groups
    ((0, 1), (2, 4), (3, 5))
    >>> found.codes(data.x).shape
    (1000, 6)
    """
    x = as_matrix(x, "x")
    if not 1 <= latents <= x.shape[1]:
        raise ValueError(f"latents must be at least 1 and at most the {x.shape[1]} features, got {latents}")
    if sizes is not None:
        as_groups(tuple(sizes), latents)
    if curves and len(x) >= FEWEST_TO_BEND and sizes is not None and len(sizes) > 1 and curvature(x, latents) < CURVED:
        return _curved(x, latents, sizes, seed)
    principal = Principal.of(x, latents)
    white = principal.white(x)
    white[:, white.var(0) < 0.5] = 0.0  # rounding, where rows have fewer directions than latents
    ends = ends_of_ica(principal, white, sizes, seed)
    shown = likeliest_end(principal, white, ends, sizes, seed)
    linear = Unmixed(principal, shown.rotation, shown.groups, None, 0.0, shown.left)
    # a direction without spread has no density that a bend could be judged by
    enough = len(x) >= max(FEWEST_TO_BEND, FEWEST_A_LATENT * latents) and white.any(0).all()
    if not bends or latents < 2 or not enough:
        return linear
    best, most = None, min(LARGEST, latents - 1)
    stays = straight(linear.rotation, linear.groups, bends=False)
    if sizes is not None and linear.left > LEFT_OVER:
        best = bent_of_sizes(white, ends[0].rotation, ends[0].groups, stays, seed)
    elif sizes is None:
        tied = max(map(len, linear.groups)) > most or linear.left > LEFT_OVER
        if tied or looks_bent(white, stays, seed):
            best = bent_freely(white, ends[0].rotation, stays, seed, clearly=not tied)
    return linear if best is None else replace(linear, groups=best.groups, bend=best.bend, gain=best.gain)


def _curved(x: np.ndarray, latents: int, sizes: tuple[int, ...], seed: int) -> Unmixed:
    """On each of several surfaces unmixed as ever. Likelihoods of places on different surfaces do not compare; what
    their groups share does."""
    rows = np.sort(np.random.default_rng(seed).permutation(len(x))[:ROWS_TO_COMPARE])

    def shared(found: Unmixed) -> float:
        codes = found.codes(x[rows])
        for group in map(list, found.groups):
            codes[:, group] = Principal.of(codes[:, group], len(group)).white(codes[:, group])
        return multi_information(codes, found.groups, neighbours=NEIGHBOURS, seed=seed)

    surfaces = surfaces_of(x, latents, seed)
    found = [replace(unmixed(each(x), latents, sizes, seed=seed), surface=each) for each in surfaces]
    return min(found, key=shared)
