import numpy as np
import pytest
import torch

from partita.data import load
from partita.training import Ensemble


@pytest.fixture
def x():
    """A small data set with structure to learn: 60 points on a noisy plane in 8 dimensions."""
    rng = np.random.default_rng(0)
    return (rng.uniform(-1, 1, (60, 2)) @ rng.normal(size=(2, 8)) + 0.1 * rng.normal(size=(60, 8))).astype(np.float32)


@pytest.fixture(scope="package")
def data():
    return load("groups", size=300)


@pytest.fixture
def make(data):
    """Ensembles of given recipes and seeds on `data`."""

    def ensemble(recipes, seeds, program=None, candidate=None) -> Ensemble:
        settings = {} if program is None else {"hold_out": program.hold_out, "finish": candidate.finish}
        return Ensemble(recipes, seeds, data.x, batch_size=50, device=torch.device("cpu"), **settings)

    return ensemble
