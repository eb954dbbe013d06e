"""Images as bytes, and side by side."""

import numpy as np

from partita.plot._images import as_rgb, mosaic


def test_tiles_lie_where_ticks_say_and_groups_apart():
    tiles = np.arange(6, dtype=np.uint8).reshape(3, 2, 1, 1, 1) * np.ones((1, 1, 4, 4, 3), np.uint8)
    canvas, tops, lefts = mosaic(tiles, breaks={2})
    np.testing.assert_array_equal(canvas[np.ix_(tops, lefts)][..., 0], [[0, 1], [2, 3], [4, 5]])
    assert tops[2] - tops[1] > tops[1] - tops[0] > 4


def test_rgb_keeps_colours_and_greys_the_rest():
    pixels = np.array([[0.0, 0.5, 1.0, 2.0]]).reshape(1, 4)
    grey = as_rgb(pixels[:, None, None, :], 0.0, 1.0)
    np.testing.assert_array_equal(grey[0, 0], [[0] * 3, [128] * 3, [255] * 3, [255] * 3])
    colour = as_rgb(np.array([1.0, 0.0, -1.0]).reshape(1, 3, 1, 1), -1.0, 1.0)
    np.testing.assert_array_equal(colour[0, 0, 0], [255, 128, 0])
    np.testing.assert_array_equal(as_rgb(np.array([1.0, 0.0]).reshape(1, 2, 1, 1), 0.0, 1.0)[0, 0, 0], [128] * 3)
