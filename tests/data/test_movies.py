from pathlib import Path

import numpy as np
import pytest

from partita.data import from_array, load

SHARED = Path(__file__).parents[2] / "../shared/data"


def test_pixels_are_time_courses_with_their_place():
    movie = np.random.default_rng(0).normal(size=(11, 4, 5)).astype(np.float32)
    movie[:, 1, 2] = 7  # never changes
    data = from_array(movie, samples="pixels", labels=np.arange(11.0))
    assert data.x.shape == (19, 11)
    assert data.labels is None
    assert data.factor_names == ("row", "column")
    assert data.factor_sizes == (4, 5)
    assert (1, 2) not in {tuple(place) for place in data.factors.tolist()}
    for course, (row, column) in zip(data.x, data.factors):
        np.testing.assert_array_equal(course, movie[:, row, column])
    np.testing.assert_array_equal(data.places, data.factors)
    assert from_array(data.x, factors=data.factors).places is None  # factors of something else


def test_frames_are_images_with_labels():
    data = from_array(np.zeros((11, 4, 5)), samples="frames", labels=np.arange(11.0))
    assert data.shape == (1, 4, 5)
    assert data.labels.shape == (11, 1)


@pytest.mark.parametrize(
    ("movie", "message"),
    [
        (np.zeros((5, 4)), "needs a movie"),
        (np.zeros((5, 4, 4, 3)), "needs a movie"),
        (np.zeros((1, 4, 4)), "at least 2 frames"),
        (np.zeros((5, 4, 4)), "no pixel of the movie ever changes"),
    ],
)
def test_what_is_no_movie(movie, message):
    with pytest.raises(ValueError, match=message):
        from_array(movie, samples="pixels")


@pytest.mark.skipif(not (SHARED / "ferret_vsd").exists(), reason="the recordings are not at hand in ../shared/data")
def test_real_recordings():
    ferret = load(SHARED / "ferret_vsd/ferret_vsd_25x25x977.npz", samples="pixels")
    assert ferret.x.shape == (463, 977)  # the recording array is round
    mouse = load(SHARED / "mouse_2p/mouse_2p_64x64x500.npz", labels=["running_speed", "corridor_position"])
    assert mouse.x.shape == (500, 1, 64, 64)
    assert mouse.labels.shape == (500, 2)
    pixels = load(SHARED / "mouse_2p/mouse_2p_64x64x500.npz", samples="pixels")
    assert pixels.x.shape[1] == 500
    assert pixels.size <= 64 * 63  # one border row never changes
