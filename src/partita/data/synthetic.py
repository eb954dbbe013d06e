"""Latents in independent groups, tangled inside each group, mixed into observations with noise.

    z = (z_1, ..., z_G), z_g independent;  x = mix(z) + noise * e,  e ~ N(0, I).

`groups` and `independent` are the two data sets of the PDisVAE paper (Sec. 4.1 and A.4.2); the paper shows its shapes
only in a figure, so the shapes here are ours.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from partita.data._card import Card
from partita.data._memory import check_fits
from partita.data._mixing import mixing_named
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
    condition: float = 10.0,
    layers: int = 2,
    sample: int = 0,
) -> Dataset:
    """Independent groups of latents of the given sizes, each with a shape that no linear map unties.

    Defaults: 2000 rows, three pairs (ring, moons, bow-tie), whitened, A (20 x 6) with N(0, 1) entries, noise 0.5.
    `mixing="nonlinear"` bends the map in `layers` steps, invertibly, with a Jacobian of at most the given `condition`.
    `sample` draws other rows from the same world (same mixing): 0 to train, 1 to test.
    """
    sizes = _checked_sizes(groups)
    names = _default_shapes(sizes) if shapes is None else _checked_shapes(shapes, sizes)
    options = {"groups": list(sizes), "shapes": list(names), "size": size, "seed": seed, "features": features}
    options |= {"noise": noise, "sample": sample} | _mixing_options(mixing, condition, layers)
    return _mixed("groups", names, sizes, options)


def independent(
    *,
    size: int = 2000,
    seed: int = 0,
    marginals: Sequence[str] = MARGINALS,
    features: int = 20,
    noise: float = 0.5,
    mixing: str = "linear",
    condition: float = 10.0,
    layers: int = 2,
    sample: int = 0,
) -> Dataset:
    """Independent latents of unit variance with the given marginals, mixed as in `groups`.

    Defaults: uniform, two Gaussian peaks, centred exponential; 20 features, noise 0.5.
    """
    sizes = (1,) * len(marginals)
    names = _checked_shapes(marginals, sizes)
    options = {"marginals": list(names), "size": size, "seed": seed, "features": features}
    options |= {"noise": noise, "sample": sample} | _mixing_options(mixing, condition, layers)
    return _mixed("independent", names, sizes, options)


def _mixed(name: str, shapes: tuple[str, ...], sizes: tuple[int, ...], options: dict[str, Any]) -> Dataset:
    _check_options(name, sizes, options)
    size, features = options["size"], options["features"]
    # Separate streams, so that changing the number of rows leaves the mixing as it is.
    world = np.random.default_rng([options["seed"], 0])
    rows = np.random.default_rng([options["seed"], 1, options["sample"]])
    parts = [shape_named(shape, h).draw(size, h, rows) for shape, h in zip(shapes, sizes)]
    z = np.concatenate([whitened(part) for part in parts] if name == "groups" else parts, 1)
    bend = {key: options[key] for key in ("condition", "layers") if key in options}
    mixing = mixing_named(options["mixing"], z.shape[1], features, world, **bend)
    x = mixing.mix(z) + options["noise"] * rows.standard_normal((size, features))
    return Dataset(
        name=name,
        x=x.astype(np.float32),
        truth=z,
        truth_groups=tuple(tuple(range(end - h, end)) for h, end in zip(sizes, accumulate(sizes))),
        description={"name": name, "options": options},
    )


def _mixing_options(mixing: str, condition: float, layers: int) -> dict[str, Any]:
    return {"mixing": mixing} | ({} if mixing == "linear" else {"condition": condition, "layers": layers})


def _check_options(name: str, sizes: tuple[int, ...], options: dict[str, Any]) -> None:
    for what, low in (("size", 2), ("features", 1), ("seed", 0), ("sample", 0), ("layers", 1)):
        if what in options:
            options[what] = int(options[what])
            if options[what] < low:
                raise ValueError(f"{name}: {what} must be at least {low}, got {options[what]}")
    options["noise"] = float(options["noise"])
    if not options["noise"] >= 0:
        raise ValueError(f"{name}: noise must be 0 or more, got {options['noise']}")
    if options["size"] <= max(sizes):
        raise ValueError(f"{name}: size must exceed the largest group ({max(sizes)}) for whitening")
    check_fits(
        16 * options["size"] * (options["features"] + sum(sizes)), f"{name} of this size", "choose a smaller size"
    )


def whitened(z: np.ndarray) -> np.ndarray:
    """z centred and multiplied by C^(-1/2): the sample covariance becomes the identity."""
    centred = z - z.mean(0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(z))
    return centred @ (vectors / np.sqrt(values)) @ vectors.T


def _checked_sizes(groups) -> tuple[int, ...]:
    if len(groups) == 0 or min(groups) < 1:
        raise ValueError(f"groups must be sizes of at least 1 such as (3, 2, 1), got {groups!r}")
    return tuple(int(h) for h in groups)


def _checked_shapes(shapes, sizes: tuple[int, ...]) -> tuple[str, ...]:
    names = tuple(str(shape) for shape in shapes)
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
