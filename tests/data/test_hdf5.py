import os

import h5py
import numpy as np
import pytest

from partita.data import batches, load

RNG = np.random.default_rng(0)
FRAMES = RNG.integers(0, 256, (40, 8, 9, 3), np.uint8)


@pytest.fixture
def write(tmp_path):
    def make(**arrays):
        path = tmp_path / "a.h5"
        with h5py.File(path, "w") as file:
            for key, value in arrays.items():
                array, options = value if isinstance(value, tuple) else (value, {})
                file.create_dataset(key.replace("__", "/"), data=array, **options)
        return path

    return make


LAYOUTS = {
    "contiguous": {},
    "chunked": {"chunks": (7, 8, 9, 3)},
    "packed": {"chunks": (7, 8, 9, 3), "compression": "gzip"},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("stream", [True, False])
def test_every_layout_gives_the_same_rows(write, layout, stream):
    path = write(images=(FRAMES, LAYOUTS[layout]), factors=np.arange(40) % 5)
    data = load(path, stream=stream)
    expected = FRAMES.transpose(0, 3, 1, 2)
    assert data.in_memory != stream
    assert data.x.shape == expected.shape
    assert data.x_scale == 1 / 255
    for index in ([39, 0, 17, 17], slice(3, 30, 4), np.arange(40) % 2 == 0, [], -1, slice(None)):
        np.testing.assert_array_equal(data.x[index], expected[index])
    np.testing.assert_array_equal(np.asarray(data.x), expected)
    assert data.factor_sizes == (5,)


def test_numbers_become_single_precision(write):
    table = RNG.normal(size=(30, 4))
    data = load(write(inner__x=table, other=np.zeros(3)), key="inner/x", stream=True)
    assert data.x.dtype == np.float32
    np.testing.assert_array_equal(data.observations([5, 2]), table[[5, 2]].astype(np.float32))
    big_endian = load(write(x=table.astype(">f4")), stream=True)
    np.testing.assert_array_equal(big_endian.observations(), table.astype(np.float32))


def test_labels_by_path_and_movies(write):
    movie = RNG.normal(size=(20, 5, 6)).astype(np.float32)
    movie[:, 0] = 0
    path = write(rec__frames=movie, speed=np.arange(20.0), place=np.arange(40.0).reshape(20, 2))
    frames = load(path, key="rec/frames", labels=["speed", "place"], samples="frames", stream=True)
    assert frames.shape == (1, 5, 6)
    assert frames.labels.shape == (20, 3)
    pixels = load(path, key="rec/frames", samples="pixels")
    assert pixels.x.shape == (24, 20)
    row, column = pixels.factors[7]
    np.testing.assert_array_equal(pixels.x[7], movie[:, row, column])


def test_another_process_reads_too(write):
    """An HDF5 handle does not survive a fork; the rows do."""
    data = load(write(images=(FRAMES, LAYOUTS["packed"])), stream=True)
    first = data.x[[3]]
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(data.x[[3]], first) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_batches_come_in_order_and_errors_come_through(write):
    data = load(write(images=(FRAMES, LAYOUTS["packed"])), stream=True)
    indices = [RNG.integers(0, 40, 6) for _ in range(15)]
    for ahead in (0, 1, 4, 99):
        for index, batch in zip(indices, batches(data, indices, ahead=ahead), strict=True):
            np.testing.assert_array_equal(batch, data.observations(index))
    with pytest.raises(IndexError, match="rows are 0 to 39"):
        list(batches(data, [np.array([40])]))
    with pytest.raises(ValueError, match="ahead"):
        list(batches(data, indices, ahead=-1))
    early = batches(data, iter(indices), ahead=2)
    next(early)
    early.close()  # leaving early neither hangs nor warns


def test_numbers_outside_the_file_are_not_followed(write, tmp_path):
    path = write(x=np.zeros((4, 3)))
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["y"] = np.ones((4, 3))
    (tmp_path / "raw.bin").write_bytes(bytes(96))
    with h5py.File(path, "a") as file:
        file["link"] = h5py.ExternalLink(str(secret), "y")
        file.create_dataset("raw", (4, 3), "f8", external=[(str(tmp_path / "raw.bin"), 0, 96)])
        layout = h5py.VirtualLayout((4, 3), "f8")
        layout[:] = h5py.VirtualSource(str(secret), "y", (4, 3))
        file.create_virtual_dataset("virtual", layout)
        file["soft"] = h5py.SoftLink("/link")
    for key in ("link", "raw", "virtual", "soft"):
        with pytest.raises(ValueError, match="a.h5: .*(another file)"):
            load(path, key=key)
    assert load(path).x.max() == 0


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        ({"a": np.zeros((4, 3)), "b": np.zeros((4, 2))}, {}, "which array holds the observations"),
        ({"x": np.zeros((4, 3))}, {"key": "y"}, "no array of numbers 'y'"),
        ({"x": np.zeros(4)}, {}, "at least two dimensions"),
        ({"x": np.array([b"a", b"b"])}, {}, "no array of numbers"),
        ({"x": np.full((4, 3), np.nan)}, {"stream": False}, "NaN"),
        ({"x": np.zeros((4, 3)), "labels": np.zeros(5)}, {}, "labels has 5"),
        ({"x": np.zeros((4, 3))}, {"samples": "voxels"}, "'frames' or 'pixels'"),
        ({"x": np.zeros((4, 3))}, {"samples": "pixels"}, "needs a movie"),
    ],
)
def test_bad_files_and_options(write, arrays, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        load(write(**arrays), **options)
    assert "a.h5" in str(caught.value)


def test_more_than_memory_is_refused_or_streamed(tmp_path):
    path = tmp_path / "huge.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (2**40, 64), "f4", chunks=(1024, 64))
    with pytest.raises(ValueError, match="huge.h5: .*GiB"):
        load(path, stream=False)
    data = load(path)  # decides by itself
    assert data.size == 2**40
    assert data.observations([2**39]).shape == (1, 64)
