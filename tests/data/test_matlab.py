from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
from scipy import sparse

from partita.data import load

from . import layouts
from .layouts import COUNTS, TABLE

REAL = Path(scipy.io.__file__).parent / "matlab/tests/data"
MOVIE = np.random.default_rng(0).normal(size=(7, 8, 30))


@pytest.fixture
def write(tmp_path):
    def make(**content):
        scipy.io.savemat(tmp_path / "a.mat", content, do_compression=True)
        return tmp_path / "a.mat"

    return make


def test_a_matrix_has_a_row_an_observation_and_lists_are_columns(write):
    data = load(write(spikes=TABLE, speed=np.arange(40.0), who="mouse 1", notes={"a": 1}), labels="speed")
    np.testing.assert_allclose(data.x, TABLE, rtol=1e-6)
    np.testing.assert_array_equal(data.columns["speed"], np.arange(40))
    np.testing.assert_array_equal(data.labels[:, 0], np.arange(40))
    turned = load(write(spikes=TABLE), axis=2)
    np.testing.assert_allclose(turned.x, TABLE.T, rtol=1e-6)


def test_movies_have_time_last_unless_said(write):
    frames = load(write(movie=MOVIE), samples="frames")
    np.testing.assert_allclose(frames.x[:, 0], MOVIE.transpose(2, 0, 1), rtol=1e-6)
    assert load(write(movie=MOVIE), axis=1).size == 7
    assert load(write(movie=MOVIE), samples="pixels").shape == (30,)


def test_fields_of_structs_and_sparse_arrays(write):
    path = write(session={"rates": TABLE, "day": 3}, cells=sparse.csc_array(COUNTS))
    np.testing.assert_allclose(load(path, key="session.rates").x, TABLE, rtol=1e-6)
    np.testing.assert_array_equal(load(path, key="cells").x, COUNTS)
    with pytest.raises(ValueError, match=r"a.mat: which array holds the observations.*session.rates \(40, 5\)"):
        load(path)


def test_version_7_3_is_the_same(tmp_path):
    layouts.mat73(tmp_path / "a.mat")
    np.testing.assert_allclose(load(tmp_path / "a.mat", key="spikes").x, TABLE, rtol=1e-6)
    np.testing.assert_allclose(load(tmp_path / "a.mat", key="session.rates").x, 2 * TABLE[:, :3], rtol=1e-6)
    np.testing.assert_array_equal(load(tmp_path / "a.mat", key="cells").x, COUNTS)
    assert list(load(tmp_path / "a.mat", key="spikes").columns) == ["trial"]
    with pytest.raises(ValueError, match="no array of numbers 'animal'"):
        load(tmp_path / "a.mat", key="animal")


@pytest.mark.skipif(not REAL.is_dir(), reason="this scipy comes without its test files")
def test_real_files_of_matlab_give_their_numbers_or_one_line():
    """Versions 4 to 7.4 and 7.3, written by Matlab on four systems; some of them damaged on purpose."""
    read, refused = {}, {}
    for path in REAL.glob("*.mat"):
        try:
            read[path] = load(path).x
        except ValueError as error:
            refused[path] = str(error)
    assert all(path.name in words and "\n" not in words for path, words in refused.items())
    assert len(read) >= 10
    for path, x in read.items():
        arrays = [array for name, array in scipy.io.loadmat(path).items() if not name.startswith("__")]
        whole = [array.toarray() if sparse.issparse(array) else array for array in arrays]
        assert any(np.size(a) == x.size and np.allclose(np.sort(a, None), np.sort(x, None)) for a in whole)


def test_a_small_file_that_unpacks_into_much_is_refused(tmp_path, monkeypatch):
    scipy.io.savemat(tmp_path / "bomb.mat", {"x": np.zeros((1000, 1000))}, do_compression=True)
    assert (tmp_path / "bomb.mat").stat().st_size < 20_000
    monkeypatch.setattr("partita.data._memory.free_memory", lambda: 10_000_000)
    with pytest.raises(ValueError, match=r"bomb.mat: its content, 8,.* unpacked, needs .* GiB"):
        load(tmp_path / "bomb.mat")


def test_a_sparse_array_with_places_outside_is_refused(tmp_path):
    layouts.mat73(tmp_path / "a.mat")
    with h5py.File(tmp_path / "a.mat", "r+") as file:
        file["cells/ir"][2] = 10**6
    with pytest.raises(ValueError, match=r"a.mat: .*outside of 0 to 59"):
        load(tmp_path / "a.mat", key="cells")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"key": "spike"}, "did you mean 'spikes'"),
        ({"axis": 3}, "axis must be 1 to 2"),
        ({"labels": "ages"}, "no array 'ages' with one number for each of 40 rows"),
    ],
)
def test_bad_options(write, options, message):
    with pytest.raises(ValueError, match=f"a.mat: .*{message}"):
        load(write(spikes=TABLE), **options)
