"""Files are read in threads as they are read alone."""

import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import h5py
import numpy as np
import pytest
from PIL import Image

from partita.data import load
from partita.data._npy import read_npy

ROWS = np.random.default_rng(0).integers(0, 256, (40, 8, 9), np.uint8)


def written(folder):
    np.save(folder / "a.npy", ROWS)
    np.savez_compressed(folder / "a.npz", images=ROWS)
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("images", data=ROWS, chunks=(7, 8, 9), compression="gzip")
    np.savetxt(folder / "a.csv", ROWS.reshape(40, -1), delimiter=",")
    pages = [Image.fromarray(page) for page in ROWS]
    pages[0].save(folder / "a.tif", save_all=True, append_images=pages[1:])
    (folder / "pictures").mkdir()
    for number, page in enumerate(pages):
        page.save(folder / f"pictures/{number:02d}.png")
    return sorted(folder.iterdir())


@pytest.mark.parametrize("stream", [False, True])
def test_eight_threads_read_what_one_reads(tmp_path, stream):
    paths = written(tmp_path)

    def read(path):
        options = {"stream": True} if stream and path.suffix in (".h5", "") else {}
        return load(path, **options).observations([5, 39, 0])

    expected = {path: read(path) for path in paths}
    with ThreadPoolExecutor(8) as threads:
        for path, found in zip(paths * 12, threads.map(read, paths * 12)):
            np.testing.assert_array_equal(found, expected[path])


def test_threads_share_a_streamed_file(tmp_path):
    written(tmp_path)
    for path in (tmp_path / "a.h5", tmp_path / "pictures"):
        data = load(path, stream=True)
        expected = data.observations()
        indices = [np.random.default_rng(k).integers(0, 40, 6) for k in range(60)]
        with ThreadPoolExecutor(8) as threads:
            for index, found in zip(indices, threads.map(data.observations, indices)):
                np.testing.assert_array_equal(found, expected[index])


def test_a_collector_that_runs_python_between_does_not_disturb_the_headers(tmp_path):
    """Python 3.11 loses count of `ast`'s depth when threads change inside it, as at a callback of the collector."""
    np.save(tmp_path / "a.npy", ROWS)
    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.callbacks.append(lambda phase, info: sum(range(200)))
    try:
        gc.set_threshold(5)
        sys.setswitchinterval(1e-6)
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(read_npy, [tmp_path / "a.npy"] * 150))
    finally:
        gc.callbacks.pop()
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)
