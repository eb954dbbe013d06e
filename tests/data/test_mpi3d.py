import numpy as np
import pytest

from partita.data import FactorGrid, info, load
from partita.data.mpi3d import CARD


@pytest.fixture
def official(tmp_path, monkeypatch):
    """The official layout at full length; tiny images, so that it stays a small file."""
    monkeypatch.setenv("PARTITA_DATA", str(tmp_path))
    monkeypatch.setenv("PARTITA_OFFLINE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    images = np.zeros((CARD.size, 2, 1, 3), np.uint8)
    images[:, 0, 0, 0] = np.arange(CARD.size) % 251
    images[:, 1, 0, 2] = np.arange(CARD.size) // 251 % 256
    (tmp_path / "mpi3d").mkdir()
    np.savez_compressed(tmp_path / "mpi3d/mpi3d_toy.npz", images=images)
    return images


def test_a_coarser_grid_is_picked_out_while_reading(official):
    data = load("mpi3d", every=(2, 1, 1, 1, 1, 8, 5))
    assert data.factor_sizes == (3, 6, 2, 3, 3, 5, 8)
    rows = FactorGrid(CARD.factor_names, CARD.factor_sizes).to_index(data.factors * (2, 1, 1, 1, 1, 8, 5))
    np.testing.assert_array_equal(data.x, official[rows].transpose(0, 3, 1, 2))
    assert load("mpi3d").size == CARD.size
    assert info("mpi3d")["state"].startswith("1 of 3 files in ")


def test_bad_files_and_options(official, tmp_path):
    with pytest.raises(ValueError, match="variant must be toy, realistic, real"):
        load("mpi3d", variant="fake")
    with pytest.raises(OSError, match=r"mpi3d_real.npz \(md5:0f33f609"):
        load("mpi3d", variant="real")
    with pytest.raises(ValueError, match="every must be 7 steps"):
        load("mpi3d", every=(1, 2))
    path = tmp_path / "mpi3d/mpi3d_toy.npz"
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="mpi3d_toy.npz: damaged"):
        load("mpi3d")
    np.savez(path, images=np.zeros((5, 64, 64, 3), np.uint8))
    with pytest.raises(ValueError, match="mpi3d_toy.npz: expected uint8 images"):
        load("mpi3d")
