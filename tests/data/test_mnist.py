import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from partita.data import info, load

SHARED = Path(__file__).parents[2] / "../shared/data"


def idx(array):
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PARTITA_DATA", str(tmp_path))
    monkeypatch.setenv("PARTITA_OFFLINE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    (tmp_path / "mnist").mkdir()
    for part, n in (("train", 7), ("t10k", 4)):
        images, labels = rng.integers(0, 256, (n, 28, 28), np.uint8), rng.integers(0, 10, n).astype(np.uint8)
        (tmp_path / f"mnist/{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
        (tmp_path / f"mnist/{part}-labels-idx1-ubyte").write_bytes(idx(labels))
        np.savez(tmp_path / f"{part}.npz", images=images, labels=labels)
    return tmp_path


def test_gzipped_and_plain_files(folder):
    train, test = (np.load(folder / f"{part}.npz") for part in ("train", "t10k"))
    both = load("mnist")
    np.testing.assert_array_equal(both.x[:, 0], np.concatenate([train["images"], test["images"]]))
    np.testing.assert_array_equal(both.factors[:, 0], np.concatenate([train["labels"], test["labels"]]))
    assert both.factor_sizes == (10,)
    padded = load("mnist", part="test", pad=2)
    assert padded.shape == (1, 32, 32)
    np.testing.assert_array_equal(padded.x[:, 0, 2:-2, 2:-2], test["images"])
    assert padded.x[:, 0, :2].max() == 0
    assert info("mnist")["state"] == f"in {folder / 'mnist'}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (idx(np.zeros((4, 28, 28), np.uint8))[:-1], "should hold 3,136 bytes"),
        (idx(np.zeros((4, 28, 28), np.uint8)) + b"1", "has more"),
        (idx(np.zeros(4, np.uint8)), "do not go with"),
        (struct.pack(">BBBB3I", 0, 0, 8, 3, 2**32 - 1, 2**32 - 1, 28), "GiB"),
        (b"\x00\x00\x0d\x03" + bytes(12), "not an idx file"),
        (b"\x00\x00\x08", "not an idx file"),
        (b"\x00\x00\x08\x03\x00", "buffer"),
    ],
)
def test_damaged_files(folder, content, message):
    (folder / "mnist/t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(content))
    with pytest.raises(ValueError, match=message) as caught:
        load("mnist", part="test")
    assert "t10k-images" in str(caught.value)


def test_gzip_damage_and_absence(folder):
    path = folder / "mnist/t10k-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match="t10k-images-idx3-ubyte.gz: damaged"):
        load("mnist", part="test")
    path.unlink()
    with pytest.raises(OSError, match=f"Put t10k-images-idx3-ubyte.gz .* into {folder / 'mnist'}"):
        load("mnist", part="test")
    with pytest.raises(ValueError, match="part must be"):
        load("mnist", part="validation")


@pytest.mark.skipif(not (SHARED / "mnist").exists(), reason="the real files are not at hand in ../shared/data/mnist")
def test_the_real_digits(monkeypatch):
    monkeypatch.setenv("PARTITA_DATA", str(SHARED))
    data = load("mnist", part="train")
    assert data.x.shape == (60_000, 1, 28, 28)
    counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]  # as published
    np.testing.assert_array_equal(np.bincount(data.factors[:, 0]), counts)
    assert data.x.mean() / 255 == pytest.approx(0.1307, abs=1e-4)
    assert data.x.std() / 255 == pytest.approx(0.3081, abs=1e-4)
