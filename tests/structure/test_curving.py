"""Rows on curved surfaces: seen as such, and given coordinates on them."""

import numpy as np
import pytest

from partita.data import load
from partita.structure import _curving
from partita.structure._curving import CURVED, curvature, surfaces_of
from partita.structure.unmixed import unmixed


def tuned(n, seed=0, features=18):
    """A ring in tuning curves: one angle, in as many features as there are preferred ones, and a loudness of its own in
    two more."""
    rng = np.random.default_rng(seed)
    angle, loud = rng.uniform(0, 2 * np.pi, n), rng.uniform(-1, 1, n)
    preferred = np.linspace(0, 2 * np.pi, features, endpoint=False)
    x = np.exp(3 * (np.cos(angle[:, None] - preferred) - 1)) * 3
    x = np.c_[x, np.outer(loud, [2.0, -2.0])] + 0.1 * rng.standard_normal((n, features + 2))
    return x, angle


@pytest.mark.parametrize(
    "mixing", [{}, {"mixing": "nonlinear", "condition": 3.0}, {"mixing": "nonlinear", "condition": 10.0}], ids=str
)
def test_flat_rows_are_not_curved_however_they_are_bent_inside_their_plane(mixing):
    assert curvature(load("groups", size=1000, **mixing).x.astype(float), 6) > 0.97


def test_tuning_curves_are_curved():
    x, _ = tuned(1000)
    assert curvature(x, 3) < 0.6 < CURVED
    assert curvature(x, x.shape[1]) == 1.0  # nothing lies off the plane
    assert curvature(np.repeat(np.eye(3)[:1], 100, 0) + np.arange(100)[:, None] * np.eye(3)[1], 1) == 1.0


def test_a_surface_has_coordinates_that_rows_can_be_told_from(monkeypatch):
    """Neighbours on the surface are neighbours of the angle; new rows too; and the same again from the same seed."""
    monkeypatch.setattr(_curving, "STEPS", 450)
    x, _ = tuned(600)
    fresh, angle = tuned(400, seed=1)
    surfaces = surfaces_of(x, 3, seed=2)
    assert len(surfaces) == _curving.MODELS
    codes = surfaces[0](fresh)
    assert codes.shape == (400, 3)
    distance = np.linalg.norm(codes[:, None] - codes[None], axis=-1) + 1e9 * np.eye(400)
    nearest = angle[distance.argmin(1)]
    assert np.median(np.abs(np.angle(np.exp(1j * (angle - nearest))))) < 0.15
    np.testing.assert_array_equal(codes, surfaces_of(x, 3, seed=2)[0](fresh))


def test_curved_rows_are_unmixed_on_a_surface_where_that_is_asked_for(monkeypatch):
    monkeypatch.setattr(_curving, "STEPS", 300)
    x, angle = tuned(500)
    assert unmixed(x, 3, (2, 1), bends=False).surface is None
    found = unmixed(x, 3, (2, 1), curves=True)
    assert found.surface is not None
    codes = found.codes(x)
    ring = codes[:, list(found.groups[0])]
    told = np.c_[ring, ring**2, ring.prod(1), ring**3, np.ones(len(x))]
    truth = np.c_[np.cos(angle), np.sin(angle)]
    rest = truth - told @ np.linalg.lstsq(told, truth, rcond=None)[0]
    assert rest.var() / truth.var() < 0.3
    assert np.abs(np.corrcoef(codes[:, found.groups[1][0]], x[:, -2])[0, 1]) > 0.9
