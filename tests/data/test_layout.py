"""Images come out as (n, channels, height, width), whichever way they are stored, or are refused with words."""

import h5py
import numpy as np
import pytest

from partita.data import from_array, load
from partita.data._layout import channel_axis


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((40, 28, 28, 3), 3),
        ((40, 3, 28, 28), 1),
        ((40, 1, 8, 9), 1),
        ((40, 30, 8, 2), 3),
        ((40, 3, 4, 4), 1),  # tiny and square
        ((40, 4, 4, 3), 3),
        ((40, 16, 64, 64), 1),  # many channels, square
        ((40, 64, 64, 16), 3),
        ((40, 64, 8, 8), 1),
        ((40, 28, 28, 28), None),
        ((40, 3, 28, 3), None),
        ((40, 16, 48, 64), None),
        ((40, 1, 1, 1), None),
    ],
)
def test_the_shape_tells_or_does_not(shape, axis):
    assert channel_axis(shape) == axis


def saved(folder, kind, x):
    path = folder / f"images.{kind}"
    if kind == "npy":
        np.save(path, x)
    elif kind == "npz":
        np.savez(path, images=x)
    else:
        with h5py.File(path, "w") as file:
            file["images"] = x
    return path


@pytest.mark.parametrize("kind", ["npy", "npz", "h5"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_files(tmp_path, kind, dtype):
    x = np.random.default_rng(0).integers(0, 256, (5, 6, 7, 3)).astype(dtype)
    moved = x.transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(load(saved(tmp_path, kind, x)).x, moved)
    np.testing.assert_array_equal(load(saved(tmp_path, kind, moved)).x, moved)
    odd = saved(tmp_path, kind, x.transpose(0, 3, 1, 2)[..., :3])  # (5, 3, 6, 3)
    with pytest.raises(ValueError, match=r"images\.\w+: .*does not tell where the channels are; say layout='nchw'"):
        load(odd)
    np.testing.assert_array_equal(load(odd, layout="nchw").x, moved[..., :3])
    np.testing.assert_array_equal(load(odd, layout="nhwc").x, moved[..., :3].transpose(0, 3, 1, 2))
    assert load(odd, layout="nhwc").description["options"]["layout"] == "nhwc"
    with pytest.raises(ValueError, match="layout must be nchw or nhwc, got 'last'"):
        load(odd, layout="last")


def test_streamed_rows_are_moved_too(tmp_path):
    x = np.random.default_rng(0).integers(0, 256, (5, 3, 6, 3), np.uint8)
    streamed = load(saved(tmp_path, "h5", x), layout="nhwc", stream=True)
    np.testing.assert_array_equal(streamed.x[[4, 1]], x.transpose(0, 3, 1, 2)[[4, 1]])


def test_arrays_in_memory():
    with pytest.raises(ValueError, match="array: shape .40, 9, 9, 9. does not tell"):
        from_array(np.zeros((40, 9, 9, 9)))
    assert from_array(np.zeros((40, 9, 9, 9)), layout="nchw").shape == (9, 9, 9)
