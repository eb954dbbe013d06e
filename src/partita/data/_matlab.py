"""`.mat` files of Matlab: to version 7 through scipy, of version 7.3, which is HDF5, through h5py."""

import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from partita.data._card import FileCard
from partita.data._h5_frame import numbers
from partita.data._hdf5 import inner_item
from partita.data._memory import check_fits
from partita.data._movies import check_samples
from partita.data._nearest import listed, nearest
from partita.data._reading import existing_file, reading
from partita.data.arrays import columns_of, described, from_array, observation_key
from partita.data.dataset import Dataset

CARD = FileCard(
    name="Matlab",
    files=(".mat",),
    becomes="a row each of a matrix, a frame each of (height, width, time); fields of structs by name, as in session.x",
    written_by="Matlab, Octave, scipy.io.savemat",
)
NUMBERS = {
    "double",
    "single",
    "logical",
    "sparse",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
}
HEADER, BLOCK, COMPRESSED = 128, 1 << 20, 15
SMALLER = "save fewer variables, or an array as HDF5 (.h5), which stream=true reads as it is needed"


def load_mat(
    path: Path,
    *,
    key: str | None = None,
    labels: Sequence[str] | str | None = None,
    axis: int | None = None,
    samples: str | None = None,
    layout: str | None = None,
    scale: float | None = None,
) -> Dataset:
    """The array `key` of a `.mat` file, "session.spikes" in a struct; `axis`, counted from 1 as in Matlab, is that of
    the observations: the first of a matrix, the last of movies (height, width, time) unless said. `labels` and other
    variables with one number an observation are kept."""
    check_samples(samples)
    path = existing_file(path)
    with reading(path):
        arrays = _of_hdf5(path) if _is_hdf5(path) else _of_scipy(path)
        key = key or observation_key(_shapes(arrays), path)
        if key not in arrays:
            raise ValueError(f"has no array of numbers {key!r}{nearest(key, arrays)}; it has {listed(arrays)}")
        x = _observations_first(arrays[key], axis, key)
        lists = {name: values.reshape(-1) for name, values in arrays.items() if name != key and values.size == len(x)}
        return from_array(
            x,
            labels=columns_of(labels, lambda name: _listed(name, lists, len(x))),
            columns={name: values for name, values in lists.items() if name.isidentifier() or "." in name},
            samples=samples,
            layout=layout,
            name=path.stem,
            scale=scale,
            description=described(
                path, {"key": key, "labels": labels, "axis": axis, "samples": samples, "layout": layout, "scale": scale}
            ),
        )


def _shapes(arrays: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    """Every array of Matlab has two dimensions: those of one row or column are lists."""
    return {name: tuple(n for n in a.shape if n > 1) if min(a.shape) == 1 else a.shape for name, a in arrays.items()}


def _listed(name: str, lists: Mapping[str, np.ndarray], rows: int) -> np.ndarray:
    if name not in lists:
        raise ValueError(f"no array {name!r} with one number for each of {rows:,} rows; there are {listed(lists)}")
    return lists[name]


def _observations_first(array: np.ndarray, axis: int | None, key: str) -> np.ndarray:
    if array.ndim < 2 or 0 in array.shape:
        raise ValueError(f"{key!r} has shape {array.shape}; observations need at least two dimensions")
    if axis is None:
        axis = 1 if array.ndim == 2 else array.ndim
    if not 1 <= axis <= array.ndim:
        raise ValueError(f"axis must be 1 to {array.ndim} for {key!r} of shape {array.shape}, got {axis}")
    return np.moveaxis(array, axis - 1, 0)


def _is_hdf5(path: Path) -> bool:
    import h5py

    return bool(h5py.is_hdf5(path))


def _of_scipy(path: Path) -> dict[str, np.ndarray]:
    """Arrays of numbers, and those in structs, once it is known how much there is to unpack."""
    from scipy.io import loadmat, whosmat

    unpacked = _unpacked_bytes(path)
    check_fits(4 * unpacked, f"its content, {unpacked:,} bytes unpacked,", SMALLER)
    kinds = {name: (kind, shape) for name, shape, kind in whosmat(str(path), appendmat=False)}
    wanted = [name for name, (kind, _) in kinds.items() if kind in NUMBERS or kind == "struct"]
    if not wanted:
        raise ValueError(f"has no array of numbers; it has {listed(f'{n} ({kind})' for n, (kind, _) in kinds.items())}")
    for name, (kind, shape) in kinds.items():  # what the headers claim, which damage may have changed
        claimed = 8 * np.prod([float(max(0, n)) for n in shape])
        if kind in NUMBERS and kind != "sparse" and claimed > 64 * max(unpacked, 1):
            raise ValueError(f"{name!r} claims shape {shape}, more than the file holds")
    content = loadmat(str(path), appendmat=False, variable_names=wanted, simplify_cells=True)
    found: dict[str, np.ndarray] = {}
    for name in wanted:
        if name in content:
            _collect(name, content[name], found)
    return found


def _collect(name: str, value: Any, found: dict[str, np.ndarray]) -> None:
    if isinstance(value, dict):
        for field, inner in value.items():
            _collect(f"{name}.{field}", inner, found)
        return
    if hasattr(value, "toarray"):
        check_fits(8 * float(np.prod(value.shape)), f"{name!r}, {value.shape} with its zeros,", SMALLER)
        _check_sparse(value, name)
        value = value.toarray()
    if isinstance(value, np.ndarray | float | int) and np.asarray(value).dtype.kind in "biuf":
        array = np.asarray(value)
        found[name] = array.reshape(-1, 1) if array.ndim < 2 else array


def _check_sparse(value: Any, name: str) -> None:
    """Places outside of the table would be written outside of memory."""
    compressed = value.tocsc(copy=False)
    ends, places = np.asarray(compressed.indptr), np.asarray(compressed.indices)
    whole = len(ends) == value.shape[1] + 1 and ends[0] == 0 and (np.diff(ends) >= 0).all() and ends[-1] <= len(places)
    if not whole or (len(places) and (places.min() < 0 or places.max() >= value.shape[0])):
        raise ValueError(f"the sparse array {name!r} has entries outside of its shape {value.shape}")


def _unpacked_bytes(path: Path) -> int:
    """How much the variables of a file take unpacked; counted by unpacking them piece by piece."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(HEADER)
        order = {b"IM": "<", b"MI": ">"}.get(head[126:128])
        if order is None:  # version 4, which packs nothing
            return size
        total = size
        while len(tag := file.read(8)) == 8:
            kind, length = struct.unpack(f"{order}II", tag)
            if kind != COMPRESSED:
                file.seek(length, 1)
                continue
            unpack, left = zlib.decompressobj(), length
            while left > 0 and (piece := file.read(min(BLOCK // 64, left))):
                left -= len(piece)
                while piece and not unpack.eof:
                    total += len(unpack.decompress(piece, BLOCK))
                    piece = unpack.unconsumed_tail
            file.seek(max(0, left), 1)
        return total


def _of_hdf5(path: Path) -> dict[str, np.ndarray]:
    """Arrays of numbers, their axes in the order of Matlab; fields of structs are groups, sparse ones three arrays."""
    import h5py

    found: dict[str, np.ndarray] = {}
    places: list[str] = []
    with h5py.File(path, "r") as file:
        file.visititems(lambda name, item: places.append(name) if not name.startswith("#") else None)
        check_fits(4 * sum(_claimed(file, place) for place in places), "its content", SMALLER)
        for place in places:
            item = inner_item(file, place)
            name = place.replace("/", ".")
            if isinstance(item, h5py.Group) and "MATLAB_sparse" in item.attrs:
                found[name] = _sparse(file, place, int(item.attrs["MATLAB_sparse"]))
            elif isinstance(item, h5py.Dataset) and item.dtype.kind in "biuf" and not item.attrs.get("MATLAB_empty", 0):
                inside = "MATLAB_sparse" in item.parent.attrs
                if item.shape is not None and item.ndim >= 2 and not inside and _is_number(item):
                    found[name] = numbers(file, place).T
    return found


def _is_number(item: Any) -> bool:
    kind = item.attrs.get("MATLAB_class", b"double")
    return (kind.decode() if isinstance(kind, bytes) else str(kind)) in NUMBERS


def _claimed(file: Any, place: str) -> int:
    import h5py

    item = file.get(place)
    return item.nbytes if isinstance(item, h5py.Dataset) and item.shape is not None and item.dtype.kind in "biuf" else 0


def _sparse(file: Any, place: str, rows: int) -> np.ndarray:
    from partita.data._sparse import SparseTable

    ends = numbers(file, f"{place}/jc")
    parts = [numbers(file, f"{place}/{name}") if f"{place}/{name}" in file else np.zeros(0) for name in ("data", "ir")]
    values, at = parts[0], parts[1].astype(np.int64)
    table = SparseTable(lambda: (values, at), ends, (rows, len(ends) - 1), by_rows=False)
    check_fits(8 * float(rows) * len(ends), f"{place!r} with its zeros", SMALLER)
    return table.in_memory.whole_rows(np.arange(rows))
