import resource
import threading

import numpy as np
import pytest

from partita.data._scratch import Scratch

X = np.random.default_rng(0).normal(size=(103, 4, 5))


class Packed:
    """Counts how often each chunk is unpacked."""

    def __init__(self, dtype="f8", step=10):
        self.array, self.step, self.calls = X.astype(dtype), step, []

    def __call__(self, numbers):
        for number in numbers:
            self.calls.append(number)
            yield self.array[number * self.step : (number + 1) * self.step]


@pytest.mark.parametrize("dtype", ["<f8", ">f4", "u1"])
def test_every_chunk_is_unpacked_once(tmp_path, dtype):
    packed = Packed(dtype)
    scratch = Scratch(X.shape, packed.array.dtype, 10, packed)
    rng = np.random.default_rng(1)
    for _ in range(30):
        wanted = rng.integers(0, 103, rng.integers(0, 20))
        np.testing.assert_array_equal(scratch.read(wanted, tmp_path / "scratch"), packed.array[wanted])
    assert sorted(packed.calls) == list(range(11))
    assert list((tmp_path / "scratch").iterdir()) == []  # the file has no name, so nothing is left behind


def test_a_full_disk_ends_the_keeping_not_the_reading(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in (100, X.nbytes):
        packed = Packed()
        scratch = Scratch(X.shape, X.dtype, 10, packed)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            for _ in range(3):
                np.testing.assert_array_equal(scratch.read(np.array([102, 5, 50, 5]), tmp_path), X[[102, 5, 50, 5]])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert len(packed.calls) == (9 if limit == 100 else 3)


def test_no_folder_to_write_to(tmp_path):
    (tmp_path / "file").write_text("in the way")
    scratch = Scratch(X.shape, X.dtype, 10, Packed())
    np.testing.assert_array_equal(scratch.read(np.array([1, 99]), tmp_path / "file"), X[[1, 99]])


def test_several_threads(tmp_path):
    scratch = Scratch(X.shape, X.dtype, 7, Packed(step=7))
    wrong = []

    def read(seed):
        rng = np.random.default_rng(seed)
        for _ in range(40):
            wanted = rng.integers(0, 103, 9)
            if not np.array_equal(scratch.read(wanted, tmp_path), X[wanted]):
                wrong.append(seed)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
