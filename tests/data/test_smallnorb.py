import gzip
import struct

import numpy as np
import pytest

from partita.data import load
from partita.data.smallnorb import PARTS, read_matrix

MAGIC = {"u1": 0x1E3D4C55, "i4": 0x1E3D4C54, "i2": 0x1E3D4C56, "f4": 0x1E3D4C51, "f8": 0x1E3D4C53}


def matrix(array):
    """The official layout: at least three sizes are written."""
    sizes = (*array.shape, *(1,) * (3 - array.ndim))
    head = struct.pack(f"<ii{len(sizes)}i", MAGIC[array.dtype.str[1:]], array.ndim, *sizes)
    return head + array.astype(array.dtype.newbyteorder("<")).tobytes()


@pytest.fixture
def parts(tmp_path, monkeypatch):
    monkeypatch.setenv("PARTITA_DATA", str(tmp_path))
    monkeypatch.setenv("PARTITA_OFFLINE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    (tmp_path / "smallnorb").mkdir()
    made = {}
    for part, name in PARTS.items():
        dat = rng.integers(0, 256, (6, 2, 96, 96), np.uint8)
        cat = rng.integers(0, 5, 6).astype(np.int32)
        info = np.stack([rng.integers(0, top, 6) for top in (10, 9, 18, 6)], 1).astype(np.int32)
        made[part] = (dat, cat, info.copy())
        info[:, 2] *= 2  # azimuth is stored as 0, 2, ..., 34
        for kind, array in (("dat", dat), ("cat", cat), ("info", info)):
            if part == "training":
                (tmp_path / f"smallnorb/{name}-{kind}.mat.gz").write_bytes(gzip.compress(matrix(array)))
            else:
                (tmp_path / f"smallnorb/{name}-{kind}.mat").write_bytes(matrix(array))
    return made


@pytest.mark.parametrize("dtype", MAGIC)
@pytest.mark.parametrize("shape", [(4,), (3, 2), (2, 3, 4), (2, 3, 2, 2)])
def test_matrix_round_trip(tmp_path, dtype, shape):
    array = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    (tmp_path / "m.mat").write_bytes(matrix(array))
    read = read_matrix(tmp_path / "m.mat")
    np.testing.assert_array_equal(read, array)
    assert read.dtype == np.dtype(dtype)


def test_left_images_and_factors(parts):
    data = load("smallnorb", size=96)
    dat = np.concatenate([parts["training"][0], parts["testing"][0]])
    np.testing.assert_array_equal(data.x[:, 0], dat[:, 0])
    assert data.factor_names == ("category", "elevation", "azimuth", "lighting")
    np.testing.assert_array_equal(data.factors[:6, 0], parts["training"][1])
    np.testing.assert_array_equal(data.factors[6:, 1:], parts["testing"][2][:, 1:])
    with_toy = load("smallnorb", part="testing", instance=True)
    assert with_toy.shape == (1, 64, 64)
    assert with_toy.factor_names[-1] == "instance"
    np.testing.assert_array_equal(with_toy.factors[:, 4], parts["testing"][2][:, 0])
    assert with_toy.x.mean() == pytest.approx(parts["testing"][0][:, 0].mean(), abs=0.1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (matrix(np.zeros((6, 2, 96, 96), np.uint8))[:-5], "should hold"),
        (matrix(np.zeros((6, 2, 96, 95), np.uint8)), "expected shape"),
        (struct.pack("<iiiii", 0x1E3D4C55, 3, 2**31 - 1, 2**31 - 1, 9), "GiB"),
        (struct.pack("<iiiii", 0x1E3D4C55, 3, -1, 2, 9), "sizes"),
        (struct.pack("<ii", 17, 3), "not a NORB matrix"),
        (b"\x55", "buffer|damaged"),
    ],
)
def test_damaged_matrices(parts, tmp_path, content, message):
    (tmp_path / f"smallnorb/{PARTS['testing']}-dat.mat").write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        load("smallnorb", part="testing")
    assert "testing-dat" in str(caught.value)


def test_bad_options_and_absence(parts, tmp_path):
    with pytest.raises(ValueError, match="part must be"):
        load("smallnorb", part="test")
    with pytest.raises(ValueError, match="size must be"):
        load("smallnorb", size=200)
    (tmp_path / f"smallnorb/{PARTS['training']}-cat.mat.gz").unlink()
    with pytest.raises(OSError, match="training-cat.mat.gz .*sha256:2784e542"):
        load("smallnorb")
