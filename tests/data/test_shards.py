"""Activations in `.npy` and `.safetensors`, in one file or many."""

import struct
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch

from partita.data import batches, load, remake

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(60, 4)).astype(np.float32)


@pytest.mark.parametrize("stream", [None, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int16])
def test_a_folder_of_npy_is_one_table_in_the_order_of_numbers(tmp_path, stream, dtype):
    rows = (100 * ROWS).astype(dtype)
    for number, (start, stop) in enumerate([(0, 10), (10, 11), (11, 60)]):
        np.save(tmp_path / f"shard_{(1, 2, 10)[number]}.npy", rows[start:stop])
    np.save(tmp_path / "token.npy", np.arange(60))
    data = load(tmp_path, stream=stream)
    assert data.in_memory == (stream is None)
    np.testing.assert_array_equal(np.asarray(data.x), rows.astype(np.float32))
    wanted = [59, 10, 0, 10, 33]
    np.testing.assert_array_equal(data.observations(wanted), rows[wanted].astype(np.float32))
    np.testing.assert_array_equal(next(batches(data, [np.array(wanted)])), rows[wanted].astype(np.float32))
    np.testing.assert_array_equal(data.columns["token"], np.arange(60))
    np.testing.assert_array_equal(np.asarray(remake(data.description).x), np.asarray(data.x))


def test_one_npy_can_stay_on_disk(tmp_path):
    np.save(tmp_path / "a.npy", ROWS)
    data = load(tmp_path / "a.npy", stream=True)
    assert not data.in_memory
    np.testing.assert_array_equal(data.observations([7, 3]), ROWS[[7, 3]])
    np.save(tmp_path / "b.npy", RNG.integers(0, 256, (5, 6, 7, 3), np.uint8))
    images = load(tmp_path / "b.npy", stream=True)
    assert images.shape == (3, 6, 7)
    np.testing.assert_array_equal(images.observations(), load(tmp_path / "b.npy").observations())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("folder", [False, True])
def test_safetensors_by_rows_and_tokens(tmp_path, dtype, folder):
    rows = torch.as_tensor(ROWS).to(dtype)
    numbers = torch.arange(60)
    if folder:
        for number in (0, 1):
            part = slice(30 * number, 30 * number + 30)
            content = {"acts": rows[part].reshape(10, 3, 4).clone(), "position": numbers[part].clone()}
            save_torch(content, tmp_path / f"{number}.safetensors")
    else:
        save_torch({"acts": rows, "position": numbers}, tmp_path / "a.safetensors")
    data = load(tmp_path if folder else tmp_path / "a.safetensors", stream=True)
    np.testing.assert_array_equal(data.observations([41, 2, 59]), rows.float().numpy()[[41, 2, 59]])
    np.testing.assert_array_equal(data.columns["position"], np.arange(60))


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ({"a": ROWS, "b": ROWS}, {}, r"which array holds the observations\? Give key="),
        ({"a": ROWS}, {"key": "b"}, "has no array of numbers 'b'"),
        ({"a": ROWS[:, 0].copy()}, {"key": "a"}, "at least two dimensions"),
    ],
)
def test_bad_safetensors(tmp_path, content, options, message):
    save_file(content, tmp_path / "a.safetensors")
    with pytest.raises(ValueError, match=f"a.safetensors: .*{message}"):
        load(tmp_path / "a.safetensors", **options)


def test_a_header_that_claims_more_than_there_is(tmp_path):
    header = b'{"a":{"dtype":"F32","shape":[1000000,1000],"data_offsets":[0,4000000000]}}'
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(100))
    with pytest.raises(ValueError, match=r"a.safetensors: "):
        load(tmp_path / "a.safetensors")


def test_shards_that_do_not_fit_each_other(tmp_path):
    np.save(tmp_path / "0.npy", ROWS)
    np.save(tmp_path / "1.npy", ROWS[:, :3])
    with pytest.raises(
        ValueError, match=r"different kinds cannot follow each other: 0.npy float32 \(60, 4\) and 1.npy"
    ):
        load(tmp_path)
    np.save(tmp_path / "1.npy", np.asfortranarray(ROWS))
    with pytest.raises(ValueError, match="stored by rows, among 0.npy, 1.npy"):
        load(tmp_path)
    np.save(tmp_path / "1.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(ValueError, match="1.npy: .*never unpickled"):
        load(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"empty: no images here"):
        load(tmp_path / "empty")


def test_a_file_cut_short_while_it_is_read(tmp_path):
    np.save(tmp_path / "0.npy", RNG.normal(size=(1000, 64)))
    data = load(tmp_path, stream=True)
    with open(tmp_path / "0.npy", "r+b") as file:
        file.truncate(5000)
    with pytest.raises(ValueError, match="0.npy: the file has become shorter"):
        data.observations([900])


CHILD = """
import resource, sys, numpy as np
from partita.data import batches, load
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
data = load(sys.argv[1], stream=True)
rng = np.random.default_rng(0)
for rows in batches(data, (rng.integers(0, data.size, 256) for _ in range(40))):
    assert rows.shape == (256, 128)
print(data.size, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux")
def test_ten_million_rows_are_streamed_and_never_held(tmp_path):
    """2.5 GB in four files that are holes on disk; their rows take 80 MB where each is touched with its whole page."""
    for number in range(4):
        with open(tmp_path / f"{number}.npy", "wb") as file:
            header = {"descr": "<f2", "fortran_order": False, "shape": (2_500_000, 128)}
            np.lib.format.write_array_header_1_0(file, header)
            file.truncate(file.tell() + 2_500_000 * 256)
    done = subprocess.run([sys.executable, "-c", CHILD, str(tmp_path)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    size, megabytes = map(int, done.stdout.split())
    assert size == 10**7
    assert megabytes < 150
