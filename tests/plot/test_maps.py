"""Maps of a movie: what was put into it comes out, by pixels and by frames."""

from dataclasses import replace

import numpy as np
import pytest

import partita as pt
from partita import plot
from partita.plot._opened import opened
from partita.plot.maps import Movie

RNG = np.random.default_rng(0)
FIELD, FRAMES = (6, 7), 80
MAP = RNG.laplace(size=FIELD)
COURSE = np.sin(np.arange(FRAMES) / 5)
MOVIE = (COURSE[:, None, None] * MAP + 0.01 * RNG.normal(size=(FRAMES, *FIELD))).astype(np.float32)


def correlation(a, b) -> float:
    return abs(float(np.corrcoef(np.ravel(a), np.ravel(b))[0, 1]))


@pytest.fixture(scope="module")
def by_pixel():
    data = pt.data.from_array(MOVIE, samples="pixels")
    return pt.Disentangler("pca", latents=2).fit(data.x), data


def check(figure, count: int = 1) -> None:
    panels = [axes for axes in figure.axes if axes.images]
    courses = [axes for axes in figure.axes if axes.get_xlabel() == "frame"]
    assert (len(panels), len(courses)) == (count, 1)
    assert correlation(panels[0].images[0].get_array(), MAP) > 0.99
    drawn = courses[0].lines[1].get_ydata()
    assert len(drawn) == FRAMES
    assert correlation(drawn, COURSE) > 0.99


def test_rows_that_are_pixels(by_pixel, labelled):
    model, data = by_pixel
    check(labelled(plot.maps(model, data, groups=[(0, 1)])), 2)
    check(plot.maps(model, data.x, places=data.factors, groups=[(0,)]))


def test_rows_that_are_frames(labelled):
    frames = MOVIE[:, None]
    model = pt.Disentangler("pca", latents=2).fit(frames)
    check(labelled(plot.maps(model, frames, groups=[(0,)])))
    flat = MOVIE.reshape(FRAMES, -1)
    places = np.stack([each.ravel() for each in np.indices(FIELD)], 1)
    check(plot.maps(pt.Disentangler("pca", latents=2).fit(flat), flat, places=places, groups=[(0,)]))


def test_a_map_times_its_course_is_what_the_group_decodes(by_pixel):
    model, data = by_pixel
    movie = Movie.of(opened(model, data), None)
    found = movie.mapped((0, 1))
    codes = model.transform(data.x).astype(float)
    expected = (codes - codes.mean(0)) @ model.loadings().T
    np.testing.assert_allclose(found.maps @ found.courses.T, expected, atol=1e-5)
    np.testing.assert_allclose(found.maps.std(0), 1.0)
    assert found.share == pytest.approx((expected**2).mean() / data.x.var(0).mean(), rel=1e-6)
    assert movie.mapped((0,)).share > 0.99


def test_pixels_that_are_left_out_are_white(by_pixel):
    still = MOVIE.copy()
    still[:, 0, 0] = 1.0
    data = pt.data.from_array(still, samples="pixels")
    model = pt.Disentangler("pca", latents=1).fit(data.x)
    image = plot.maps(model, data).axes[0].images[0].get_array()
    assert np.ma.getmaskarray(np.ma.masked_invalid(image)).sum() == 1
    assert np.ma.getmaskarray(np.ma.masked_invalid(image))[0, 0]


def test_positions_must_be_known(by_pixel):
    model, data = by_pixel
    with pytest.raises(ValueError, match="give places"):
        plot.maps(model, data.x)
    with pytest.raises(ValueError, match=r"places must be \(42, 2\) or \(80, 2\)"):
        plot.maps(model, data.x, places=np.zeros((3, 2)))


def test_slopes_that_make_more_than_there_is_are_told_beside_each_other(by_pixel, monkeypatch):
    model, data = by_pixel

    def titles():
        return [part.get_suptitle() for part in plot.maps(model, data).subfigs]

    assert all(title.endswith("of the variance") for title in titles())
    movie = Movie.of(opened(model, data), None)
    monkeypatch.setattr(Movie, "of", lambda *_: replace(movie, variance=movie.variance / 100))
    assert all("mean slopes" in title for title in titles())
    shares = [float(title.split(": ")[1].split("%")[0]) for title in titles()]
    assert sum(shares) == pytest.approx(100, abs=0.2)
