"""Models that can be read back from their pictures, and small fitted ones."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

import partita as pt
from partita.plot._opened import Opened
from partita.studies import Store, plan, train


@dataclass(frozen=True)
class Painter:
    """A model that can be read back: pixel k, or feature k, is latent k."""

    shape: tuple[int, ...]

    def decode(self, z, beside=None):
        return np.asarray(z, np.float64).reshape(len(z), *self.shape)

    def posterior(self, x, beside=None):
        means = np.asarray(x, np.float64).reshape(len(x), -1)
        return means, np.full_like(means, -2.0)

    def loadings(self, z):
        return np.eye(int(np.prod(self.shape)))


@pytest.fixture
def painter():
    """Of rows x, the last axes of which are an observation's, and groups."""

    def make(x, groups, **known) -> Opened:
        return Opened(Painter(x.shape[1:]), x, groups, **known)

    return make


@pytest.fixture(scope="session")
def vectors():
    return pt.data.load("groups", size=200, groups=(2, 1), features=5)


@pytest.fixture(scope="session")
def model(vectors):
    """Linear, of vectors."""
    options = {"groups": (2, 1), "network": "linear", "steps": 30, "options": {"restarts": 1}, "device": "cpu"}
    return pt.Disentangler("pdisvae", **options).fit(vectors.x)


@pytest.fixture(scope="session")
def images():
    return np.random.default_rng(0).integers(0, 255, (60, 1, 4, 5)).astype(np.uint8)


@pytest.fixture(scope="session")
def image_model(images):
    """Not linear, of bytes."""
    options = {"latents": 3, "network": "mlp", "steps": 20, "device": "cpu"}
    return pt.Disentangler("vae", **options).fit(images)


@pytest.fixture(scope="session")
def study(vectors, tmp_path_factory):
    """A store and its one run."""
    store = Store(tmp_path_factory.mktemp("study"))
    runs = plan(["vae"], vectors, latents=3, network="linear", steps=20)
    train(runs, vectors, store, device=torch.device("cpu"))
    return store, runs[0]


@pytest.fixture
def labelled():
    """A figure, after checking that all its axes say what they show."""

    def check(figure):
        figure.draw_without_rendering()
        for axes in figure.axes:
            if axes.axison:
                assert axes.get_ylabel() or axes.images
                assert axes.get_xlabel() or axes.get_label() == "<colorbar>"
        assert any(axes.get_xlabel() for axes in figure.axes)
        return figure

    return check
