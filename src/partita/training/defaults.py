"""What to do with an array when its owner said nothing."""

from collections.abc import Sequence

import numpy as np

from partita.networks.bodies import IMAGES_ONLY, burgess

ROWS_LOOKED_AT = 2000


def choose_network(shape: Sequence[int]) -> tuple[str, str]:
    """The network for observations of this shape, and why."""
    try:
        burgess(tuple(shape), 1, 1)
    except ValueError:
        return "mlp", "vectors, or images of an unusual size, get fully connected layers"
    return IMAGES_ONLY[0], "images of 32 or 64 pixels get the convolutions of Burgess et al. 2018"


def choose_likelihood(x: np.ndarray, x_scale: float = 1.0) -> tuple[str, str]:
    """The likelihood for these observations, and why: Bernoulli for images between 0 and 1, else Gaussian."""
    rows = np.asarray(x[:ROWS_LOOKED_AT], np.float64) * x_scale
    if x.ndim == 4 and rows.min() >= 0 and rows.max() <= 1:
        return "bernoulli", "images with values between 0 and 1 count as pixel probabilities"
    return "gaussian", "real numbers get a Gaussian with one learned variance"
