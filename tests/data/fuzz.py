"""Mutated files, read in a process of their own: a crash, a hang or a foreign exception there fails the test here.

    python fuzz.py FORMAT COUNT SEED FOLDER

Prints one JSON line with the number of clean refusals and of valid data sets; anything else ends with status 1.
"""

import faulthandler
import gzip
import io
import json
import random
import shutil
import sys
import tarfile
import tempfile
import traceback
import warnings
from pathlib import Path

import layouts
import numpy as np
from scipy import sparse

from partita.data import Dataset, from_array, load
from partita.data._reading import reading
from partita.data.cars3d import _from_archive, read_model
from partita.data.celeba import read_attributes
from partita.data.mnist import read_idx
from partita.data.smallnorb import read_matrix

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(40, 3)).astype(np.float32)
IMAGES = RNG.integers(0, 256, (12, 8, 9), np.uint8)


def npy():
    yield ".npy", _saved(lambda stream: np.save(stream, TABLE))
    yield ".npy", _saved(lambda stream: np.save(stream, np.asfortranarray(IMAGES)))


def npz():
    for save in (np.savez, np.savez_compressed):
        yield ".npz", _saved(lambda stream, save=save: save(stream, x=TABLE, factors=np.arange(40) % 4))
    packed = sparse.csr_array(layouts.COUNTS)
    parts = {name: getattr(packed, name) for name in ("data", "indices", "indptr", "shape")}
    yield ".npz", _saved(lambda stream: np.savez(stream, **parts, format="csr", donor=layouts.DONORS))
    yield ".npz", _saved(lambda stream: np.savez(stream, imgs=IMAGES, metadata=np.array({"a": 1}, dtype=object)))


def csv():
    rows = [",".join(f"{value:.3f}" for value in row) for row in TABLE]
    yield ".csv", "\n".join(rows).encode()
    yield ".csv", "\n".join(["a,b,c", *rows]).encode()
    yield ".csv", "\n".join(['"a, b";b;c', *(row.replace(",", ";") for row in rows)]).encode()


def parquet():
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"a": TABLE[:, 0], "b": np.arange(40), "c": np.arange(40) % 2 == 0})
    for compression in ("none", "snappy"):
        yield ".parquet", _saved(lambda stream, kind=compression: parquet.write_table(table, stream, compression=kind))


def h5():
    import h5py

    for options in ({}, {"chunks": (5, 8, 9)}, {"chunks": (5, 8, 9), "compression": "gzip", "fletcher32": True}):
        stream = io.BytesIO()
        with h5py.File(stream, "w") as file:
            file.create_dataset("images", data=IMAGES, **options)
            file.create_dataset("factors", data=np.arange(12) % 3)
            file.create_dataset("more/inner", data=TABLE)
        yield ".h5", stream.getvalue()


def tif():
    from PIL import Image

    for compression, dtype in ((None, np.uint8), ("tiff_lzw", np.uint16), ("tiff_adobe_deflate", np.float32)):
        pages = [Image.fromarray(page.astype(dtype)) for page in IMAGES[:4]]
        yield (
            ".tif",
            _saved(
                lambda stream, pages=pages, kind=compression: pages[0].save(
                    stream, "TIFF", save_all=True, append_images=pages[1:], compression=kind
                )
            ),
        )


def picture():
    from PIL import Image

    noise = np.repeat(np.repeat(RNG.integers(0, 256, (12, 10, 3), np.uint8), 4, 0), 4, 1)
    for kind in ("png", "jpeg", "bmp", "gif", "webp", "ppm"):
        yield f".{kind}", _saved(lambda stream, kind=kind: Image.fromarray(noise).save(stream, kind))


def idx():
    plain = bytes((0, 0, 8, 3, 0, 0, 0, 12, 0, 0, 0, 8, 0, 0, 0, 9)) + IMAGES.tobytes()
    yield ".idx", plain
    yield ".gz", gzip.compress(plain)


def norb():
    plain = np.array([0x1E3D4C55, 3, *IMAGES.shape], "<i4").tobytes() + IMAGES.tobytes()
    yield ".mat", plain
    yield ".gz", gzip.compress(plain)


def matlab():
    from scipy.io import savemat

    views = np.broadcast_to(np.arange(4, dtype=np.uint8), (128, 128, 3, 24, 4))
    yield ".mat", _saved(lambda stream: savemat(stream, {"im": views, "mask": IMAGES}, do_compression=True))


def tar():
    for mode in ("w", "w:gz"):
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode=mode) as archive:
            for number in range(183):
                member = tarfile.TarInfo(f"data/cars/car_{number:03d}_mesh.mat")
                member.size = 90
                archive.addfile(member, io.BytesIO(RNG.bytes(90)))
        yield ".gz", stream.getvalue()


def attributes():
    lines = ["20", "Bald Smiling Young", *(f"{n:06d}.jpg -1  1 -1" for n in range(20))]
    yield ".txt", "\n".join(lines).encode()


def h5ad():
    for kind, options in (("csr", {}), ("csc", {"chunks": (20,), "compression": "gzip"}), ("dense", {})):
        yield ".h5ad", _saved(lambda stream, kind=kind, options=options: layouts.h5ad(stream, kind, **options))
    yield ".h5ad", _saved(layouts.old_h5ad)


def tenx():
    for version in (2, 3):
        yield ".h5", _saved(lambda stream, version=version: layouts.tenx(stream, version))


def nwb():
    yield ".nwb", _saved(layouts.nwb)
    yield ".nwb", _saved(lambda stream: layouts.nwb(stream, units=False, movie=True))


def mat():
    from scipy.io import savemat

    content = {
        "x": TABLE,
        "movie": IMAGES,
        "cells": sparse.csc_array(layouts.COUNTS),
        "who": "a",
        "s": {"rates": TABLE},
    }
    for packed in (False, True):
        yield ".mat", _saved(lambda stream, packed=packed: savemat(stream, content, do_compression=packed))
    yield ".mat", _saved(lambda stream: savemat(stream, {"x": TABLE}, format="4"))


def mat73():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.mat"
        layouts.mat73(path)
        yield ".mat", path.read_bytes()


def safetensors():
    from safetensors.numpy import save

    yield ".safetensors", save({"acts": TABLE, "position": np.arange(40)})
    yield ".safetensors", save({"acts": TABLE.astype(np.float16).reshape(10, 4, 3)})


def trace():
    """F.npy of a suite2p folder, and iscell.npy beside it."""
    yield "F.npy", _saved(lambda stream: np.save(stream, layouts.TRACES))
    yield "iscell.npy", _saved(lambda stream: np.save(stream, layouts.ACCEPTED))
    yield "Fneu.npy", _saved(lambda stream: np.save(stream, layouts.AROUND))


def shard():
    yield "1.npy", _saved(lambda stream: np.save(stream, TABLE))
    yield "2.npy", _saved(lambda stream: np.save(stream, TABLE[:7]))


FORMATS = {
    maker.__name__: maker
    for maker in (
        npy,
        npz,
        csv,
        parquet,
        h5,
        tif,
        picture,
        idx,
        norb,
        matlab,
        tar,
        attributes,
        h5ad,
        tenx,
        nwb,
        mat,
        mat73,
        safetensors,
        trace,
        shard,
    )
}


def read(kind, path):
    """What the library makes of the file, as a data set."""
    if kind == "picture":
        return load(path.parent, size=16)
    if kind == "idx":
        return from_array(_two_dimensions(read_idx(path)))
    if kind == "norb":
        return from_array(_two_dimensions(read_matrix(path)))
    if kind == "matlab":
        with reading(path):
            return from_array(read_model(path.read_bytes())[:, 0])
    if kind == "tar":
        return from_array([[len(content())] for _, content in _from_archive(path)])
    if kind == "attributes":
        return from_array(read_attributes(path)[2])
    if kind in ("mat", "mat73"):
        return _first_of(path, ("x", "spikes", "cells", "movie", "s.rates"))
    if kind in ("trace", "shard"):
        return _in_a_folder(kind, path)
    return load(path)


def _first_of(path, keys):
    """Every array by its name; the first that can be read, or the last refusal."""
    found, refusal = None, None
    for key in keys:
        try:
            found = load(path, key=key)
        except (ValueError, OSError) as error:
            refusal = error
    if found is None:
        raise refusal
    return found


def _in_a_folder(kind, path):
    """The file among whole ones of its kind, under its own name."""
    folder = path.parent / kind
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for suffix, content in FORMATS[kind]():
        (folder / f"fuzz{suffix}" if kind == "shard" else folder / suffix).write_bytes(content)
    name = path.name if kind == "shard" else path.name.removeprefix("fuzz")
    shutil.copy(path, folder / name)
    try:
        return load(folder)
    except (ValueError, OSError) as error:
        if folder.name not in str(error):
            raise
        raise type(error)(f"{path.name}: {error}") from error


def _two_dimensions(array):
    return (
        array.reshape(max(1, len(array)), -1)[:, :50].astype(float) if array.ndim and array.size else np.zeros((1, 1))
    )


def _saved(write):
    """What a function writes into a stream."""
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def mutated(content, rng):
    """A few small damages, half of them near the beginning, where headers are."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        reach = min(len(data), 256) if rng.random() < 0.5 else len(data)
        at = rng.randrange(max(1, reach))
        damage = rng.randrange(7)
        if damage == 0 and data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif damage == 1 and data:
            data[at % len(data)] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
        elif damage == 2:
            data[at : at + 4] = rng.choice((b"\xff\xff\xff\xff", b"\x00\x00\x00\x80", b"\xff\xff\xff\x7f", b"\0\0\0\0"))
        elif damage == 3:
            del data[at : at + rng.randint(1, 40)]
        elif damage == 4:
            data[at:at] = rng.randbytes(rng.randint(1, 40))
        elif damage == 5:
            data[at : at + 8] = data[: rng.randint(1, 16)]
        else:
            del data[at if rng.random() < 0.3 else max(1, len(data) - rng.randint(1, 60)) :]
    return bytes(data)


def main(kind, count, seed, folder):
    faulthandler.enable()
    warnings.simplefilter("ignore")
    rng = random.Random(seed)
    originals = list(FORMATS[kind]())
    found = {"refused": 0, "valid": 0}
    for number in range(count):
        suffix, content = originals[number % len(originals)]
        path = folder / f"fuzz{suffix}"
        path.write_bytes(content if number < len(originals) else mutated(content, rng))
        faulthandler.dump_traceback_later(20, exit=True)
        try:
            data = read(kind, path)
            if not isinstance(data, Dataset) or data.size < 1 or data.observations([0]).shape[1:] != data.shape:
                raise AssertionError(f"not a data set: {data!r}")
            found["valid"] += 1
        except (ValueError, OSError) as error:
            text = str(error)
            if "\n" in text or (path.name not in text and not text.startswith("array:")) or number < len(originals):
                kept = folder / f"unclear{number}{suffix}"
                path.rename(kept)
                raise SystemExit(f"{kind} {number}, kept as {kept}: unclear refusal: {text!r}") from error
            found["refused"] += 1
        except BaseException:
            kept = folder / f"failing{number}{suffix}"
            path.rename(kept)
            traceback.print_exc()
            raise SystemExit(f"{kind} {number}, kept as {kept}") from None
        faulthandler.cancel_dump_traceback_later()
        path.unlink(missing_ok=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
