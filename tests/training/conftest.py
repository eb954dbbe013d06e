import numpy as np
import pytest


@pytest.fixture
def x():
    """A small data set with structure to learn: 60 points on a noisy plane in 8 dimensions."""
    rng = np.random.default_rng(0)
    return (rng.uniform(-1, 1, (60, 2)) @ rng.normal(size=(2, 8)) + 0.1 * rng.normal(size=(60, 8))).astype(np.float32)
