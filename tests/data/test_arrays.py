import numpy as np
import pytest
import torch

from partita.data import from_array, load


@pytest.mark.parametrize(
    ("x", "shape", "dtype", "scale"),
    [
        (np.zeros((5, 3)), (3,), "float32", 1.0),
        (np.zeros((5, 3), np.uint8), (3,), "float32", 1.0),
        ([[1, 2], [3, 4]], (2,), "float32", 1.0),
        (np.ones((5, 8, 9), bool), (1, 8, 9), "uint8", 1.0),
        (np.full((5, 8, 9), 7, np.uint8), (1, 8, 9), "uint8", 1 / 255),
        (np.ones((5, 8, 9), np.uint8), (1, 8, 9), "uint8", 1.0),
        (np.zeros((5, 8, 9, 3), np.uint8), (3, 8, 9), "uint8", 1.0),
        (np.zeros((5, 3, 8, 9), np.uint8), (3, 8, 9), "uint8", 1.0),
        (np.zeros((5, 8, 9), np.int16), (1, 8, 9), "float32", 1.0),
        (torch.zeros(5, 3), (3,), "float32", 1.0),
    ],
)
def test_shapes_and_types(x, shape, dtype, scale):
    data = from_array(x)
    assert data.shape == shape
    assert data.x.dtype == dtype
    assert data.x_scale == scale


def test_channels_last_are_moved_not_reshaped():
    x = np.random.default_rng(0).integers(0, 256, (4, 8, 9, 3), np.uint8)
    np.testing.assert_array_equal(from_array(x).x, x.transpose(0, 3, 1, 2))


def test_factors_and_labels_may_be_columns():
    data = from_array(np.zeros((3, 2)), factors=[0, 1, 2], labels=[0.5, 1, 2], name="mine")
    assert data.factor_sizes == (3,)
    assert data.factors.shape == data.labels.shape == (3, 1)
    assert data.name == "mine"


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros(5), "got shape"),
        (np.zeros((2, 2, 2, 2, 2)), "got shape"),
        (3.0, "got shape"),
        (np.array([["a", "b"]]), "expected numbers"),
        (np.array([[1 + 2j]]), "expected numbers"),
        ([[1, 2], [3]], "array of numbers"),
        (np.array([[None]], dtype=object), "expected numbers"),
        (np.zeros((0, 3)), "empty"),
        (np.array([[np.nan, 1]]), "NaN"),
        (np.array([[1e300, 1]]), "exceed single precision"),
    ],
)
def test_bad_arrays(x, message):
    with pytest.raises(ValueError, match=message):
        from_array(x)


def test_npy_round_trip(tmp_path):
    x = np.random.default_rng(0).normal(size=(6, 4))
    np.save(tmp_path / "a.npy", np.asfortranarray(x))
    data = load(tmp_path / "a.npy")
    np.testing.assert_array_equal(data.x, x.astype(np.float32))
    assert data.name == "a"
    again = load(data.description["path"], **data.description["options"])
    np.testing.assert_array_equal(again.x, data.x)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_with_factors_and_labels(tmp_path, save):
    images = np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3), np.uint8)
    factors = np.arange(12).reshape(6, 2) % 3
    names, sizes = np.array(["hue", "size"]), np.array([3, 4])
    save(tmp_path / "a.npz", images=images, factors=factors, factor_names=names, factor_sizes=sizes, labels=np.ones(6))
    data = load(tmp_path / "a.npz")
    np.testing.assert_array_equal(data.x, images.transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(data.factors, factors)
    assert data.factor_names == ("hue", "size")
    assert data.factor_sizes == (3, 4)
    assert data.labels.shape == (6, 1)


def test_npz_key_chosen_or_asked_for(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, scores=np.zeros((4, 2)), names=np.array(["a", "b"]))
    assert load(path).shape == (2,)
    np.savez(path, one=np.zeros((4, 2)), two=np.zeros((4, 3)))
    with pytest.raises(ValueError, match=r"key=.*one \(4, 2\), two \(4, 3\)"):
        load(path)
    assert load(path, key="two").shape == (3,)
    with pytest.raises(ValueError, match="has no array three; it has one, two"):
        load(path, key="three")


def test_pickled_members_are_skipped_and_never_opened(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, imgs=np.ones((3, 8, 8), np.uint8), metadata=np.array({"a": 1}, dtype=object))
    assert load(path).shape == (1, 8, 8)
    with pytest.raises(ValueError, match="never unpickled"):
        load(path, key="metadata")
