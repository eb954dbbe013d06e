"""Which parts of rows vary independently: principal coordinates unmixed, grouped, and unbent where that helps.

Nothing here knows labels or models: an array in, coordinates and their groups out, with what was looked at on the way.
"""

from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from partita.distributions import Groups, as_groups
from partita.measures._arrays import as_matrix
from partita.measures._ica import unmixings
from partita.measures._neighbours import multi_information
from partita.structure._bent_groups import bent_freely, bent_of_sizes, looks_bent
from partita.structure._bent_judges import left_over
from partita.structure._curving import CURVED, Surface, curvature, surfaces_of
from partita.structure._unbending import Bend
from partita.structure._unmixing import rotation_of
from partita.structure.free_groups import Tie, grouped, ties
from partita.structure.sized_groups import LEAST_TIE, best_partition, block_values

FEWEST_ROWS = 60
WIDE = 1500  # features of rows of which only the leading directions are looked for
FEWEST_TO_BEND, FEWEST_A_LATENT = 400, 40
WORK = 2e8  # products that all starts of ICA may take
BEST_ENDS = 3
LEFT_OVER = 1.0  # times what ties two coordinates: more between groups is not left by a linear mixing
LEAST_SIGNAL = 0.5  # of the variance of a direction, by which it is scaled to be grouped
LARGEST = 4  # a larger group that was found may be several that are bent together
NEIGHBOURS, ROWS_TO_COMPARE = 20, 3000  # by which surfaces are compared


@dataclass(frozen=True)
class Principal:
    """The leading principal coordinates of rows: y = (x - mean) @ axes.T / sqrt(variance) is white; `noise` is the mean
    variance of the directions left out, and `signals` how many of the coordinates are more than noise."""

    mean: np.ndarray  # (D,)
    axes: np.ndarray  # (K, D)
    variance: np.ndarray  # (K,)
    noise: float
    signals: int

    @classmethod
    def of(cls, x: np.ndarray, latents: int) -> "Principal":
        mean = x.mean(0)
        centred = x - mean
        if x.shape[1] > WIDE:
            return cls._of_wide(centred, mean, latents)
        values, vectors = np.linalg.eigh(centred.T @ centred / len(x))
        values, axes = np.maximum(values[::-1], 0), vectors[:, ::-1].T
        least = 1e-6 * max(float(values.mean()), 1e-12)
        noise = float(values[latents:].mean()) if latents < len(values) else 0.0
        noise = max(noise, least)
        signals = min(latents, signals_of(values, len(x))) if latents < len(values) else latents
        return cls(mean, axes[:latents], np.maximum(values[:latents], 1.001 * noise), noise, signals)

    @classmethod
    def _of_wide(cls, centred: np.ndarray, mean: np.ndarray, latents: int) -> "Principal":
        """The leading coordinates alone, by randomised subspace iteration: all of them would take minutes."""
        from sklearn.utils.extmath import randomized_svd

        _, singular, axes = randomized_svd(centred, latents, n_iter=7, random_state=0)  # type: ignore[arg-type]
        values, total = singular**2 / len(centred), float(np.square(centred).sum() / len(centred))
        least = 1e-6 * max(total / len(mean), 1e-12)
        noise = max((total - float(values.sum())) / max(len(mean) - latents, 1), least)
        return cls(mean, axes, np.maximum(values, 1.001 * noise), noise, latents)

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

    def grouped_anew(self, x: np.ndarray, sizes: tuple[int, ...] | None) -> Groups:
        """The groups that rows show in these linear coordinates: of `sizes`, or as many as show."""
        return _grouped(self.principal, self.principal.white(x), self.rotation, sizes)[0]


def signals_of(values: np.ndarray, rows: int) -> int:
    """How many of the directions of these variances, the largest first, are more than noise: the number with the best
    BIC of probabilistic PCA (Minka 2000 counts its parameters), at least 1. Right where noise is the same for all
    features; more where it differs."""
    features = len(values)
    values = np.maximum(values, 1e-12 * max(float(values.mean()), 1e-12))
    scores = []
    for k in range(1, min(rows // 2, features - 1) + 1):
        left = features - k
        log_p = -0.5 * rows * (np.log(values[:k]).sum() + left * np.log(values[k:].mean()) + features)
        scores.append(log_p - 0.5 * np.log(rows) * (features * k - k * (k - 1) / 2 + features + 1))
    return int(np.argmax(scores)) + 1 if scores else 1


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
    stay dependent are grouped, into groups of `sizes` or, where these are None, into as many as show. What no linear
    map unties, because the rows are bent, shows as dependence between groups; then groups and a bend are fitted
    together by likelihood from several starts (Picard-O and JADE, the best partitions), and kept where rows held out
    are likelier by 0.02 nats.

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
    rotation, groups, found = _unmixed_and_grouped(principal, white, sizes, seed)
    left = left_over(found, groups)
    linear = Unmixed(principal, rotation, groups, None, 0.0, left)
    # a direction without spread has no density that a bend could be judged by
    enough = len(x) >= max(FEWEST_TO_BEND, FEWEST_A_LATENT * latents) and white.any(0).all()
    if not bends or latents < 2 or not enough:
        return linear
    best, most = None, min(LARGEST, latents - 1)
    if sizes is not None and left > LEFT_OVER:
        best = bent_of_sizes(white, rotation, groups, sizes, seed)
    elif sizes is None and (max(map(len, groups)) > most or looks_bent(white, rotation, groups, seed)):
        best = bent_freely(white, rotation, groups, seed)
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


def _unmixed_and_grouped(
    principal: Principal, white: np.ndarray, sizes: tuple[int, ...] | None, seed: int
) -> tuple[np.ndarray, Groups, list[Tie]]:
    """The rotation, its groups and all ties: of several ends of ICA the least Gaussian or, where sizes say what groups
    are worth, that of the best few whose groups are worth the most."""
    (rows, latents), alive = white.shape, np.asarray(white.any(0))
    if sizes is None:
        alive[principal.signals :] = False  # directions of nothing but noise, turned with the others, tie them weakly
    starts = max(1, int(WORK / (rows * latents**2)))
    ends = [
        rotation_of(each, alive)
        for each in unmixings(white[:, alive], seed, starts)[: 1 if sizes is None else BEST_ENDS]
    ]
    found = [(rotation, *_grouped(principal, white, rotation, sizes)) for rotation in ends]
    return max(found, key=itemgetter(3))[:3]


def _grouped(
    principal: Principal, white: np.ndarray, rotation: np.ndarray, sizes: tuple[int, ...] | None
) -> tuple[Groups, list[Tie], float]:
    """Groups, all ties, and what groups of sizes are worth."""
    codes, noise = _signal(principal, white, rotation)
    found = ties(codes, noise, least=LEAST_TIE)
    if sizes is None:
        return grouped(found, len(rotation)), found, 0.0
    best = best_partition(sizes, block_values(found, set(sizes), codes.shape))
    return best.groups, found, best.value


def _signal(principal: Principal, white: np.ndarray, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates whose signals, without the noise, are of unit variance; and the covariance of their noise. Directions
    that are mostly noise, where there are more latents than signals, stay as large as they are: blown up, a trace of
    them would drown what ties the others."""
    signal = np.maximum(principal.signal**2, LEAST_SIGNAL * principal.variance)
    codes = white * np.sqrt(principal.variance / signal) @ rotation
    return codes, rotation.T @ np.diag(principal.noise / signal) @ rotation
