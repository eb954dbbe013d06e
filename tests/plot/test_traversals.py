"""Traversals: the rows of images and the curves of vectors are what the model decodes."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from partita import plot
from partita.plot.traversals import STEPS

BASE = np.array([0.5, -0.5, 1.0, -1.0])
ROWS = np.stack([BASE, 3 * BASE, [2.0, 2, 2, -2]])  # the first is nearest to 0; values span -3 to 3


def tiles_of(figure, size: int) -> np.ndarray:
    """The tiles of an image grid, read back from the picture by the ticks that name them, as values from -3 to 3."""
    axes = figure.axes[0]
    canvas = np.asarray(axes.images[0].get_array())
    middle = (size - 1) / 2
    tops, lefts = ([round(tick - middle) for tick in ticks] for ticks in (axes.get_yticks(), axes.get_xticks()))
    tiles = np.array([[canvas[top : top + size, left : left + size, 0] for left in lefts] for top in tops])
    return tiles.astype(float) / 255 * 6 - 3


def test_rows_of_images_follow_the_groups(painter, labelled):
    seen = painter(ROWS.reshape(-1, 1, 2, 2), ((2, 0), (3, 1)))
    figure = labelled(plot.traversals(seen, None))
    tiles = tiles_of(figure, 2).reshape(4, 9, 4)
    for row, k in enumerate((2, 0, 3, 1)):
        expected = np.tile(BASE, (9, 1))
        expected[:, k] = STEPS
        np.testing.assert_allclose(tiles[row], expected, atol=0.03)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == [f"z{k}  {seen.used[k]:.2f}" for k in (2, 0, 3, 1)]


def test_curves_are_what_the_model_decodes(model, vectors, labelled):
    figure = labelled(plot.traversals(model, vectors.x, latents=[1]))
    z = np.zeros((len(STEPS), 3))
    z[:, 1] = STEPS
    drawn = np.stack([line.get_ydata() for line in figure.axes[0].lines])
    np.testing.assert_allclose(drawn, model.inverse_transform(z), atol=1e-5)
    assert len(plot.traversals(model, vectors.x).axes) == 6


def test_a_run_of_a_study_and_its_data_set(study, vectors, labelled):
    store, run = study
    figure = labelled(plot.traversals((store, run), vectors, latents=[0]))
    z = np.zeros((len(STEPS), 3), np.float32)
    z[:, 0] = STEPS
    drawn = np.stack([line.get_ydata() for line in figure.axes[0].lines])
    np.testing.assert_allclose(drawn, store.model(run, vectors.x_scale).decode(z), atol=1e-6)


def test_axes_of_ones_own(model, vectors, image_model, images):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plot.traversals(model, vectors.x, latents=[0], ax=left) is figure
    assert plot.traversals(image_model, images, ax=right) is figure
    assert left.lines
    assert right.images
    with pytest.raises(ValueError, match="room for one latent, and there are 3"):
        plot.traversals(model, vectors.x, ax=left)


def test_bad_input_is_said_in_one_line(model, vectors):
    with pytest.raises(ValueError, match="latents"):
        plot.traversals(model, vectors.x, latents=[7])
    with pytest.raises(ValueError, match="X is missing"):
        plot.traversals(model, None)
    with pytest.raises(ValueError, match="a fitted Disentangler, or"):
        plot.traversals("model", vectors.x)
