"""Which parts of rows vary independently: principal coordinates unmixed, grouped, and unbent where that helps.

Nothing here knows labels or models: an array in, coordinates and their groups out, with what was looked at on the way.
"""

from dataclasses import dataclass

import numpy as np

from partita.distributions import Groups
from partita.measures._ica import jade, picard
from partita.structure._unbending import Bend, Start, Unbent, unbend
from partita.structure.free_groups import Tie, free_groups, grouped, pairs_of, threshold, ties
from partita.structure.sized_groups import groups_of_sizes, partitions_of_sizes

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


def unmixed(
    x: np.ndarray, latents: int, sizes: tuple[int, ...] | None = None, *, bends: bool = True, seed: int = 0
) -> Unmixed:
    """Coordinates of rows x (n, D) in groups that are as independent as rows held out can tell.

    Principal coordinates, as many as latents, are made independent by Picard-O; coordinates that stay dependent are
    grouped, into groups of `sizes` or, where these are None, into as many as show. What no linear map unties, because
    the rows are bent, shows as dependence between groups; then groups and a bend are fitted together by likelihood from
    several starts (Picard-O and JADE, the best partitions), and kept where rows held out are likelier by 0.02 nats.
    """
    principal = Principal.of(x, latents)
    white = principal.white(x)
    rotation = picard(white, seed).T
    found = _ties(principal, white, rotation)
    codes, noise = _signal(principal, white, rotation)
    groups = free_groups(codes, noise) if sizes is None else groups_of_sizes(codes, sizes, noise).groups
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
    for rotation, most in ((linear.rotation, PARTITIONS), (jade(white).T, PARTITIONS), *((r, 1) for r in drawn)):
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


def _ties(principal: Principal, white: np.ndarray, rotation: np.ndarray) -> list[Tie]:
    codes, noise = _signal(principal, white, rotation)
    return ties(codes, noise, least=0.55)


def _signal(principal: Principal, white: np.ndarray, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates whose signals, without the noise, are of unit variance; and the covariance of their noise."""
    codes = white * (np.sqrt(principal.variance) / principal.signal) @ rotation
    return codes, rotation.T @ np.diag(principal.noise / principal.signal**2) @ rotation


def _left_over(found: list[Tie], groups: Groups, latents: int) -> float:
    apart = set(pairs_of(groups))
    strongest = max((tie.strength for tie in found if tie.members in apart), default=0.0)
    return strongest / threshold(2, latents) if latents > 1 else 0.0
