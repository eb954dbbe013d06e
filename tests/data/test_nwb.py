import h5py
import numpy as np
import pytest

from partita.data import load

from . import layouts
from .layouts import MOVIE, PLACE, SPIKES


def test_units_become_counts_in_bins(tmp_path):
    layouts.nwb(tmp_path / "a.nwb")
    data = load(tmp_path / "a.nwb", bin=0.5)
    first = np.floor(min(times[0] for times in SPIKES if len(times)) / 0.5) * 0.5
    edges = first + 0.5 * np.arange(data.size + 1)
    expected = np.stack([np.histogram(times, edges)[0] for times in SPIKES], 1)
    np.testing.assert_array_equal(data.x, expected)
    assert data.x.sum() == sum(map(len, SPIKES))
    assert data.feature_names == ("unit 3", "unit 4", "unit 8", "unit 9")
    np.testing.assert_allclose(data.columns["time"], (edges[1:] + edges[:-1]) / 2)
    assert load(tmp_path / "a.nwb").size > 4.9 * data.size


def test_what_an_animal_did_at_the_nearest_sample(tmp_path):
    layouts.nwb(tmp_path / "a.nwb")
    data = load(tmp_path / "a.nwb", bin=0.1, start=1.0, stop=30.0, labels=None)
    assert data.size == 290
    times, sampled = data.columns["time"], np.linspace(2.0, 32.0, 301)
    inside = times > 2.05
    nearest = np.abs(times[:, None] - sampled).argmin(1)
    np.testing.assert_allclose(data.columns["place 1"][inside], PLACE[nearest, 1][inside], atol=0.01)
    assert np.isnan(data.columns["direction"][times < 1.8]).all()
    with pytest.raises(ValueError, match=r"a.nwb: series 'direction' tells of rows .* start= and stop="):
        load(tmp_path / "a.nwb", start=1.0, stop=30.0, labels="direction")
    labelled = load(tmp_path / "a.nwb", start=2.0, stop=30.0, labels=["place 0", "direction"])
    assert labelled.labels.shape == (280, 2)


def test_time_series_and_movies_by_key_or_alone(tmp_path):
    layouts.nwb(tmp_path / "a.nwb", units=False, movie=True)
    movie = load(tmp_path / "a.nwb")
    np.testing.assert_array_equal(movie.observations(), MOVIE[:, None].astype(np.float32))
    assert "direction" in movie.columns
    streamed = load(tmp_path / "a.nwb", key="TwoPhotonSeries", stream=True)
    np.testing.assert_array_equal(streamed.observations([4, 1]), MOVIE[[4, 1], None].astype(np.float32))
    assert load(tmp_path / "a.nwb", samples="pixels").shape == (50,)
    place = load(tmp_path / "a.nwb", key="processing/behavior/Position/place")
    np.testing.assert_allclose(place.x, PLACE, rtol=1e-6)
    np.testing.assert_allclose(place.columns["direction"], PLACE[:, 0] ** 2)


def test_calcium_traces_dff_before_fluorescence(tmp_path):
    layouts.nwb(tmp_path / "a.nwb", units=False)
    traces = np.random.default_rng(0).normal(size=(70, 5)).astype(np.float32)
    with h5py.File(tmp_path / "a.nwb", "r+") as file:
        for name, factor in (("Fluorescence", 1), ("DfOverF", 2)):
            path = f"processing/ophys/{name}/RoiResponseSeries"
            layouts.write_series(file, path, factor * traces, "RoiResponseSeries", 10.0)
    np.testing.assert_array_equal(load(tmp_path / "a.nwb").x, 2 * traces)
    with pytest.raises(ValueError, match="'RoiResponseSeries' is the name of several"):
        load(tmp_path / "a.nwb", key="RoiResponseSeries")


def not_cumulative(file):
    file["units/spike_times_index"][1] = 3


def nowhere(file):
    file["units/spike_times"][3] = np.nan


def an_eternity(file):
    file["units/spike_times"][3] = 1e300


def no_units(file):
    del file["units"], file["processing"]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (not_cumulative, {}, "does not divide"),
        (nowhere, {}, "NaN or infinite"),
        (an_eternity, {}, "GiB of memory.*longer bins"),
        (no_units, {}, "what are the observations.*neither units nor time series"),
        (None, {"key": "plaice"}, "did you mean|is not there"),
        (None, {"key": "direction"}, "one number a sample"),
        (None, {"bin": 0.0}, "above 0"),
        (None, {"start": 9.0, "stop": 8.0}, "no bin"),
        (None, {"key": "place", "start": 1.0}, "read whole"),
    ],
)
def test_bad_files_and_options(tmp_path, change, options, message):
    layouts.nwb(tmp_path / "a.nwb")
    if change is not None:
        with h5py.File(tmp_path / "a.nwb", "r+") as file:
            change(file)
    with pytest.raises(ValueError, match=f"a.nwb: .*({message})") as caught:
        load(tmp_path / "a.nwb", **options)
    assert "\n" not in str(caught.value)
