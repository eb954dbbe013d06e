"""Planes: the first latent across, the second upwards, everything else where it was."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from partita import plot
from partita.plot.planes import ANGLES, RADIUS
from partita.plot.traversals import STEPS

BASE = np.array([0.5, -0.5, 1.0, -1.0])
ROWS = np.stack([BASE, 3 * BASE, [2.0, 2, 2, -2]])


def test_images_over_a_plane(painter, labelled):
    figure = labelled(plot.planes(painter(ROWS.reshape(-1, 1, 2, 2), ((3, 1), (0,), (2,))), None))
    axes = figure.axes[0]
    canvas = np.asarray(axes.images[0].get_array())[..., 0].astype(float) / 255 * 6 - 3
    rows, columns = np.round(axes.get_yticks() - 0.5).astype(int), np.round(axes.get_xticks() - 0.5).astype(int)
    across, up = np.meshgrid(STEPS, STEPS[::-1])
    np.testing.assert_allclose(canvas[np.ix_(rows + 1, columns + 1)], across, atol=0.03)  # latent 3, the last pixel
    np.testing.assert_allclose(canvas[np.ix_(rows, columns + 1)], up, atol=0.03)  # latent 1, the second
    np.testing.assert_allclose(canvas[np.ix_(rows, columns)], BASE[0], atol=0.03)
    assert axes.get_yticklabels()[0].get_text() == "2"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("z3", "z1")


def test_vectors_round_a_circle(painter, labelled):
    figure = labelled(plot.planes(painter(ROWS, ((3, 1), (0,), (2,))), None))
    change = np.asarray(figure.axes[0].images[0].get_array())
    np.testing.assert_allclose(change[:, 3], RADIUS * np.cos(np.radians(ANGLES)), atol=1e-6)
    np.testing.assert_allclose(change[:, 1], RADIUS * np.sin(np.radians(ANGLES)), atol=1e-6)
    np.testing.assert_allclose(change[:, [0, 2]], 0, atol=1e-6)


def test_of_a_larger_group_the_two_most_used(painter):
    x = np.random.default_rng(0).normal(size=(50, 4)) * [1.0, 4.0, 0.1, 3.0]
    assert plot.planes(painter(x, ((0, 1, 2, 3),)), None).axes[0].get_title(loc="left") == "z1 (0°), z3 (90°)"


def test_axes_of_ones_own_and_no_plane(model, vectors, image_model, images):
    figure = Figure()
    axes = figure.add_subplot()
    assert plot.planes(model, vectors.x, ax=axes) is figure
    with pytest.raises(ValueError, match="no group has two latents"):
        plot.planes(image_model, images)
    assert len(plot.planes(image_model, images, groups=[(0, 1), (1, 2)]).axes) == 2
    with pytest.raises(ValueError, match="there is no group"):
        plot.planes(model, vectors.x, groups=[(0, 5)])
