import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from partita.data import info, load
from partita.data.cars3d import MODELS, read_model

SHARED = Path(__file__).parents[2] / "../shared/data"
NAMES = [f"car_{number:03d}_mesh.mat" for number in range(1, MODELS + 1)]


def model(number, compress=True):
    """A car in the official layout: im (row, column, colour, azimuth, elevation), constant 2 x 2 blocks."""
    views = np.zeros((128, 128, 3, 24, 4), np.uint8)
    views[:] = (np.arange(24)[:, None] * 4 + np.arange(4)).astype(np.uint8)
    views[:64, :, 0] += np.uint8(number % 150)
    stream = io.BytesIO()
    savemat(stream, {"im": views, "mask": views[:, :, 0]}, do_compression=compress)
    return stream.getvalue()


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PARTITA_DATA", str(tmp_path))
    monkeypatch.setenv("PARTITA_OFFLINE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cars3d/original").mkdir(parents=True)
    return tmp_path / "cars3d"


def check(data):
    elevation, azimuth, number = data.factors.T
    assert (data.x[:, 1, 0, 0] == azimuth * 4 + elevation).all()
    assert (data.x[:, 0, 0, 0] == azimuth * 4 + elevation + number % 150).all()
    assert (data.x[:, 0, 40, 0] == azimuth * 4 + elevation).all()


def test_a_model_is_read_with_its_axes_in_place():
    for compress in (True, False):
        views = read_model(model(5, compress))
        assert views.shape == (4, 24, 3, 128, 128)
        assert views[2, 7, 1, 0, 0] == 7 * 4 + 2
        assert views[2, 7, 0, 0, 0] == 7 * 4 + 2 + 5


def test_other_mat_files_are_refused_by_their_header():
    stream = io.BytesIO()
    savemat(stream, {"im": np.zeros((5, 5), np.uint8)})
    with pytest.raises(ValueError, match="expected an array im"):
        read_model(stream.getvalue())


@pytest.mark.slow
def test_folder_and_archive(home):
    for number, name in enumerate(NAMES):
        (home / "original" / name).write_bytes(model(number))
    (home / "original/list.txt").write_text("\n".join(NAMES))
    check(load("cars3d"))
    with tarfile.open(home / "nips2015-analogy-data.tar.gz", "w:gz", compresslevel=1) as archive:
        archive.add(home / "original", "data/cars")
    for path in (home / "original").iterdir():
        path.unlink()
    assert load("cars3d").x.shape == (17_568, 3, 64, 64)
    check(load("cars3d"))


def test_an_incomplete_folder_lists_what_is_missing(home):
    for name in NAMES[:3]:
        (home / "original" / name).write_bytes(b"x")
    (home / "original/list.txt").write_text("\n".join(NAMES))
    with pytest.raises(ValueError, match="3 of 183 .* missing: car_004_mesh.mat, car_005_mesh.mat, .*, ..."):
        load("cars3d")
    (home / "original/list.txt").unlink()
    with pytest.raises(ValueError, match="3 of 183"):
        load("cars3d")


def test_members_of_an_archive_cannot_leave_their_folder(home):
    with tarfile.open(home / "nips2015-analogy-data.tar.gz", "w:gz") as archive:
        for name in ("../../car_001_mesh.mat", "/tmp/cars/car_002_mesh.mat", "data/cars/car_003_mesh.mat"):
            member = tarfile.TarInfo(name)
            member.size = 3
            archive.addfile(member, io.BytesIO(b"abc"))
        link = tarfile.TarInfo("data/cars/car_004_mesh.mat")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    before = sorted(home.parent.rglob("*"))
    with pytest.raises(ValueError, match="2 of 183"):
        load("cars3d")
    assert sorted(home.parent.rglob("*")) == before


@pytest.mark.parametrize("damage", [b"", b"hello", None])
def test_damaged_archive(home, damage):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        member = tarfile.TarInfo("data/cars/car_003_mesh.mat")
        member.size = 10_000
        archive.addfile(member, io.BytesIO(np.random.default_rng(0).bytes(10_000)))
    (home / "nips2015-analogy-data.tar.gz").write_bytes(content.getvalue()[:3000] if damage is None else damage)
    with pytest.raises(ValueError, match="nips2015-analogy-data.tar.gz"):
        load("cars3d")


def test_absence_and_bad_prepared_file(home):
    (home / "original").rmdir()
    with pytest.raises(OSError, match=r"Put nips2015-analogy-data.tar.gz \(md5:4e866a79.*car_NNN_mesh.mat"):
        load("cars3d")
    np.savez(home / "cars3d_64x64.npz", images=np.zeros((3, 64, 64, 3), np.uint8))
    with pytest.raises(ValueError, match="cars3d_64x64.npz: expected uint8 images"):
        load("cars3d")


@pytest.mark.skipif(not (SHARED / "cars3d").exists(), reason="the real file is not at hand in ../shared/data/cars3d")
def test_the_real_cars(monkeypatch):
    monkeypatch.setenv("PARTITA_DATA", str(SHARED))
    data = load("cars3d", every=(1, 6, 20))
    assert (data.x[:, :, 0, 0] == 255).all()  # white ground
    assert "cars3d_64x64.npz" in info("cars3d")["state"]


def test_a_coarser_grid(home):
    images = np.random.default_rng(0).integers(0, 256, (17_568, 1, 1, 3), np.uint8)
    np.savez(home / "cars3d_64x64.npz", images=np.broadcast_to(images, (17_568, 64, 64, 3)))
    data = load("cars3d", every=(4, 12, 20))
    assert data.factor_sizes == (1, 2, 10)
    np.testing.assert_array_equal(data.x[:, :, 5, 5], images.reshape(4, 24, 183, 3)[::4, ::12, ::20].reshape(-1, 3))
