"""Which parts of rows vary independently: principal coordinates unmixed, grouped, and unbent where that helps.

Nothing here knows labels or models: an array in, coordinates and their groups out, with what was looked at on the way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from partita.distributions import Groups, as_groups
from partita.measures._arrays import as_matrix
from partita.measures._ica import jade, picard
from partita.measures._neighbours import multi_information
from partita.structure._curving import CURVED, Surface, curvature, surfaces_of
from partita.structure._unbending import Bend, Start, Unbent, unbend
from partita.structure.free_groups import Tie, grouped, pairs_of, threshold, ties
from partita.structure.sized_groups import LEAST_TIE, groups_of_sizes, partitions_of_sizes

FEWEST_ROWS = 60
FEWEST_TO_BEND = 400
BENDS_BY = 0.02  # nats a row by which bending must be likelier, on rows held out
LEFT_OVER = 1.3  # times what ties two coordinates: more between groups is not left by a linear mixing
LARGEST = 4  # a larger group that was found may be several that are bent together
PARTITIONS = 3
SEARCH_STEPS = 200
TURNED_AGAIN, FINALISTS = 2, 2
TIED = 0.1  # nats a row that the strongest tie between groups counts against them, in units of what ties two
RANDOM = 2  # rotations to start from, beside those of ICA
NEIGHBOURS, ROWS_TO_COMPARE = 20, 3000  # by which surfaces are compared
CUTS = (1.0, 1.5, 2.2, 3.3, 5.0, 7.5)  # factors of what ties, at which groups are cut where none are given


@dataclass(frozen=True)
class Principal:
    """The leading principal coordinates of rows: y = (x - mean) @ axes.T / sqrt(variance) is white; `noise` is the mean
    variance of the directions left out."""

    mean: np.ndarray  # (D,)
    axes: np.ndarray  # (K, D)
    variance: np.ndarray  # (K,)
    noise: float

    @classmethod
    def of(cls, x: np.ndarray, latents: int) -> "Principal":
        mean = x.mean(0)
        centred = x - mean
        values, vectors = np.linalg.eigh(centred.T @ centred / len(x))
        values, axes = np.maximum(values[::-1], 0), vectors[:, ::-1].T
        least = 1e-6 * max(float(values.mean()), 1e-12)
        noise = float(values[latents:].mean()) if latents < len(values) else 0.0
        noise = max(noise, least)
        return cls(mean, axes[:latents], np.maximum(values[:latents], 1.001 * noise), noise)

    def white(self, x: np.ndarray) -> np.ndarray:
        return (x - self.mean) @ self.axes.T / np.sqrt(self.variance)

    @property
    def signal(self) -> np.ndarray:
        """The standard deviation of each coordinate without its noise."""
        return np.sqrt(np.maximum(self.variance - self.noise, 1e-3 * self.variance))


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
    stay dependent are grouped, into groups of `sizes` or, where these are None, into as many as show. What no linear
    map unties, because the rows are bent, shows as dependence between groups; then groups and a bend are fitted
    together by likelihood from several starts (Picard-O and JADE, the best partitions), and kept where rows held out
    are likelier by 0.02 nats.

    Principal coordinates cut through rows that lie on a curved surface, a ring of tuning curves say. Where rows off
    their plane can be predicted from places on it, coordinates on the surface by small autoencoders take their place:
    of three, those whose groups share the least information.

    Parameters
    ----------
    x : (n, D), at least 60 rows.
    latents : number of coordinates, at most D.
    sizes : of the groups, which come in this order; None: number and sizes are found.
    bends : whether to look for a bend at all, which takes seconds and at least 400 rows.
    curves : whether to look for a curved surface too, where sizes are given; half a minute where there is one.
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
    ((0, 2), (1, 4), (3, 5))
    >>> found.codes(data.x).shape
    (1000, 6)
    """
    x = as_matrix(x, "x")
    if not 1 <= latents <= x.shape[1]:
        raise ValueError(f"latents must be at least 1 and at most the {x.shape[1]} features, got {latents}")
    if sizes is not None:
        as_groups(tuple(sizes), latents)
    curves = curves and bends and len(x) >= FEWEST_TO_BEND
    if curves and sizes is not None and len(sizes) > 1 and curvature(x, latents) < CURVED:
        return _curved(x, latents, sizes, seed)
    principal = Principal.of(x, latents)
    white = principal.white(x)
    white[:, white.var(0) < 0.5] = 0.0  # rounding, where rows have fewer directions than latents
    rotation = _turned(partial(picard, seed=seed), white)
    codes, noise = _signal(principal, white, rotation)
    found = ties(codes, noise, least=LEAST_TIE)
    groups = grouped(found, latents) if sizes is None else groups_of_sizes(codes, sizes, noise).groups
    left = _left_over(found, groups)
    linear = Unmixed(principal, rotation, groups, None, 0.0, left)
    if not bends or latents < 2 or len(x) < FEWEST_TO_BEND:
        return linear
    if sizes is None:
        return _bent_free(linear, white, seed) if max(map(len, groups)) > LARGEST else linear
    return _bent_sized(linear, white, sizes, seed) if left > LEFT_OVER else linear


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


def _bent_sized(linear: Unmixed, white: np.ndarray, sizes: tuple[int, ...], seed: int) -> Unmixed:
    """Searched twice: from linear coordinates, then from the likeliest bent ones turned and grouped again, which shows
    more once they are half unbent. The groups of the linear coordinates go on throughout."""
    rng, latents = np.random.default_rng(seed), white.shape[1]
    # where the rows are bent, ICA may turn away from the truth as one
    drawn = [np.linalg.qr(rng.standard_normal((latents, latents)))[0] for _ in range(RANDOM)]
    starts = [_straight(linear.rotation, linear.groups)]
    for rotation, most in ((linear.rotation, PARTITIONS), (_turned(jade, white), PARTITIONS), *((r, 1) for r in drawn)):
        # noise is the least of what makes groups of bent coordinates dependent
        groupings = partitions_of_sizes(white @ rotation, sizes, None, most)
        starts += [_straight(rotation, groups, len(starts) + number) for number, groups in enumerate(groupings)]
    first, *others = unbend(white, starts, seed, SEARCH_STEPS, settle=False)
    starts = [first.on, *(each.on for each in others[:TURNED_AGAIN])]
    for each in _best([first, *others], white, TURNED_AGAIN):
        for solve in (partial(picard, seed=seed), jade):
            bend = _made_independent(each.codes, white, solve)
            starts += [Start(bend, groups) for groups in partitions_of_sizes(bend(white), sizes, None, 2)]
    first, *others = unbend(white, starts, seed, SEARCH_STEPS, settle=False)
    last = [first.on, *(each.on for each in _best(others, white, FINALISTS))]
    *ended, straight = unbend(white, [*last, _straight(linear.rotation, linear.groups, bends=False)], seed)
    return _kept(linear, _best(ended, white)[0], straight)


def _kept(linear: Unmixed, best: Unbent, straight: Unbent) -> Unmixed:
    """The bend, where it gains enough over coordinates that are `straight`; else the linear ones."""
    gain = best.likelihood - straight.likelihood
    if gain < BENDS_BY:
        return linear
    return replace(linear, groups=best.start.groups, bend=best.codes, gain=gain)


def _straight(rotation: np.ndarray, groups: Groups, seed: int = 0, *, bends: bool = True) -> Start:
    return Start(Bend.straight(rotation, seed), groups, bends)


def _best(ended: Sequence[Unbent], white: np.ndarray, most: int = 1) -> list[Unbent]:
    """The best of different groups: the likeliest, less what still ties their groups. Likelihood alone takes parts of a
    large group for groups, and latents of one for those of another: a mixture of Gaussians fills it badly, and what it
    holds together a bend can imitate."""

    def worth(each: Unbent) -> float:
        return each.likelihood - TIED * _left_over(ties(each.codes(white)), each.start.groups)

    found: dict[Any, Unbent] = {}
    for each in sorted(ended, key=worth, reverse=True):
        found.setdefault(frozenset(each.start.groups), each)
    return list(found.values())[:most]


def _bent_free(linear: Unmixed, white: np.ndarray, seed: int) -> Unmixed:
    """Partitions at several cuts of what ties coordinates, of linear ones and then of those that are half unbent."""
    cuts = _cuts(white @ linear.rotation, CUTS)
    if len(cuts) < 2:
        return linear
    search = partial(unbend, white, seed=seed, steps=SEARCH_STEPS, settle=False)
    ended = [search([_straight(linear.rotation, groups)])[0] for groups in cuts]
    starts: dict[Any, Start] = {}
    for each in _best(ended, white, TURNED_AGAIN):
        for bend in (each.codes, _made_independent(each.codes, white, partial(picard, seed=seed))):
            for groups in _cuts(bend(white), CUTS[::2]):
                starts.setdefault((bend is each.codes, frozenset(groups)), Start(bend, groups))
    ended += [search([start])[0] for start in starts.values()]
    best = _best([unbend(white, [each.on], seed)[0] for each in _best(ended, white, FINALISTS)], white)[0]
    (straight,) = unbend(white, [_straight(linear.rotation, best.start.groups, bends=False)], seed)
    return _kept(linear, best, straight)


def _cuts(codes: np.ndarray, factors: Sequence[float]) -> list[Groups]:
    """Partitions at these factors of what ties."""
    found = ties(codes)
    return list(dict.fromkeys(grouped(found, codes.shape[1], factor) for factor in factors))


def _made_independent(bend: Bend, white: np.ndarray, solve: Callable[[np.ndarray], np.ndarray]) -> Bend:
    """Bent coordinates made white and turned by ICA, as rows are: half unbent they show more."""
    codes = bend(white)
    centre = codes.mean(0)
    values, vectors = np.linalg.eigh(np.cov(codes.T, bias=True))
    matrix = vectors / np.sqrt(np.maximum(values, 1e-9))
    return bend.mapped(matrix @ _turned(solve, (codes - centre) @ matrix), centre)


def _turned(solve: Callable[[np.ndarray], np.ndarray], white: np.ndarray) -> np.ndarray:
    """The rotation that `solve` finds for white coordinates. Those that are 0 stay as they are: turned with the others,
    they would tie them all."""
    alive = white.any(0)
    if alive.all():
        return solve(white).T
    rotation = np.eye(white.shape[1])
    if alive.any():
        rotation[np.ix_(alive, alive)] = solve(white[:, alive]).T
    return rotation


def _signal(principal: Principal, white: np.ndarray, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates whose signals, without the noise, are of unit variance; and the covariance of their noise."""
    codes = white * (np.sqrt(principal.variance) / principal.signal) @ rotation
    return codes, rotation.T @ np.diag(principal.noise / principal.signal**2) @ rotation


def _left_over(found: list[Tie], groups: Groups) -> float:
    latents = sum(map(len, groups))
    apart = set(pairs_of(groups))
    strongest = max((tie.strength for tie in found if tie.members in apart), default=0.0)
    return strongest / threshold(2, latents) if latents > 1 else 0.0
