from fractions import Fraction

import numpy as np
import pytest

from partita.data._resize import area_resize


def by_hand(image, height, width):
    """Exact rational area means, rounded half up."""
    rows, columns = image.shape
    result = np.empty((height, width), dtype=int)
    for i in range(height):
        for j in range(width):
            total = Fraction(0)
            for r in range(rows):
                for c in range(columns):
                    tall = min(Fraction((i + 1) * rows, height), r + 1) - max(Fraction(i * rows, height), r)
                    wide = min(Fraction((j + 1) * columns, width), c + 1) - max(Fraction(j * columns, width), c)
                    total += max(tall, 0) * max(wide, 0) * int(image[r, c])
            result[i, j] = int(total * height * width / (rows * columns) + Fraction(1, 2))
    return result


@pytest.mark.parametrize(("old", "new"), [((12, 12), (8, 8)), ((12, 6), (6, 2)), ((5, 7), (3, 4)), ((4, 4), (8, 6))])
def test_area_means_are_exact(old, new):
    images = np.random.default_rng(0).integers(0, 256, (3, 2, *old), np.uint8)
    resized = area_resize(images, *new)
    assert resized.shape == (3, 2, *new)
    for image, expected in zip(resized.reshape(-1, *new), images.reshape(-1, *old)):
        np.testing.assert_array_equal(image, by_hand(expected, *new))


def test_halves_are_rounded_up():
    image = np.array([[0, 0], [1, 1]], np.uint8)[None, None]
    assert area_resize(image, 1, 1).item() == 1
    wide = np.tile(np.array([[0, 0, 1, 1, 1, 0]], np.uint8), (1, 1, 6, 1))  # thirds and halves at 4 pixels
    np.testing.assert_array_equal(area_resize(wide, 6, 4)[0, 0, 0], [0, 1, 1, 0])
