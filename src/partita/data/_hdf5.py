"""HDF5: arrays by their path inside the file, in memory or streamed from disk."""

import os
import weakref
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from partita.data._card import FileCard
from partita.data._fetch import cache_folder
from partita.data._layout import arranged, arranged_shape
from partita.data._memory import check_fits
from partita.data._movies import check_samples
from partita.data._npy import Header
from partita.data._reading import existing_file, reading
from partita.data._records import Records
from partita.data._scratch import Scratch
from partita.data.arrays import (
    FACTOR_KEYS,
    LABEL_KEYS,
    bytes_needed,
    bytes_of_columns,
    columns_of,
    described,
    from_array,
    observation_key,
)
from partita.data.dataset import Dataset
from partita.data.rows import DiskRows, settled

CARD = FileCard(
    name="HDF5",
    files=(".h5", ".hdf5"),
    becomes="a row each of the one table or movie, with factors and labels where it has them",
    written_by="h5py, MATLAB, Julia",
)
SMALLER = "take fewer frames, or pixels binned together"


def load_h5(
    path: Path,
    *,
    key: str | None = None,
    factors: str | None = None,
    labels: Sequence[str] | str | None = None,
    samples: str | None = None,
    layout: str | None = None,
    scale: float | None = None,
    stream: bool | None = None,
) -> Dataset:
    """Observations from an HDF5 file; `key`, `factors` and `labels` are paths inside it such as "day1/frames".

    `stream=True` leaves the observations on disk and reads batches as they are needed; by default that happens when
    they would take more than 40 % of the free memory.
    """
    check_samples(samples)
    path = existing_file(path)
    shapes = h5_shapes(path)
    key = key or observation_key(shapes, path)
    factors = factors or next((name for name in FACTOR_KEYS if name in shapes and name != key), None)
    labels = labels or next((name for name in LABEL_KEYS if name in shapes and name != key), None)
    options = {"key": key, "factors": factors, "labels": labels, "samples": samples, "layout": layout, "scale": scale}
    rows = h5_rows(path, key, layout=layout)
    if samples == "pixels":
        check_fits(bytes_needed(Header(rows.dtype, rows.shape, False), samples), f"the movie {rows.shape}", SMALLER)
    return from_array(
        np.asarray(rows) if samples == "pixels" else settled(rows, stream),
        factors=None if factors is None else read_h5(path, factors),
        labels=columns_of(labels, lambda name: read_h5(path, name)),
        samples=samples,
        layout="nchw",  # by now, if these are images
        name=path.stem,
        scale=scale,
        description=described(path, options),
    )


def h5_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of numbers in the file itself, by path; links to other files are not followed."""
    import h5py

    shapes: dict[str, tuple[int, ...]] = {}

    def note(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.shape is not None and item.dtype.kind in "biuf":
            shapes[name] = item.shape

    with reading(path), h5py.File(path, "r") as file:
        file.visititems(note)
    return shapes


def read_h5(path: Path, key: str) -> np.ndarray:
    """A whole array of numbers."""
    import h5py

    with reading(path), h5py.File(path, "r") as file:
        array = inner_array(file, key)
        header = Header(array.dtype, array.shape, False)
        check_fits(bytes_of_columns(header), f"array {key!r}, {header},", "take fewer rows")
        return array[()]


def inner_item(file: Any, key: str) -> Any:
    """The array or group at `key`, if it is in this file: a file must not make us read another one."""
    import h5py

    if isinstance(file.get(key, getlink=True), h5py.ExternalLink):
        raise ValueError(f"{key!r} is a link to another file, which is not followed")
    item = file.get(key)
    if item is None:
        raise ValueError(f"has no {key!r}")
    elsewhere = isinstance(item, h5py.Dataset) and (item.external or item.is_virtual)
    if elsewhere or item.file.filename != file.filename:
        raise ValueError(f"the numbers of {key!r} lie in another file, which is not opened")
    return item


def inner_array(file: Any, key: str) -> Any:
    """The array of numbers at `key`, in this file."""
    import h5py

    array = inner_item(file, key) if key in file or file.get(key, getlink=True) is not None else None
    if not isinstance(array, h5py.Dataset) or array.shape is None or array.dtype.kind not in "biuf":
        raise ValueError(f"has no array of numbers {key!r}")
    return array


class OpenFile:
    """An HDF5 file that stays open; opened again after a fork, since handles do not survive it."""

    def __init__(self, path: Path):
        self.path = path
        self.opened: tuple[int, Any] | None = None

    def array(self, key: str) -> Any:
        import h5py

        if self.opened is None or self.opened[0] != os.getpid():
            self.opened = (os.getpid(), h5py.File(self.path, "r"))
        return inner_array(self.opened[1], key)

    def close(self) -> None:
        if self.opened is not None:
            self.opened[1].close()
            self.opened = None


def check_chunk(array: Any, key: str) -> None:
    """ValueError where one chunk, which is unpacked as a whole, does not fit into memory."""
    chunk = min(prod(array.chunks), array.size) if array.chunks else 0
    rows = f"{array.chunks[0]:,} rows," if array.chunks else ""
    check_fits(2 * chunk * array.dtype.itemsize, f"one chunk of {key!r}, {rows}", "store it again in smaller chunks")


def h5_rows(path: Path, key: str, kept: np.ndarray | None = None, layout: str | None = None) -> DiskRows:
    """Rows `kept` of the array at `key`: 8-bit images stay so, the rest becomes float32; channels come first."""
    source = _RowSource(Path(path), key, layout)
    with reading(source.path):
        array = source.array()
        shape, images = array.shape, array.dtype in (np.uint8, np.bool_) and array.ndim > 2
        if len(shape) < 2:
            raise ValueError(f"{key!r} has shape {shape}; observations need at least two dimensions")
        placed = arranged_shape(shape, repr(key), layout)
        together = array.chunks[0] if array.chunks else 1
        source.open_contiguous(array)
    n = shape[0] if kept is None else len(kept)
    read = source.rows if kept is None else (lambda rows: source.rows(kept[rows]))
    return DiskRows((n, *placed[1:]), np.uint8 if images else np.float32, read, together if kept is None else 1)


class _RowSource:
    """Rows of an array in an open HDF5 file."""

    def __init__(self, path: Path, key: str, layout: str | None):
        self.path, self.key, self.layout = path, key, layout
        self.file = OpenFile(path)
        self.records: Records | None = None
        self.scratch: Scratch | None = None

    def array(self) -> Any:
        return self.file.array(self.key)

    def open_contiguous(self, array: Any) -> None:
        """Uncompressed arrays in one piece are read straight from the file: much faster for scattered rows."""
        offset = array.id.get_offset() if array.chunks is None else None
        if offset is not None and array.dtype.isnative and offset + array.nbytes <= self.path.stat().st_size:
            file = self.path.open("rb")
            weakref.finalize(self, file.close)
            self.records = Records(file.fileno(), offset, array.shape, array.dtype)
            self.file.close()

    def rows(self, wanted: np.ndarray) -> np.ndarray:
        with reading(self.path):
            rows = self.records.read(wanted) if self.records is not None else self.unpacked(wanted)
            return arranged(rows, repr(self.key), self.layout)

    def unpacked(self, wanted: np.ndarray) -> np.ndarray:
        array = self.array()
        if len(wanted) and (np.diff(wanted) == 1).all():  # one stretch, as when everything is read: nothing to keep
            return array[int(wanted[0]) : int(wanted[-1]) + 1]
        if self.scratch is None:
            step = array.chunks[0] if array.chunks else 1024
            check_chunk(array, self.key)
            chunks = lambda numbers: (self.array()[int(c) * step : int(c + 1) * step] for c in numbers)  # noqa: E731
            self.scratch = Scratch(array.shape, array.dtype, step, chunks)
        return self.scratch.read(wanted, cache_folder() / "scratch")
