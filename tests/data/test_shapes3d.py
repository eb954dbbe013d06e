import h5py
import numpy as np
import pytest

from partita.data import FactorGrid, batches, load
from partita.data.shapes3d import CARD

VALUES = (
    np.linspace(0, 0.9, 10),
    np.linspace(0, 0.9, 10),
    np.linspace(0, 0.9, 10),
    np.linspace(0.75, 1.25, 8),
    np.arange(4.0),
    np.linspace(-30, 30, 15),
)
GRID = FactorGrid(CARD.factor_names, CARD.factor_sizes)
WRITTEN = np.array([0, 14, 15, 59_999, 123_456, 479_999])


@pytest.fixture(scope="module")
def official(tmp_path_factory):
    """The official layout at full size: rows that are not written take no room."""
    home = tmp_path_factory.mktemp("data")
    (home / "shapes3d").mkdir()
    classes = GRID.all_classes()
    with h5py.File(home / "shapes3d/3dshapes.h5", "w") as file:
        images = file.create_dataset("images", (480_000, 64, 64, 3), "u1", chunks=(16, 64, 64, 3), compression=1)
        for row in WRITTEN:
            images[row] = _image(row)
        labels = np.stack([values[column] for values, column in zip(VALUES, classes.T)], 1)
        file.create_dataset("labels", data=labels, compression=1)
    return home


def _image(row):
    return np.random.default_rng(row).integers(0, 256, (64, 64, 3), np.uint8)


@pytest.fixture
def here(official, monkeypatch):
    monkeypatch.setenv("PARTITA_DATA", str(official))
    monkeypatch.setenv("PARTITA_OFFLINE", "1")
    return official


def test_streamed_at_full_size(here):
    data = load("shapes3d", stream=True)
    assert data.x.shape == (480_000, 3, 64, 64)
    assert not data.in_memory
    assert data.grid == GRID
    order = [3, 0, 5, 1, 4, 2]
    expected = np.stack([_image(row).transpose(2, 0, 1) for row in WRITTEN[order]])
    np.testing.assert_array_equal(data.x[WRITTEN[order]], expected)
    read = list(batches(data, [WRITTEN[:2], WRITTEN[2:]]))
    np.testing.assert_allclose(read[1][-1], expected[2] / 255, rtol=1e-6)


def test_a_coarser_grid_in_memory(here):
    data = load("shapes3d", every=(9, 9, 9, 7, 3, 14))
    assert data.in_memory
    assert data.factor_sizes == (2,) * 6
    np.testing.assert_array_equal(data.x[0], _image(0).transpose(2, 0, 1))
    np.testing.assert_array_equal(data.x[-1], _image(479_999).transpose(2, 0, 1))
    np.testing.assert_array_equal(data.x[1], _image(14).transpose(2, 0, 1))  # orientation is fastest


def test_other_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("PARTITA_DATA", str(tmp_path))
    path = tmp_path / "3dshapes.h5"
    with h5py.File(path, "w") as file:
        file["images"] = np.zeros((4, 64, 64, 3), np.uint8)
        file["labels"] = np.zeros((4, 6))
    with pytest.raises(ValueError, match="3dshapes.h5: expected labels"):
        load("shapes3d")
    with h5py.File(path, "w") as file:
        file["images"] = np.zeros((4, 64, 64, 3), np.uint8)
        file.create_dataset("labels", (480_000, 6), "f8", chunks=(10_000, 6), compression=1)
    with pytest.raises(ValueError, match="labels of floor_hue are not in the official order"):
        load("shapes3d")
    path.write_bytes(b"not hdf5")
    with pytest.raises((ValueError, OSError), match="3dshapes.h5"):
        load("shapes3d")
