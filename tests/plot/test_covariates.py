"""Pictures of an estimator that was fitted with covariates: they are given to it, row by row."""

import numpy as np
import pytest

import partita as pt
from partita import plot
from partita.plot._opened import opened


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    donor = rng.choice(["a", "b"], 150)
    shift = np.where(donor == "a", 4.0, -4.0)[:, None]
    return rng.normal(size=(150, 2)) @ rng.normal(size=(2, 6)) + shift + 0.1 * rng.normal(size=(150, 6)), donor


@pytest.fixture(scope="module")
def told(rows):
    x, donor = rows
    settings = {"groups": (1, 1), "network": "linear", "steps": 40, "device": "cpu"}
    return pt.Disentangler(**settings).fit(x, covariates={"donor": donor})


@pytest.mark.parametrize("name", ["traversals", "planes", "groups", "loadings", "reconstructions", "dependence"])
def test_every_picture_takes_them(told, rows, name):
    x, donor = rows
    more = {"groups": [(0, 1)]} if name == "planes" else {}
    figure = getattr(plot, name)(told, x, covariates={"donor": donor}, **more)
    assert figure.axes
    with pytest.raises(ValueError, match="the model was trained with covariates donor: give covariates="):
        getattr(plot, name)(told, x, **more)


def test_diagnosis_and_maps_take_them(told, rows):
    x, donor = rows
    assert plot.diagnosis(told, x, covariates={"donor": donor}).axes
    places = np.argwhere(np.ones((10, 15), bool))
    assert plot.maps(told, x, places=places, covariates={"donor": donor}).axes


def test_rows_are_decoded_with_their_own(told, rows):
    """Not with average ones, by which donors would not be told apart."""
    x, donor = rows
    seen = opened(told, x, covariates={"donor": donor})
    some = np.array([3, 50, 7])
    given = {"donor": donor[some]}
    expected = told.inverse_transform(told.transform(x[some], given), given)
    np.testing.assert_allclose(seen.reconstructed(some), expected)
    assert np.square(expected - x[some]).mean() < 1 < np.square(told.inverse_transform(seen.means[:1]) - x[:1]).mean()
    _, error = seen.seen_and_error(np.arange(150))
    assert error < 1


def test_they_are_for_estimators_that_know_them(told, rows, study, vectors):
    x, donor = rows
    with pytest.raises(ValueError, match="covariates are for a fitted Disentangler"):
        plot.groups(study, vectors, covariates={"donor": donor})
    with pytest.raises(ValueError, match="150"):
        plot.groups(told, x, covariates={"donor": donor[:20]})
