"""Loadings: exact where the decoder is linear, the averaged slope otherwise, and drawn as they are."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import partita as pt
from partita import plot
from partita.recipes import RECIPES


def test_exact_of_a_linear_decoder(model, vectors):
    origin = model.inverse_transform(np.zeros((1, 3)))
    columns = model.inverse_transform(np.eye(3)) - origin
    np.testing.assert_allclose(model.loadings(), columns.T, atol=1e-5)
    np.testing.assert_allclose(model.loadings(vectors.x), model.loadings(), atol=1e-9)


def test_averaged_over_codes_and_in_units_of_bytes(image_model, images):
    codes = image_model.transform(images).astype(float)
    found = image_model.loadings(images)
    assert found.shape == (20, 3)
    step = 1e-2  # of float32
    for k in range(3):
        aside = np.eye(3)[k] * step
        change = image_model.inverse_transform(codes + aside) - image_model.inverse_transform(codes - aside)
        np.testing.assert_allclose(found[:, k], change.mean(0).ravel() / (2 * step), atol=5e-3 * 255)


@pytest.mark.parametrize("method", ["infogan", "ivae", "isa_vae", "full_vae"])
def test_every_kind_of_prior_has_codes_to_average_over(method, vectors):
    assert method in RECIPES
    model = pt.Disentangler(method, latents=2, steps=2, network="mlp").fit(vectors.x, vectors.truth[:, :1])
    assert model.loadings().shape == (5, 2)
    assert np.isfinite(model.loadings()).all()


def test_drawn_in_the_order_of_the_groups(painter, labelled):
    x = np.random.default_rng(0).normal(size=(20, 4))
    figure = labelled(plot.loadings(painter(x, ((2, 0), (3, 1))), None))
    axes = figure.axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), np.eye(4)[:, [2, 0, 3, 1]])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["z2", "z0", "z3", "z1"]
    assert axes.lines[0].get_xdata()[0] == 1.5  # between the groups


def test_features_have_their_names(painter):
    seen = painter(np.zeros((5, 2)), ((0,), (1,)), feature_names=("height", "weight"))
    assert [label.get_text() for label in plot.loadings(seen, None).axes[0].get_yticklabels()] == ["height", "weight"]


def test_images_have_a_picture_a_latent(image_model, images, labelled):
    figure = labelled(plot.loadings(image_model, images))
    pictures = [axes.images[0].get_array() for axes in figure.axes if axes.images]
    codes = image_model.transform(images)
    expected = image_model._fitted().loadings(codes) * 255
    np.testing.assert_allclose(np.stack(pictures).reshape(3, 20), expected.T, atol=1e-4)


def test_axes_of_ones_own(model, vectors, image_model, images):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plot.loadings(model, vectors.x, ax=left) is figure
    assert plot.loadings(image_model, images, latents=[1], ax=right) is figure
    with pytest.raises(ValueError, match="room for one latent"):
        plot.loadings(image_model, images, ax=right)
