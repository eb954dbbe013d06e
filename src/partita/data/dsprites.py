"""dSprites (Matthey, Higgins, Hassabis, Lerchner 2017), rendered here: no download.

737,280 images of 64 x 64: shape 3 (square, ellipse, heart), scale 6, orientation 40, posX 32, posY 32, posY fastest.
The geometry was worked out from real images: of 64,834 real ones 64,828 are equal bit for bit and 6 differ in one
pixel (vertices that sit on a rounding tie of the original graphics card), so expect about 60 of all to do so.
Orientations 0 and 39 are the same angle, so the images there repeat, as in the original.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from partita.data._card import Card
from partita.data._hdf5 import h5_rows, read_h5
from partita.data._memory import check_fits
from partita.data._npy import read_npz, read_npz_rows
from partita.data._polygons import fill, unpack
from partita.data._reading import existing_file, reading
from partita.data.dataset import Dataset
from partita.data.factors import FactorGrid, coarser

CARD = Card(
    summary="737,280 images 64 x 64: shape, scale, orientation, place; rendered here",
    size=737_280,
    shape=(1, 64, 64),
    factor_names=("shape", "scale", "orientation", "posX", "posY"),
    factor_sizes=(3, 6, 40, 32, 32),
    licence="Apache-2.0 (the original); the re-rendering is made here",
    citation="Matthey, Higgins, Hassabis, Lerchner: dSprites: Disentanglement testing Sprites dataset, 2017",
    obtain="rendered here; the official npz or hdf5 can be read instead with file=PATH",
)
NAMES, SIZES = CARD.factor_names, CARD.factor_sizes


def dsprites(*, every: Sequence[int] = (1, 1, 1, 1, 1), file: str | os.PathLike | None = None) -> Dataset:
    """All of dSprites, 3 GB as uint8, or a coarser complete grid: every n-th class of each factor.

    `every=(1, 1, 4, 2, 2)` keeps every 4th orientation and every 2nd position: 46,080 images, 189 MB. `file` is the
    official npz or hdf5, read instead of rendering.
    """
    grid, rows = coarser(NAMES, SIZES, every)
    options = {"every": [int(step) for step in every]}
    return Dataset(
        name="dsprites",
        x=rendered(rows, grid) if file is None else official(Path(file), rows),
        factors=grid.all_classes(),
        factor_names=NAMES,
        factor_sizes=grid.sizes,
        description={"name": "dsprites", "options": options | ({} if file is None else {"file": str(file)})},
    )


def rendered(rows: np.ndarray, grid: FactorGrid) -> np.ndarray:
    """The images (n, 1, 64, 64) of a coarser grid, which are these rows of the whole."""
    check_fits(grid.size * 64 * 64, f"dsprites, {grid.size:,} images,", "take a coarser grid, every=...")
    images = np.empty((*grid.sizes, 64, 64), dtype=np.uint8)
    classes = FactorGrid(NAMES, SIZES).to_classes(rows).reshape(*grid.sizes, len(SIZES))
    for place in np.ndindex(*grid.sizes[:3]):
        shape, scale, orientation = (int(value) for value in classes[place][0, 0, :3])
        images[place] = unpack(bit_images(shape, scale, orientation, classes[place][:, 0, 3], classes[place][0, :, 4]))
    return images.reshape(grid.size, 1, 64, 64)


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


def official(path: Path, rows: np.ndarray) -> np.ndarray:
    """Rows of the file its authors publish; its pickled metadata is never touched."""
    path = existing_file(path)
    with reading(path):
        packed = path.suffix.lower() == ".npz"
        classes = read_npz(path, ["latents_classes"])["latents_classes"] if packed else read_h5(path, "latents/classes")
        if classes.shape != (CARD.size, 6):
            raise ValueError(f"expected the 6 classes of {CARD.size} images, found {classes.shape}")
        if not np.array_equal(FactorGrid(NAMES, SIZES).to_index(classes[:, 1:]), np.arange(CARD.size)):
            raise ValueError("the images are not in the official order, posY fastest")
        images = read_npz_rows(path, "imgs", rows) if packed else np.asarray(h5_rows(path, "imgs", rows))
        if images.dtype != np.uint8 or images.size != len(rows) * 64 * 64 or images.max() > 1:
            raise ValueError(f"expected images 64 x 64 of 0 and 1, found {images.dtype} {images.shape[1:]}")
        return images.reshape(len(rows), 1, 64, 64)
