"""dSprites (Matthey, Higgins, Hassabis, Lerchner 2017), rendered here: no download.

737,280 images of 64 x 64: shape 3 (square, ellipse, heart), scale 6, orientation 40, posX 32, posY 32, posY fastest.
The geometry was worked out from real images: of 64,834 real ones 64,828 are equal bit for bit and 6 differ in one
pixel (vertices that sit on a rounding tie of the original graphics card), so expect about 60 of all to do so.
Orientations 0 and 39 are the same angle, so the images there repeat, as in the original.
"""

from collections.abc import Sequence
from numbers import Integral

import numpy as np

from partita.data.dataset import Dataset
from partita.data.factors import FactorGrid
from partita.data.polygons import fill, unpack

NAMES = ("shape", "scale", "orientation", "posX", "posY")
SIZES = (3, 6, 40, 32, 32)


def dsprites(*, every: Sequence[int] = (1, 1, 1, 1, 1)) -> Dataset:
    """All of dSprites, 3 GB as uint8, or a coarser complete grid: every n-th class of each factor.

    `every=(1, 1, 4, 2, 2)` keeps every 4th orientation and every 2nd position: 46,080 images, 189 MB.
    """
    kept = [np.arange(0, size, step) for size, step in zip(SIZES, checked_every(every))]
    grid = FactorGrid(NAMES, tuple(len(classes) for classes in kept))
    images = np.empty((*grid.sizes, 64, 64), dtype=np.uint8)
    for place in np.ndindex(*grid.sizes[:3]):
        shape, scale, orientation = (int(kept[k][number]) for k, number in enumerate(place))
        images[place] = unpack(bit_images(shape, scale, orientation, kept[3], kept[4]))
    return Dataset(
        name="dsprites",
        x=images.reshape(grid.size, 1, 64, 64),
        factors=grid.all_classes(),
        factor_names=NAMES,
        factor_sizes=grid.sizes,
        description={"name": "dsprites", "options": {"every": [int(step) for step in every]}, "rendered": True},
    )


def bit_images(shape: int, scale: int, orientation: int, pos_x: np.ndarray, pos_y: np.ndarray) -> np.ndarray:
    """Bit rows (len(pos_x), len(pos_y), 64) for one shape, scale and orientation at every place."""
    # Single precision with fused multiply-adds, as the graphics card computed the vertices: in double precision
    # 9 of the 64,834 real images differ instead of 6. Products of singles are exact in double.
    single, double = np.float32, np.float64
    x, y = (axis.astype(single).astype(double) for axis in outline(shape))
    angle, size = 2 * np.pi * orientation / 39, 9.6 * (0.5 + 0.1 * scale)
    cosine, sine = (double(single(size * turn)) for turn in (np.cos(angle), np.sin(angle)))
    centre_x, centre_y = (single(16 + 32 * np.asarray(p)[:, None] / 31).astype(double) for p in (pos_x, pos_y))
    across = single(sine * y + single(cosine * x + centre_x))
    down = single(cosine * y + single(-sine * x + centre_y))
    return fill(*(np.rint(256 * axis.astype(double)).astype(np.int64) for axis in (across, down)))


def outline(shape: int) -> tuple[np.ndarray, np.ndarray]:
    """The polygon drawn for a shape, around the origin, at unit size."""
    if shape == 0:
        return np.array([-1.0, 1, 1, -1]), np.array([-1.0, -1, 1, 1])
    if shape == 1:
        t = 2 * np.pi * np.arange(100) / 100
        return 1.33 * np.cos(t), np.sin(t) / 1.33
    t = 2 * np.pi * np.arange(150) / 150
    height = (13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)) / 14.5
    return np.sin(t) ** 3, -(height + 0.15)


def checked_every(every: Sequence[int]) -> tuple[int, ...]:
    valid = isinstance(every, Sequence | np.ndarray) and not isinstance(every, str) and len(every) == len(SIZES)
    if not valid or not all(isinstance(step, Integral) and int(step) >= 1 for step in every):
        raise ValueError(f"every must be {len(SIZES)} steps of at least 1, one for each of {NAMES}, got {every!r}")
    return tuple(int(step) for step in every)
