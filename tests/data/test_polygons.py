from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.data._polygons import fill, unpack


def lit(x, y, column, row):
    """Whether a pixel centre is in the polygon: exact crossings counted one by one."""
    px, py = 256 * column + 128, 256 * row + 128
    inside = False
    for (ax, ay), (bx, by) in zip(zip(x, y), zip(np.roll(x, -1), np.roll(y, -1))):
        if min(ay, by) < py <= max(ay, by) and ax + Fraction(int(py - ay) * int(bx - ax), int(by - ay)) <= px:
            inside = not inside
    return inside


# Multiples of 64 put many vertices and edges exactly on pixel centres.
places = st.lists(st.tuples(st.integers(0, 32), st.integers(0, 32)), min_size=3, max_size=7)


@settings(deadline=None, max_examples=40)
@given(places, st.integers(1, 64))
def test_fill_agrees_with_exact_crossings(points, step):
    x, y = np.array(points).T * step
    image = unpack(fill(x[None], y[None]))[0, 0]
    expected = np.zeros((64, 64), bool)
    for row in range(9):
        for column in range(9):
            expected[row, column] = lit(x, y, column, row)
    np.testing.assert_array_equal(image, expected)


def test_left_and_bottom_edges_count_top_and_right_do_not():
    x, y = np.array([128, 128 + 512, 128 + 512, 128]), np.array([128, 128, 128 + 512, 128 + 512])
    rows, columns = np.nonzero(unpack(fill(x[None], y[None]))[0, 0])
    assert set(columns) == {0, 1}
    assert set(rows) == {1, 2}


def test_every_place_at_once_and_outside_is_cut_off():
    x, y = np.array([0, 1024, 1024, 0]), np.array([0, 0, 1024, 1024])
    images = unpack(fill(x + np.array([[-512], [0], [256 * 62]]), y + np.array([[0], [256 * 63]])))
    assert images.shape == (3, 2, 64, 64)
    assert images.sum((2, 3)).tolist() == [[8, 2], [16, 4], [8, 2]]
    assert fill(x[None] + 256 * 100, y[None] + 256 * 100).sum() == 0
