"""pdSprites: a white square whose place is confined to a bow-tie and whose size is free (PDisVAE paper, Sec. 4.2).

The paper gives 805 = 5 x 161 images of 32 x 32 with places that leave an upper and a lower triangle empty. A 17 x 17
grid restricted to |column| >= |row| has exactly 161 points and that outline; the square's sides are our choice.
"""

import numpy as np

from partita.data._card import Card
from partita.data.dataset import Dataset

CARD = Card(
    summary="805 images 32 x 32 of a square: place in a bow-tie, size free",
    size=805,
    shape=(1, 32, 32),
    factor_names=("column", "row", "size"),
    factor_sizes=(17, 17, 5),
    order="column, row, size, the last fastest, without the places above and below the bow-tie",
    citation="after the partially disentangled VAE (PDisVAE) paper, Sec. 4.2; places and sizes are ours",
)
SIDES = (4, 6, 8, 10, 12)
REACH = 8  # places run from -8 to 8 pixels around the middle


def pdsprites() -> Dataset:
    """805 images (1, 32, 32) of 0 and 1; factors column (17), row (17), size (5); truth (column, row), (size)."""
    offsets = np.arange(-REACH, REACH + 1)
    column, row, size = (axis.ravel() for axis in np.meshgrid(offsets, offsets, np.arange(len(SIDES)), indexing="ij"))
    allowed = np.abs(column) >= np.abs(row)
    column, row, size = column[allowed], row[allowed], size[allowed]
    half = np.array(SIDES)[size] // 2
    pixels = np.arange(32)
    across = _between(pixels, 16 + column - half, 16 + column + half)
    down = _between(pixels, 16 + row - half, 16 + row + half)
    images = (down[:, :, None] & across[:, None, :]).astype(np.uint8)
    return Dataset(
        name="pdsprites",
        x=images[:, None],
        factors=np.stack([column + REACH, row + REACH, size], 1),
        factor_names=("column", "row", "size"),
        factor_sizes=(2 * REACH + 1, 2 * REACH + 1, len(SIDES)),
        truth=np.stack([column / REACH, row / REACH, size / 2 - 1], 1),
        truth_groups=((0, 1), (2,)),
        description={"name": "pdsprites", "options": {}},
    )


def _between(pixels: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return (pixels >= low[:, None]) & (pixels < high[:, None])
