"""Pictures of a model of images: grids of decoded images with labelled axes."""

from collections.abc import Collection, Sequence

import numpy as np
from matplotlib.figure import Figure

from partita.reports._style import latents_named, readable, styled
from partita.training import Model

STEPS = np.linspace(-2, 2, 9)


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


@styled
def image_grid(
    tiles: np.ndarray,
    row_names: Sequence[str],
    column_names: Sequence[str],
    *,
    xlabel: str,
    ylabel: str,
    tile: float = 0.6,
    breaks: Collection[int] = (),
) -> Figure:
    """`tiles` (rows, columns, height, width, 3) bytes side by side; a wider gap above each row in `breaks`."""
    canvas, tops, lefts = mosaic(tiles, breaks)
    height, width = tiles.shape[2:4]
    inches = tile / width
    label_width = 0.45 + 0.075 * max(len(name) for name in row_names)
    figure = Figure(figsize=(canvas.shape[1] * inches + label_width, canvas.shape[0] * inches + 0.55))
    axes = figure.add_subplot()
    axes.imshow(canvas, interpolation="nearest", aspect="equal")
    axes.set_xticks(lefts + width / 2 - 0.5, column_names)
    axes.set_yticks(tops + height / 2 - 0.5, row_names)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    return figure


def image_reconstructions(originals: np.ndarray, decoded: np.ndarray, rows: Sequence[int], span) -> Figure:
    """Observations above their reconstructions; `rows` are their places in the data set."""
    tiles = np.stack([as_rgb(originals, *span), as_rgb(decoded, *span)])
    return image_grid(
        tiles,
        ["original", "decoded"],
        [str(row) for row in rows],
        xlabel="observation (row of the data set)",
        ylabel="image",
    )


def image_traversals(model: Model, groups, used: np.ndarray, base: np.ndarray, span) -> Figure:
    """A row a latent, moved from -2 to 2 with all others as in `base`; groups stand apart. `used` is each one's KL."""
    order = [k for group in groups for k in group]
    z = np.tile(base.astype(np.float32), (len(order), len(STEPS), 1))
    for row, k in enumerate(order):
        z[row, :, k] = STEPS
    decoded = model.decode(z.reshape(-1, len(order)))
    tiles = as_rgb(decoded, *span).reshape(len(order), len(STEPS), *decoded.shape[-2:], 3)
    ends = np.cumsum([len(group) for group in groups])[:-1]
    return image_grid(
        tiles, [f"z{k}  {readable(float(used[k]))}" for k in order], _values(STEPS),
        xlabel="value of the latent, in standard deviations of the prior", ylabel="latent and its KL, nats",
        breaks=set(ends.tolist()) if any(len(group) > 1 for group in groups) else (),
    )  # fmt: skip


def image_plane(model: Model, group: Sequence[int], base: np.ndarray, span) -> Figure:
    """Decoded images over the plane of a group of two, from -2 to 2 each way, all other latents as in `base`."""
    across, up = np.meshgrid(STEPS, STEPS[::-1])
    z = np.tile(base.astype(np.float32), (across.size, 1))
    z[:, group[0]], z[:, group[1]] = across.ravel(), up.ravel()
    decoded = model.decode(z)
    tiles = as_rgb(decoded, *span).reshape(len(STEPS), len(STEPS), *decoded.shape[-2:], 3)
    names = [latents_named([k]) for k in group]
    return image_grid(tiles, _values(STEPS[::-1]), _values(STEPS), xlabel=names[0], ylabel=names[1], tile=0.42)


def _values(steps: np.ndarray) -> list[str]:
    return [f"{value:g}".replace("-", "−") for value in steps]
