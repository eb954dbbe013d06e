"""Reconstructions: rows of the data beside what the model makes of them."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import partita as pt
from partita import plot


def test_vectors_and_what_the_model_decodes(model, vectors, labelled):
    figure = labelled(plot.reconstructions(model, vectors.x, rows=[3, 50]))
    decoded = model.inverse_transform(model.transform(vectors.x))
    for row, axes in zip((3, 50), figure.axes):
        original, found = axes.lines
        np.testing.assert_allclose(original.get_ydata(), vectors.x[row])
        np.testing.assert_allclose(found.get_ydata(), decoded[row], atol=1e-5)
        assert axes.get_title(loc="left") == f"row {row}"


def test_images_above_their_decoded_ones(image_model, images, labelled):
    figure = labelled(plot.reconstructions(image_model, images, rows=[0, 7]))
    axes = figure.axes[0]
    canvas = np.asarray(axes.images[0].get_array())[..., 0]
    np.testing.assert_array_equal(canvas[:4, :5], np.rint(255 * (images[0, 0] / images.max())))
    decoded = image_model.inverse_transform(image_model.transform(images))[7, 0]
    np.testing.assert_allclose(canvas[-4:, -5:], np.clip(decoded / images.max() * 255, 0, 255), atol=1)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "7"]


def test_a_movies_rows_are_pixels_over_frames():
    movie = np.random.default_rng(0).normal(size=(12, 3, 4))
    data = pt.data.from_array(movie, samples="pixels")
    model = pt.Disentangler("pca", latents=1).fit(data.x)
    (axes,) = plot.reconstructions(model, data, rows=[5]).axes
    assert (axes.get_title(loc="left"), axes.get_xlabel()) == ("pixel 1, 1", "frame")
    np.testing.assert_allclose(axes.lines[0].get_ydata(), movie[:, 1, 1], atol=1e-6)


def test_axes_of_ones_own(model, vectors):
    figure = Figure()
    axes = figure.add_subplot()
    assert plot.reconstructions(model, vectors.x, rows=[1], ax=axes) is figure
    with pytest.raises(ValueError, match="room for one row, and there are 6"):
        plot.reconstructions(model, vectors.x, ax=axes)
