"""3D Shapes: one object in a room, six factors (Burgess, Kim 2018)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from partita.data._card import Card, RemoteFile
from partita.data._fetch import obtain
from partita.data._hdf5 import h5_rows, read_h5
from partita.data._reading import reading
from partita.data.dataset import Dataset
from partita.data.factors import coarser
from partita.data.rows import settled

FILE = RemoteFile(
    "3dshapes.h5",
    ("https://storage.googleapis.com/3d-shapes/3dshapes.h5",),
    "sha256:0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
    267573662,
)
CARD = Card(
    summary="480,000 colour images 64 x 64 of an object in a room: hues, scale, shape, orientation",
    size=480_000,
    shape=(3, 64, 64),
    factor_names=("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation"),
    factor_sizes=(10, 10, 10, 8, 4, 15),
    licence="Apache-2.0",
    citation="Burgess, Kim: 3D Shapes Dataset, 2018",
    folder="shapes3d",
    files=(FILE,),
    obtain="",
)


def shapes3d(*, every: Sequence[int] = (1, 1, 1, 1, 1, 1), stream: bool | None = None) -> Dataset:
    """All 480,000 images (5.9 GB), or every n-th class of each factor.

    `stream=True` leaves them on disk; by default that happens when they would take more than 40 % of the memory.
    """
    grid, rows = coarser(CARD.factor_names, CARD.factor_sizes, every)
    path = obtain(CARD, FILE)
    _check_order(path)
    images = h5_rows(path, "images", rows if len(rows) < CARD.size else None)
    if images.dtype != np.uint8 or images.shape[1:] != CARD.shape or len(images) != len(rows):
        raise ValueError(f"{path}: expected uint8 images ({CARD.size}, 64, 64, 3), found {images.dtype} {images.shape}")
    return Dataset(
        name="shapes3d",
        x=settled(images, stream),
        x_scale=1 / 255,
        factors=grid.all_classes(),
        factor_names=grid.names,
        factor_sizes=grid.sizes,
        description={"name": "shapes3d", "options": {"every": [int(step) for step in every]}},
    )


def _check_order(path: Path) -> None:
    """The labels in the file must be those of the grid, the last factor fastest."""
    labels = read_h5(path, "labels")
    with reading(path):
        if labels.shape != (CARD.size, len(CARD.factor_sizes)):
            raise ValueError(f"expected labels ({CARD.size}, 6), found {labels.shape}")
        table = labels.reshape(*CARD.factor_sizes, len(CARD.factor_sizes))
        for k, name in enumerate(CARD.factor_names):
            values = np.moveaxis(table[..., k], k, 0).reshape(CARD.factor_sizes[k], -1)
            if not ((values == values[:, :1]).all() and (np.diff(values[:, 0]) > 0).all()):
                raise ValueError(f"the labels of {name} are not in the official order, orientation fastest")
