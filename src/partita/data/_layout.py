"""Where the channels of images are: before the pixels, (n, channels, height, width), as everything here expects."""

from collections.abc import Sequence

import numpy as np

CHANNELS = (1, 2, 3, 4)
LAYOUTS = {"nchw": 1, "nhwc": 3}  # n, channels, height, width -> which axis holds the channels
EITHER = "layout='nchw' (n, channels, height, width) or layout='nhwc' (n, height, width, channels)"


def channel_axis(shape: Sequence[int]) -> int | None:
    """Which axis of images of this shape holds the channels, 1 or 3; None where the shape does not tell.

    Channels are few (1 to 4) and pixels are not. Where that holds of both axes or of neither, square images tell.
    """
    _, first, middle, last = shape
    before, after = first in CHANNELS, last in CHANNELS
    if before == after:
        before, after = middle == last != first, first == middle != last
    return 1 if before and not after else 3 if after and not before else None


def arranged_shape(shape: Sequence[int], name: str, layout: str | None = None) -> tuple[int, ...]:
    """The shape (n, features) or (n, channels, height, width) that an array of this shape gets; ValueError if none."""
    n, *rest = shape if len(shape) else (0,)
    if len(shape) == 2:
        return n, *rest
    if len(shape) == 3:
        return n, 1, *rest
    if len(shape) == 4:
        return (n, *rest) if checked_axis(shape, name, layout) == 1 else (n, rest[2], rest[0], rest[1])
    raise ValueError(
        f"{name}: expected (n, features), (n, height, width) or (n, channels, height, width), got shape {tuple(shape)}"
    )


def arranged(x: np.ndarray, name: str, layout: str | None = None) -> np.ndarray:
    """`x` as (n, features) or (n, channels, height, width), without a copy where it need not be one."""
    arranged_shape(x.shape, name, layout)
    if x.ndim == 3:
        return x[:, None]
    return np.moveaxis(x, 3, 1) if x.ndim == 4 and checked_axis(x.shape, name, layout) == 3 else x


def checked_axis(shape: Sequence[int], name: str, layout: str | None) -> int:
    """Which axis of images (four dimensions) holds the channels: as `layout` says, else as the shape tells."""
    if layout is not None and layout not in LAYOUTS:
        raise ValueError(f"{name}: layout must be nchw or nhwc, got {layout!r}")
    axis = channel_axis(shape) if layout is None else LAYOUTS[layout]
    if axis is None:
        raise ValueError(f"{name}: shape {tuple(shape)} does not tell where the channels are; say {EITHER}")
    return axis
