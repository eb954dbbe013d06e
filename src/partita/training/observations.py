"""Arrays as models see them, and what their units do to training."""

from typing import Any

import numpy as np

from partita.data._units import Units

CHANNELS = (1, 2, 3, 4)  # before the pixels; after them, 2 is more likely a width
FEWEST_PIXELS = 8  # of a side: smaller maps of many channels are what networks make, not what cameras do
# Sizes of values, and ratios of features, with which networks as they begin can work.
EXPECTED, UNEVEN = (0.1, 10.0), 100.0


def observations(X: np.ndarray) -> tuple[np.ndarray, float]:
    """Vectors and images as float32, and 1; bytes as they are, and their scale to [0, 1]."""
    if X.ndim not in (2, 4):
        raise ValueError(f"X must be (n, features) or (n, channels, height, width), got shape {X.shape}")
    if X.ndim == 4 and _channels_last(X.shape):
        raise ValueError(
            f"X of shape {X.shape} looks like images with their channels last, and (n, channels, height, width) is "
            "expected: give X.transpose(0, 3, 1, 2)"
        )
    if X.dtype == np.uint8:
        return X, 1 / 255 if X.max() > 1 else 1.0
    with np.errstate(over="ignore"):
        x = X.astype(np.float32)
    if not np.isfinite(x).all():
        raise ValueError("X holds values too large for float32: rescale the features")
    return x, 1.0


def units_in_words(x: np.ndarray, x_scale: float) -> str:
    units = Units.of(x, x_scale)
    used = "data used as they are" if x_scale == 1.0 else "bytes are divided by 255"
    return f"{used}; standard deviations {units.low:.3g} to {units.high:.3g} a feature"


def why_diverged(x: Any, x_scale: float) -> str:
    """What the data say about a loss that was no longer finite, and what to do: units first."""
    units = Units.of(x, x_scale)
    low, high, size = units.low, units.high, units.size
    seen = f"features have standard deviations from {low:.3g} to {high:.3g} and values up to {units.largest:.3g}"
    if high > UNEVEN * low:
        return f"{seen}, where about 1 is expected: standardise each of them"
    if not EXPECTED[0] <= size <= EXPECTED[1]:
        return f"{seen}, where about 1 is expected: standardise them, or divide all by {size:.2g}"
    return f"{seen}, as expected: lower the learning rate, or give the likelihood a larger variance"


def _channels_last(shape: tuple[int, ...]) -> bool:
    _, first, second, last = shape
    return last in CHANNELS and last != 2 and first not in CHANNELS and min(first, second) >= FEWEST_PIXELS
