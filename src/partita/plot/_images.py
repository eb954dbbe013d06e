"""Grids of images with labelled axes."""

from collections.abc import Collection, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partita.plot._panels import figure_of
from partita.plot._style import Drawing

TILE = 0.42  # inches: nine abreast, with their labels, are as wide as a phone


def as_rgb(images: np.ndarray, low: float, high: float) -> np.ndarray:
    """(..., channels, height, width) to (..., height, width, 3) bytes: `low` is black, `high` white.

    One channel is grey, three are red, green and blue; of any other number the mean is shown in grey.
    """
    images = np.asarray(images, np.float32)
    if images.shape[-3] != 3:
        images = np.repeat(images.mean(-3, keepdims=True), 3, -3)
    unit = np.clip((images - low) / max(high - low, 1e-12), 0, 1)
    return np.rint(255 * np.moveaxis(unit, -3, -1)).astype(np.uint8)


def mosaic(tiles: np.ndarray, breaks: Collection[int] = ()) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`tiles` (rows, columns, height, width, 3) side by side as one picture, and where rows begin and columns begin."""
    rows, columns, height, width = tiles.shape[:4]
    gap, extra = max(1, height // 16), max(2, height // 4)
    tops = np.cumsum([0] + [height + gap + extra * (r + 1 in breaks) for r in range(rows)])[:-1]
    lefts = np.arange(columns) * (width + gap)
    canvas = np.full((tops[-1] + height, lefts[-1] + width, 3), 255, np.uint8)
    for r, top in enumerate(tops):
        for c, left in enumerate(lefts):
            canvas[top : top + height, left : left + width] = tiles[r, c]
    return canvas, tops, lefts


def image_grid(
    tiles: np.ndarray,
    row_names: Sequence[str],
    column_names: Sequence[str],
    *,
    xlabel: str,
    ylabel: str,
    breaks: Collection[int] = (),
    ax: Axes | None = None,
) -> Figure:
    """`tiles` (rows, columns, height, width, 3) bytes side by side; a wider gap above each row in `breaks`."""
    canvas, tops, lefts = mosaic(tiles, breaks)
    height, width = tiles.shape[2:4]
    if ax is None:
        inches = TILE / width
        label_width = 0.45 + 0.075 * max(len(name) for name in row_names)
        size = (canvas.shape[1] * inches + label_width, canvas.shape[0] * inches + 0.55)
        ax = Drawing(figsize=size).add_subplot()
    ax.imshow(canvas, interpolation="nearest", aspect="equal")
    ax.set_xticks(lefts + width / 2 - 0.5, column_names)
    ax.set_yticks(tops + height / 2 - 0.5, row_names)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    return figure_of(ax)
