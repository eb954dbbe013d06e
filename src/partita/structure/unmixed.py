"""Which parts of rows vary independently: principal coordinates unmixed, grouped, and unbent where that helps.

Nothing here knows labels or models: an array in, coordinates and their groups out, with what was looked at on the way.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from partita.distributions import Groups, as_groups
from partita.measures._arrays import as_matrix
from partita.measures._ica import jade, picard
from partita.structure._unbending import Bend, Start, Unbent, unbend
from partita.structure.free_groups import Tie, free_groups, grouped, pairs_of, threshold, ties
from partita.structure.sized_groups import LEAST_TIE, groups_of_sizes, partitions_of_sizes

FEWEST_ROWS = 60
FEWEST_TO_BEND = 400
PREFERRED_BY = 0.01  # nats a row by which other groups must be likelier than those of the linear coordinates
BENDS_BY = 0.02  # nats a row by which bending must be likelier, on rows held out
LEFT_OVER = 1.3  # times what ties two coordinates: more between groups is not left by a linear mixing
LARGEST = 4  # a larger group that was found may be several that are bent together
PARTITIONS = 3
RANDOM = 2  # rotations to start from, beside those of ICA
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

    def codes(self, x: Any) -> np.ndarray:
        """The coordinates of rows (n, D), (n, K)."""
        white = self.principal.white(as_matrix(x, "x"))
        return white @ self.rotation if self.bend is None else self.bend(white)


def unmixed(
    x: Any, latents: int, sizes: tuple[int, ...] | None = None, *, bends: bool = True, seed: int = 0
) -> Unmixed:
    """Coordinates of rows in groups that are as independent as rows held out can tell.

    Principal coordinates, as many as latents, are made independent by Picard-O (Ablin et al. 2018); coordinates that
    stay dependent are grouped, into groups of `sizes` or, where these are None, into as many as show. What no linear
    map unties, because the rows are bent, shows as dependence between groups; then groups and a bend are fitted
    together by likelihood from several starts (Picard-O and JADE, the best partitions), and kept where rows held out
    are likelier by 0.02 nats.

    Parameters
    ----------
    x : (n, D), at least 60 rows.
    latents : number of coordinates, at most D.
    sizes : of the groups, which come in this order; None: number and sizes are found.
    bends : whether to look for a bend at all, which takes seconds and at least 400 rows.
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
    principal = Principal.of(x, latents)
    white = principal.white(x)
    white[:, white.var(0) < 0.5] = 0.0  # rounding, where rows have fewer directions than latents
    rotation = _turned(partial(picard, seed=seed), white)
    codes, noise = _signal(principal, white, rotation)
    found = ties(codes, noise, least=LEAST_TIE)
    groups = grouped(found, latents) if sizes is None else groups_of_sizes(codes, sizes, noise).groups
    left = _left_over(found, groups, latents)
    linear = Unmixed(principal, rotation, groups, None, 0.0, left)
    if not bends or latents < 2 or len(x) < FEWEST_TO_BEND:
        return linear
    if sizes is None:
        return _bent_free(linear, white, seed) if max(map(len, groups)) > LARGEST else linear
    return _bent_sized(linear, white, sizes, seed) if left > LEFT_OVER else linear


def _bent_sized(linear: Unmixed, white: np.ndarray, sizes: tuple[int, ...], seed: int) -> Unmixed:
    starts, rng, latents = [Start(linear.rotation, linear.groups)], np.random.default_rng(seed), white.shape[1]
    # where the rows are bent, ICA may turn away from the truth as one
    drawn = [np.linalg.qr(rng.standard_normal((latents, latents)))[0] for _ in range(RANDOM)]
    for rotation, most in ((linear.rotation, PARTITIONS), (_turned(jade, white), PARTITIONS), *((r, 1) for r in drawn)):
        # noise is the least of what makes groups of bent coordinates dependent
        groupings = partitions_of_sizes(white @ rotation, sizes, None, most)
        starts += [Start(rotation, groups) for groups in groupings]
    first, *others = unbend(white, starts, seed)
    best = max(others, key=lambda each: each.likelihood)
    return _kept(linear, best if best.likelihood > first.likelihood + PREFERRED_BY else first)


def _bent_free(linear: Unmixed, white: np.ndarray, seed: int) -> Unmixed:
    """Of partitions at several cuts, the likeliest once it is unbent."""
    latents = white.shape[1]
    found = ties(white @ linear.rotation)
    cuts = list(dict.fromkeys(grouped(found, latents, factor) for factor in CUTS))
    cuts = [groups for groups in cuts if max(map(len, groups)) > 1 or groups == linear.groups]
    if len(cuts) < 2:
        return linear
    fitted = [unbend(white, [Start(linear.rotation, groups)], seed)[0] for groups in cuts[:4]]
    best = max(fitted, key=lambda each: each.likelihood)
    again = free_groups(best.codes(white))
    if again not in (best.start.groups, *cuts):
        fitted.append(unbend(white, [Start(linear.rotation, again)], seed)[0])
        best = max(fitted, key=lambda each: each.likelihood)
    return _kept(linear, best, next((each for each in fitted if each.start.groups == linear.groups), None))


def _kept(linear: Unmixed, best: Unbent, own: Unbent | None = None) -> Unmixed:
    """The bend, where it gains enough; else the linear coordinates."""
    before = best.linear_likelihood if own is None else own.linear_likelihood
    gain = best.likelihood - before
    if gain < BENDS_BY:
        return linear
    return Unmixed(linear.principal, best.start.rotation, best.start.groups, best.codes, gain, linear.left)


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


def _left_over(found: list[Tie], groups: Groups, latents: int) -> float:
    apart = set(pairs_of(groups))
    strongest = max((tie.strength for tie in found if tie.members in apart), default=0.0)
    return strongest / threshold(2, latents) if latents > 1 else 0.0
