"""Arrays as models see them, and what their units do to training."""

from typing import Any

import numpy as np

from partita.data._units import Units
from partita.distributions import Likelihood, as_likelihood

CHANNELS = (1, 2, 3, 4)  # before the pixels; after them, 2 is more likely a width
FEWEST_PIXELS = 8  # of a side: smaller maps of many channels are what networks make, not what cameras do
BRIGHT = 127  # what flat images reach, in bytes, and counts that fit into bytes seldom do
# Sizes of values, and ratios of features, with which networks as they begin can work.
EXPECTED, UNEVEN = (0.1, 10.0), 100.0


def observations(X: np.ndarray) -> tuple[np.ndarray, float]:
    """Vectors and images as they are, and 1; pixels in bytes too, and their scale to [0, 1]."""
    if X.ndim not in (2, 4):
        grey = ": give X[:, None] for images of one channel, X.reshape(len(X), -1) for rows" if X.ndim == 3 else ""
        raise ValueError(f"X must be (n, features) or (n, channels, height, width), got shape {X.shape}{grey}")
    if X.ndim == 4 and _channels_last(X.shape):
        raise ValueError(
            f"X of shape {X.shape} looks like images with their channels last, and (n, channels, height, width) is "
            "expected: give X.transpose(0, 3, 1, 2)"
        )
    if X.dtype == bool:
        return X.astype(np.uint8), 1.0
    # rows of small numbers that happen to be bytes are counts, of spikes say
    pixels = X.dtype == np.uint8 and X.max() > (1 if X.ndim == 4 else BRIGHT)
    return X, 1 / 255 if pixels else 1.0


def in_float32(x: np.ndarray) -> np.ndarray:
    """Bytes as they are; other numbers as float32, ValueError where they are too large for that."""
    if x.dtype == np.uint8:
        return x
    with np.errstate(over="ignore"):
        single = x.astype(np.float32)
    if np.isinf(single).any():
        raise ValueError("X holds values too large for float32: rescale the features, or use scale='standard'")
    return single


def why_diverged(x: Any, x_scale: float, likelihood: str | Likelihood = "gaussian", scale: str = "none") -> str:
    """What the data say about a loss that was no longer finite, and what to do: units first, where they may be
    chosen."""
    units, family = Units.of(x, x_scale), as_likelihood(likelihood)
    if family.counts:
        cure = "use scale='auto', by which rates are relative to their means, or " if scale == "none" else ""
        also = ", or likelihood='negative_binomial'" if family.name == "poisson" else ""
        return f"counts go up to {units.largest:.3g}: {cure}lower the learning rate{also}"
    if family.suits is not None or scale != "none":
        which = f"{family.takes} have no units" if scale == "none" else f"features are scaled already (scale={scale!r})"
        return f"{which}: lower the learning rate, or use a smaller network"
    low, high, size = units.low, units.high, units.size
    seen = f"features have standard deviations from {low:.3g} to {high:.3g} and values up to {units.largest:.3g}"
    if high > UNEVEN * low:
        return f"{seen}, where about 1 is expected: standardise each of them (scale='standard')"
    if not EXPECTED[0] <= size <= EXPECTED[1]:
        return f"{seen}, where about 1 is expected: standardise them, or divide all by {size:.2g} (scale='one')"
    return f"{seen}, as expected: lower the learning rate, or give the likelihood a larger variance"


def _channels_last(shape: tuple[int, ...]) -> bool:
    _, first, second, last = shape
    return last in CHANNELS and last != 2 and first not in CHANNELS and min(first, second) >= FEWEST_PIXELS
