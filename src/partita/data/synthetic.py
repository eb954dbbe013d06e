"""Latents in independent groups, tangled inside each group, mixed into observations with noise.

    z = (z_1, ..., z_G), z_g independent;  x = mix(z) + noise * e,  e ~ N(0, I).

`groups` and `independent` are the two data sets of the PDisVAE paper (Sec. 4.1 and A.4.2); the paper shows its shapes
only in a figure, so the shapes here are ours.
"""

from collections.abc import Sequence
from numbers import Integral

import numpy as np

from partita.data.card import Card
from partita.data.dataset import Dataset
from partita.data.shapes import SHAPES, shape_named

GROUPS_CARD = Card(
    summary="2000 x 20 numbers from 6 latents in three tangled pairs",
    size=2000,
    shape=(20,),
    citation="after the partially disentangled VAE (PDisVAE) paper, Sec. 4.1; shapes are ours",
)
INDEPENDENT_CARD = Card(
    summary="2000 x 20 numbers from 3 independent latents",
    size=2000,
    shape=(20,),
    citation="after the partially disentangled VAE (PDisVAE) paper, App. A.4.2; marginals are ours",
)
PAIRS = ("ring", "moons", "bowtie")
MARGINALS = ("uniform", "two_peaks", "exponential")


def groups(
    *,
    size: int = 2000,
    seed: int = 0,
    groups: Sequence[int] = (2, 2, 2),
    shapes: Sequence[str] | None = None,
    features: int = 20,
    noise: float = 0.5,
    mixing: str = "linear",
    sample: int = 0,
) -> Dataset:
    """Independent groups of latents of the given sizes, each with a shape that no linear map unties.

    Defaults: 2000 rows, three pairs (ring, moons, bow-tie), whitened, A (20 x 6) with N(0, 1) entries, noise 0.5.
    `sample` draws other rows from the same world (same mixing): 0 to train, 1 to test.
    """
    sizes = _checked_sizes(groups)
    names = _default_shapes(sizes) if shapes is None else _checked_shapes(shapes, sizes)
    return _mixed("groups", names, sizes, size, seed, features, noise, mixing, sample)


def independent(
    *,
    size: int = 2000,
    seed: int = 0,
    marginals: Sequence[str] = MARGINALS,
    features: int = 20,
    noise: float = 0.5,
    mixing: str = "linear",
    sample: int = 0,
) -> Dataset:
    """Independent latents of unit variance with the given marginals, mixed as in `groups`.

    Defaults: uniform, two Gaussian peaks, centred exponential; 20 features, noise 0.5.
    """
    sizes = (1,) * len(marginals)
    names = _checked_shapes(marginals, sizes)
    return _mixed("independent", names, sizes, size, seed, features, noise, mixing, sample)


def _mixed(name, shapes, sizes, size, seed, features, noise, mixing, sample) -> Dataset:
    for what, value, low in (("size", size, 2), ("features", features, 1), ("seed", seed, 0), ("sample", sample, 0)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < low:
            raise ValueError(f"{name}: {what} must be a whole number of at least {low}, got {value!r}")
    if not (np.isfinite(noise) and noise >= 0):
        raise ValueError(f"{name}: noise must be 0 or more, got {noise!r}")
    if size <= max(sizes):
        raise ValueError(f"{name}: size must exceed the largest group ({max(sizes)}) for whitening, got {size}")
    # Separate streams, so that changing the number of rows leaves the mixing as it is.
    world = np.random.default_rng([int(seed), 0])
    rows = np.random.default_rng([int(seed), 1, int(sample)])
    whiten = name == "groups"
    parts = [shape_named(shape, h).draw(int(size), h, rows) for shape, h in zip(shapes, sizes)]
    z = np.concatenate([whitened(part) if whiten else part for part in parts], 1)
    x = mix(z, int(features), mixing, world) + noise * rows.standard_normal((int(size), int(features)))
    ends = np.cumsum(sizes)
    options = {"size": int(size), "seed": int(seed), "features": int(features), "noise": float(noise)}
    options |= {"mixing": mixing, "sample": int(sample)}
    options |= {"groups": list(sizes), "shapes": list(shapes)} if whiten else {"marginals": list(shapes)}
    return Dataset(
        name=name,
        x=x.astype(np.float32),
        truth=z,
        truth_groups=tuple(tuple(range(end - h, end)) for h, end in zip(sizes, ends)),
        description={"name": name, "options": options},
    )


def whitened(z: np.ndarray) -> np.ndarray:
    """z centred and multiplied by C^(-1/2): the sample covariance becomes the identity."""
    centred = z - z.mean(0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(z))
    return centred @ (vectors / np.sqrt(values)) @ vectors.T


def mix(z: np.ndarray, features: int, mixing: str, rng: np.random.Generator) -> np.ndarray:
    """Observations without noise: A z with entries of A from N(0, 1)."""
    if mixing != "linear":
        raise ValueError(f"mixing must be 'linear', got {mixing!r}")
    return z @ rng.standard_normal((features, z.shape[1])).T


def _checked_sizes(groups) -> tuple[int, ...]:
    whole = isinstance(groups, Sequence | np.ndarray) and not isinstance(groups, str) and len(groups) > 0
    if not whole or not all(isinstance(h, Integral) and not isinstance(h, bool) and int(h) >= 1 for h in groups):
        raise ValueError(f"groups must be sizes of at least 1 such as (3, 2, 1), got {groups!r}")
    return tuple(int(h) for h in groups)


def _checked_shapes(shapes, sizes: tuple[int, ...]) -> tuple[str, ...]:
    names = (shapes,) * len(sizes) if isinstance(shapes, str) else tuple(shapes)
    if len(names) != len(sizes) or not names:
        raise ValueError(f"{len(sizes)} groups need {len(sizes)} shapes, got {names}")
    for shape, h in zip(names, sizes):
        shape_named(shape, h)
    return names


def _default_shapes(sizes: tuple[int, ...]) -> tuple[str, ...]:
    """Shapes that fit, in turn; single latents take the marginals of `independent`."""
    names = []
    for g, h in enumerate(sizes):
        fitting = MARGINALS if h == 1 else [shape for shape in PAIRS if h <= SHAPES[shape].dimensions[1]]
        names.append(fitting[g % len(fitting)])
    return tuple(names)
