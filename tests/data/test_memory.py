"""What a file needs, conversion included, is compared with what is free before any of it is taken."""

import gzip
import json
import resource
import subprocess
import sys

import h5py
import numpy as np
import pytest
import scipy.io
from PIL import Image

from partita.data import _memory as memory

MB = 2**20


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with 10 GiB free, whose containers the test writes."""
    (tmp_path / "meminfo").write_text("MemTotal: 33554432 kB\nMemAvailable:   10485760 kB\n")
    (tmp_path / "cgroup").write_text("4:cpu,memory:/job/7\n1:name=systemd:/\n0::/user/me\n")
    monkeypatch.setattr(memory, "MACHINE", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "CONTAINERS", tmp_path)

    def container(folder, **files):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (tmp_path / folder / name.replace("__", ".")).write_text(content)

    return container


def test_free_is_not_total(machine):
    assert memory.free_memory() == 10 * 2**30
    memory.check_fits(10 * 2**30, "the stack")
    with pytest.raises(ValueError, match=r"the stack needs 12.00 GiB of memory, 10.00 GiB are free: use stream=true"):
        memory.check_fits(12 * 2**30, "the stack", "use stream=true")


@pytest.mark.parametrize("folder", ["user/me", "user", "."])
def test_containers_around_the_process_leave_less(machine, folder):
    machine(folder, memory__max="5000000\n", memory__current="2000000\n", memory__stat="file 7\ninactive_file 1000\n")
    machine("user/me", memory__max="max\n" if folder != "user/me" else "5000000\n")
    assert memory.free_memory() == 3001000


def test_containers_of_the_older_interface(machine):
    files = {"memory__limit_in_bytes": "900000", "memory__usage_in_bytes": "100000"}
    machine("memory/job/7", **files, memory__stat="inactive_file 1\ntotal_inactive_file 50\n")
    machine("memory", memory__limit_in_bytes=str(2**63 - 4096), memory__usage_in_bytes="100000")
    assert memory.free_memory() == 800050
    machine("memory/job/7", memory__usage_in_bytes="1200000")
    assert memory.free_memory() == 0  # never below


def npy(folder):
    """A hole on disk: nothing is stored but the header."""
    with open(folder / "bytes.npy", "wb") as file:
        header = {"descr": "|u1", "fortran_order": False, "shape": (30 * MB, 1)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 30 * MB)
    return {"stream": False}


def npz(folder):
    np.savez_compressed(folder / "bytes.npz", x=np.zeros((30 * MB, 1), np.uint8))
    return {}


def npz_factors(folder):
    np.savez_compressed(folder / "factors.npz", x=np.zeros((4, 1)), factors=np.zeros((30 * MB, 1), np.uint8))
    return {}


def h5(folder):
    with h5py.File(folder / "claims.h5", "w") as file:
        file.create_dataset("x", (10**9, 4), "u1", chunks=(1024, 4))
    return {"stream": False}


def h5_factors(folder):
    with h5py.File(folder / "factors.hdf5", "w") as file:
        file.create_dataset("x", (10**9, 4), "u1", chunks=(1024, 4))
        file.create_dataset("factors", (30 * MB,), "u1", chunks=(1024,))
    return {}


def h5_chunk(folder):
    """One row of a streamed array unpacks its whole chunk."""
    with h5py.File(folder / "chunk.h5", "w") as file:
        file.create_dataset("x", (10**9, 4), "f4", chunks=(2**23, 4), compression="gzip")
    return {"stream": True}


def movie(folder):
    with h5py.File(folder / "movie.h5", "w") as file:
        file.create_dataset("frames", (100, 10, 20_000), "i2", chunks=(1, 10, 20_000))
    return {"samples": "pixels"}


def csv(folder):
    (folder / "table.csv").write_bytes(b"a,b\n" + b"0,0\n" * (4 * MB))
    return {}


def parquet(folder):
    pa = pytest.importorskip("pyarrow", reason="parquet needs pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"a": np.zeros(10 * MB, np.int8)}), folder / "table.parquet")
    return {}


def tif(folder):
    pages = [Image.new("1", (6000, 6000))] * 4
    pages[0].save(folder / "stack.tif", save_all=True, append_images=pages[1:], compression="group4")
    return {}


def pictures(folder):
    (folder / "pictures").mkdir()
    for number in range(10):
        Image.new("L", (4000, 4000)).save(folder / f"pictures/{number}.png")
    return {"stream": False}


def idx(folder):
    with gzip.open(folder / "t10k-images-idx3-ubyte.gz", "wb", 1) as file:
        file.write(bytes((0, 0, 8, 3)) + np.array([50 * 2**10, 32, 32], ">u4").tobytes() + bytes(50 * MB))
    return {}


def h5ad(folder):
    """A thousand cells whose entries are all claimed: 4 kB on disk."""
    with h5py.File(folder / "claims.h5ad", "w") as file:
        group = file.create_group("X")
        group.attrs.update({"encoding-type": "csr_matrix", "shape": np.array([1000, 30_000])})
        for name in ("data", "indices"):
            group.create_dataset(name, (30_000_000,), "f4" if name == "data" else "i4", chunks=(1024,))
        group["indptr"] = 30_000 * np.arange(1001)
    return {"stream": False}


def mat(folder):
    scipy.io.savemat(folder / "zeros.mat", {"x": np.zeros((4 * MB, 1))}, do_compression=True)
    return {}


def safetensors(folder):
    header = b'{"x":{"dtype":"U8","shape":[31457280,1],"data_offsets":[0,31457280]}}'
    with open(folder / "bytes.safetensors", "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(file.tell() + 30 * MB)
    return {"stream": False}


def nwb(folder):
    with h5py.File(folder / "long.nwb", "w") as file:
        file["units/spike_times"] = np.array([0.0, 1e9])
        file["units/spike_times_index"] = np.array([1, 2])
    return {"bin": 1.0}


CHILD = """
import json, resource, sys
import numpy, h5py, safetensors, scipy.sparse, PIL.Image, PIL.TiffImagePlugin, PIL.PngImagePlugin, pyarrow.parquet
from partita.data import load, _memory as memory
from partita.data.mnist import read_idx
PIL.Image.init()
path, options, room = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
used = resource.getpagesize() * int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
said = ""
try:
    if path.endswith(".gz"):
        read_idx(path)
    else:
        data = load(path, **options)
        data.observations([5, 1])
except ValueError as error:
    said = str(error)
print(json.dumps({"said": said, "took": 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)}))
"""


def tried(path, options, room):
    """Reads a file in a process of its own, whose limit leaves it `room` bytes: what it says, and what it took."""
    command = [sys.executable, "-c", CHILD, str(path), json.dumps(options), str(room)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


limited = pytest.mark.skipif(sys.platform != "linux", reason="needs limits of address space and /proc")


@limited
@pytest.mark.parametrize(
    "write",
    [
        npy,
        npz,
        npz_factors,
        h5,
        h5_factors,
        h5_chunk,
        movie,
        csv,
        parquet,
        tif,
        pictures,
        idx,
        h5ad,
        mat,
        safetensors,
        nwb,
    ],
)
def test_small_files_that_need_much_are_refused_before_they_take_it(tmp_path, write):
    options = write(tmp_path)
    (path,) = tmp_path.iterdir()
    found = tried(path, options, 100 * MB)
    assert str(path) in found["said"]
    assert "GiB of memory" in found["said"]
    assert "GiB are free: " in found["said"]  # and what to do
    assert "\n" not in found["said"]
    assert found["took"] < 20 * MB, found


@limited
def test_a_file_that_claims_a_billion_rows_is_streamed(tmp_path):
    path = tmp_path / "claims.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (10**9, 4), "u1", chunks=(1024, 4))
    found = tried(path, {}, 400 * MB)
    assert found["said"] == ""
    assert found["took"] < 20 * MB


@limited
def test_repeated_text_is_kept_once(tmp_path):
    """4,000 rows of the same megabyte of text: 8 kB on disk, 16 GB as an array of text."""
    pa = pytest.importorskip("pyarrow", reason="parquet needs pyarrow")
    from pyarrow import parquet

    text = pa.DictionaryArray.from_arrays(pa.array(np.arange(4000) % 2, pa.int32()), ["a" * MB, "b" * MB])
    table, path = pa.table({"text": text, "n": np.arange(4000)}), tmp_path / "coded.parquet"
    parquet.write_table(table, path, compression="zstd", dictionary_pagesize_limit=2**24)
    assert path.stat().st_size < 60_000
    found = tried(path, {}, 400 * MB)
    assert "text in column 'text'" in found["said"]
    assert found["took"] < 20 * MB
    found = tried(path, {"factors": "text"}, 400 * MB)
    assert found["said"] == ""
    assert found["took"] < 100 * MB


@limited
def test_text_that_does_not_repeat_is_refused_where_it_does_not_fit(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="parquet needs pyarrow")
    from pyarrow import parquet

    text = [f"{number}" + "a" * MB for number in range(100)]
    path = tmp_path / "plain.parquet"
    parquet.write_table(pa.table({"text": text, "n": np.arange(100)}), path, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 60_000
    found = tried(path, {"factors": "text"}, 150 * MB)
    assert "the table, 100 rows of 2 columns, needs" in found["said"]
    assert found["took"] < 20 * MB
    assert tried(path, {"factors": "text"}, 800 * MB)["said"] == ""


def test_what_conversion_needs_is_counted(tmp_path, monkeypatch):
    """Bytes as they are read and float32 beside them: 5 bytes a cell, no more."""
    np.save(tmp_path / "a.npy", np.zeros((1000, 10), np.uint8))
    from partita.data import load

    monkeypatch.setattr(memory, "free_memory", lambda: 50_000)
    assert load(tmp_path / "a.npy").size == 1000
    monkeypatch.setattr(memory, "free_memory", lambda: 49_999)
    with pytest.raises(ValueError, match=r"a.npy: .*0.00 GiB of memory.*HDF5.*stream=true"):
        load(tmp_path / "a.npy")


def test_the_limit_of_the_process_itself_counts():
    free = memory.free_memory()
    assert 0 < free <= resource.getpagesize() * 2**40
